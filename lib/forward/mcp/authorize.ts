// mcpAuthorization: what of the targets' offers a client may see and use.

import { objectionOf } from '../../base/cel/rules.ts'
import { View } from '../../base/cel/view.ts'
import type { Call } from './session/call.ts'
import type { ItemKind, Owned } from './several/names.ts'

/** An item as rules see it; `arguments` are a called tool's. */
export interface Item extends Owned {
  readonly kind: ItemKind
  readonly arguments?: unknown
}

/** `about`: a list is filtered item by item, which a trace does not tell one by one. */
export function isPermitted(call: Call, { kind, ...item }: Item, about: 'use' | 'list'): boolean {
  const { visit, message } = call
  const { rules, exchange } = visit
  if (rules.length === 0) return true
  const { facts } = exchange
  // Of this message alone: another one of the same batch must not lend it anything.
  const mcp = { sessionId: facts?.mcp?.sessionId, methodName: message.method, [kind]: item }
  const view = new View(exchange, { ...facts, mcp })
  const isAllowed = objectionOf(rules, view) === null
  if (about === 'use') exchange.trace?.rules(rules, view, isAllowed ? 'allow' : 'deny')
  return isAllowed
}
