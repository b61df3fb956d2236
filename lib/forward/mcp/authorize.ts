// mcpAuthorization: what of the targets' offers a client may see and use.

import { objectionOf } from '../../base/cel/rules.ts'
import { View } from '../../base/cel/view.ts'
import type { Visit } from './session/call.ts'
import type { ItemKind, Owned } from './several/names.ts'

/** An item as rules see it; `arguments` are a called tool's. */
export interface Item extends Owned {
  readonly kind: ItemKind
  readonly arguments?: unknown
}

export function isPermitted({ rules, exchange }: Visit, { kind, ...item }: Item): boolean {
  if (rules.length === 0) return true
  const { facts } = exchange
  const mcp = {
    ...facts?.mcp,
    tool: undefined,
    prompt: undefined,
    resource: undefined,
    [kind]: item,
  }
  return objectionOf(rules, new View(exchange, { ...facts, mcp })) === null
}
