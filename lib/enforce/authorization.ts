// authorization: rules over who asks and what for. Denied is 403, with a challenge where another scope would help.

import { objectionOf } from '../base/cel/rules.ts'
import type { Objection } from '../base/cel/rules.ts'
import { View } from '../base/cel/view.ts'
import type { AuthorizationConfig, McpAuthenticationConfig } from '../base/config/auth-types.ts'
import type { Log } from '../base/log/log.ts'
import { textReply } from '../base/reply.ts'
import type { Policy } from '../base/types.ts'
import { scopeChallengeOf } from './oauth/challenge.ts'
import type { Rule } from '../base/cel/rules.ts'

/** `mcp` is the authentication in front of it, whose clients can ask for more scopes. */
export function authorization(
  { rules }: AuthorizationConfig,
  mcp: McpAuthenticationConfig | null,
  log: Log,
): Policy {
  // By its number, as in the line of the request: a rule may compare with a credential.
  const tell = (rule: Rule, code: string): void => {
    const fields = ['rule', rules.indexOf(rule), 'mode', rule.mode, 'code', code]
    log.line('debug', 'auth', 'rule without a value', fields)
  }
  return {
    kind: 'authorization',
    request(exchange) {
      const view = new View(exchange, exchange.facts ?? undefined)
      const objection = objectionOf(rules, view, tell)
      exchange.trace?.rules(rules, view, objection === null ? 'allow' : 'deny')
      if (objection === null) return undefined
      exchange.refusal = 'authorization_denied'
      exchange.refusedBy = objection === 'none allows' ? -1 : rules.indexOf(objection)
      const reply = textReply(403, 'authorization failed')
      if (mcp !== null && isAboutScope(objection, rules))
        reply.head.add('www-authenticate', scopeChallengeOf(mcp))
      return reply
    },
  }
}

/** RFC 6750 3.1: worth a new login, unlike a role or a name. */
function isAboutScope(objection: NonNullable<Objection>, rules: readonly Rule[]): boolean {
  const asked =
    objection === 'none allows' ? rules.filter(({ mode }) => mode === 'allow') : [objection]
  return asked.some(({ mode, expression }) => mode !== 'deny' && SCOPES.test(expression.source))
}

const SCOPES = /\bjwt\s*(?:\.\s*|\[\s*["'])(?:scope|scp)\b/
