// The authorization policy: rules over the caller's identity and the request. A denied request gets 403, with a
// `www-authenticate` challenge when another scope would help.

import { findRuleViolation } from '../../expressions/rules.ts'
import type { AuthorizationRule, RuleViolation } from '../../expressions/rules.ts'
import { ExpressionView } from '../../expressions/exchange-view.ts'
import type { AuthorizationConfig, McpAuthenticationConfig } from '../../config/policy-types.ts'
import type { Log } from '../../core/log.ts'
import { buildTextReply } from '../../core/replies.ts'
import type { Policy } from '../../core/types.ts'
import { formatScopeChallenge } from '../oauth/mcp-authentication.ts'

/** `mcp` is the MCP authentication that runs before it, whose clients can request more scopes. */
export function createAuthorizationPolicy(
  { rules }: AuthorizationConfig,
  mcp: McpAuthenticationConfig | null,
  log: Log,
): Policy {
  // The rule is named by its index, as in the access log: its text may contain a credential.
  const logFault = (rule: AuthorizationRule, code: string): void => {
    const fields = ['rule', rules.indexOf(rule), 'mode', rule.mode, 'code', code]
    log.write('debug', 'auth', 'rule evaluation failed', fields)
  }
  return {
    kind: 'authorization',
    request(exchange) {
      const view = new ExpressionView(exchange, exchange.facts ?? undefined)
      const violation = findRuleViolation(rules, view, logFault)
      exchange.trace?.recordRules(rules, view, violation === null ? 'allow' : 'deny')
      if (violation === null) return undefined
      exchange.enforcement.refusalReason = 'authorization_denied'
      exchange.enforcement.refusingRule =
        violation === 'none allows' ? -1 : rules.indexOf(violation)
      const reply = buildTextReply(403, 'authorization failed')
      if (mcp !== null && isMissingScope(violation, rules))
        reply.head.add('www-authenticate', formatScopeChallenge(mcp))
      return reply
    },
  }
}

/** RFC 6750 3.1: a new login can add a missing scope, but not a missing role or another name. */
function isMissingScope(
  violation: NonNullable<RuleViolation>,
  rules: readonly AuthorizationRule[],
): boolean {
  const unmetRules =
    violation === 'none allows' ? rules.filter(({ mode }) => mode === 'allow') : [violation]
  return unmetRules.some(
    ({ mode, expression }) => mode !== 'deny' && SCOPE_REFERENCE.test(expression.source),
  )
}

const SCOPE_REFERENCE = /\bjwt\s*(?:\.\s*|\[\s*["'])(?:scope|scp)\b/
