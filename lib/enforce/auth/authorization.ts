// authorization: rules over who asks and what for. Denied is 403, with a challenge where another scope would help.

import { findRuleViolation } from '../../expressions/rules.ts'
import type { AuthorizationRule, RuleViolation } from '../../expressions/rules.ts'
import { ExpressionView } from '../../expressions/exchange-view.ts'
import type { AuthorizationConfig, McpAuthenticationConfig } from '../../config/policy-types.ts'
import type { Log } from '../../core/log.ts'
import { buildTextReply } from '../../core/replies.ts'
import type { Policy } from '../../core/types.ts'
import { formatScopeChallenge } from '../oauth/mcp-authentication.ts'

/** `mcp` is the authentication in front of it, whose clients can ask for more scopes. */
export function createAuthorizationPolicy(
  { rules }: AuthorizationConfig,
  mcp: McpAuthenticationConfig | null,
  log: Log,
): Policy {
  // By its number, as in the line of the request: a rule may compare with a credential.
  const tell = (rule: AuthorizationRule, code: string): void => {
    const fields = ['rule', rules.indexOf(rule), 'mode', rule.mode, 'code', code]
    log.write('debug', 'auth', 'rule without a value', fields)
  }
  return {
    kind: 'authorization',
    request(exchange) {
      const view = new ExpressionView(exchange, exchange.facts ?? undefined)
      const objection = findRuleViolation(rules, view, tell)
      exchange.trace?.recordRules(rules, view, objection === null ? 'allow' : 'deny')
      if (objection === null) return undefined
      exchange.enforcement.refusalReason = 'authorization_denied'
      exchange.enforcement.refusingRule =
        objection === 'none allows' ? -1 : rules.indexOf(objection)
      const reply = buildTextReply(403, 'authorization failed')
      if (mcp !== null && isMissingScope(objection, rules))
        reply.head.add('www-authenticate', formatScopeChallenge(mcp))
      return reply
    },
  }
}

/** RFC 6750 3.1: worth a new login, unlike a role or a name. */
function isMissingScope(
  objection: NonNullable<RuleViolation>,
  rules: readonly AuthorizationRule[],
): boolean {
  const asked =
    objection === 'none allows' ? rules.filter(({ mode }) => mode === 'allow') : [objection]
  return asked.some(
    ({ mode, expression }) => mode !== 'deny' && SCOPE_REFERENCE.test(expression.source),
  )
}

const SCOPE_REFERENCE = /\bjwt\s*(?:\.\s*|\[\s*["'])(?:scope|scp)\b/
