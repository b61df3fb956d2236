// The mcpAuthorization policy: which tools, prompts and resources of the targets a client may see and use.

import { findRuleViolation } from '../../expressions/rules.ts'
import { ExpressionView } from '../../expressions/exchange-view.ts'
import type { ClientCall } from './session/client-call.ts'
import type { ItemKind, OwnedName } from './several/item-names.ts'

/** An item as the rules see it; `arguments` are those of a tool call. */
export interface AuthorizedItem extends OwnedName {
  readonly kind: ItemKind
  readonly arguments?: unknown
}

/** Only a `use` is traced: a list is filtered item by item, which would flood the trace. */
export function isItemPermitted(
  call: ClientCall,
  { kind, ...item }: AuthorizedItem,
  access: 'use' | 'list',
): boolean {
  const { httpRequest, message } = call
  const { ruleSets, exchange } = httpRequest
  if (ruleSets.length === 0) return true
  const { facts } = exchange
  // Facts of this message only: another message of the same batch must not affect it.
  const mcp = { sessionId: facts?.mcp?.sessionId, methodName: message.method, [kind]: item }
  const view = new ExpressionView(exchange, { ...facts, mcp })
  const isAllowed = ruleSets.every((rules) => findRuleViolation(rules, view) === null)
  if (access === 'use')
    exchange.trace?.recordRules(ruleSets.flat(), view, isAllowed ? 'allow' : 'deny')
  return isAllowed
}
