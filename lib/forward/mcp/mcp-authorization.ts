// mcpAuthorization: what of the targets' offers a client may see and use.

import { findRuleViolation } from '../../expressions/rules.ts'
import { ExpressionView } from '../../expressions/exchange-view.ts'
import type { ClientCall } from './session/client-call.ts'
import type { ItemKind, OwnedName } from './several/item-names.ts'

/** An item as rules see it; `arguments` are a called tool's. */
export interface AuthorizedItem extends OwnedName {
  readonly kind: ItemKind
  readonly arguments?: unknown
}

/** `about`: a list is filtered item by item, which a trace does not tell one by one. */
export function isItemPermitted(
  call: ClientCall,
  { kind, ...item }: AuthorizedItem,
  about: 'use' | 'list',
): boolean {
  const { httpRequest, message } = call
  const { rules, exchange } = httpRequest
  if (rules.length === 0) return true
  const { facts } = exchange
  // Of this message alone: another one of the same batch must not lend it anything.
  const mcp = { sessionId: facts?.mcp?.sessionId, methodName: message.method, [kind]: item }
  const view = new ExpressionView(exchange, { ...facts, mcp })
  const isAllowed = findRuleViolation(rules, view) === null
  if (about === 'use') exchange.trace?.recordRules(rules, view, isAllowed ? 'allow' : 'deny')
  return isAllowed
}
