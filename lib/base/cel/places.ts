// Where in a configuration an expression can stand: which names it may read there, and what it must give.

import type { Name } from './fields.ts'
import { fieldsOf } from './fields.ts'

export type Place =
  'rule' | 'requestLimitKey' | 'tokenLimitKey' | 'transformation' | 'log' | 'trace'

/** `key`: something with one text, so no list, map or bytes. */
export type Wanted = 'bool' | 'key' | 'any'

interface PlaceRule {
  readonly names: readonly Name[]
  readonly wanted: Wanted
}

const REQUEST = ['request', 'source', 'jwt', 'apiKey', 'basicAuth', 'env'] as const
const EVERYTHING = [...REQUEST, 'mcp', 'llm', 'backend', 'response', 'proxy'] as const

export const PLACES: Readonly<Record<Place, PlaceRule>> = {
  rule: { names: [...REQUEST, 'mcp', 'llm', 'backend', 'proxy'], wanted: 'bool' },
  // §8: checked before an LLM body is read. A key may name `llm` all the same; it shares one bucket then.
  requestLimitKey: { names: [...REQUEST, 'llm', 'proxy'], wanted: 'key' },
  tokenLimitKey: { names: [...REQUEST, 'llm', 'backend', 'proxy'], wanted: 'key' },
  transformation: { names: EVERYTHING, wanted: 'any' },
  log: { names: EVERYTHING, wanted: 'any' },
  trace: { names: EVERYTHING, wanted: 'bool' },
}

const KEYS = new Set(['string', 'int', 'uint', 'double', 'bool', 'dyn'])

/** Whether a value of this CEL type can be what the place wants. */
export function fits(type: string, wanted: Wanted): boolean {
  // `request` as a whole has no text and no JSON; its fields have.
  if (wanted === 'any') return fieldsOf(type) === undefined
  if (wanted === 'bool') return type === 'bool' || type === 'dyn'
  return KEYS.has(type)
}
