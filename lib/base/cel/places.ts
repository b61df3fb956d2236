// Where in a configuration an expression can stand: which names it may read there, and what it must give.

import { MAX_WATCH_WORK, MAX_WORK } from './bounds.ts'
import type { Name } from './fields.ts'
import { fieldsOf } from './fields.ts'

export type Place =
  'rule' | 'requestLimitKey' | 'tokenLimitKey' | 'transformation' | 'log' | 'trace'

/** `key`: something with one text, so no list, map or bytes. */
export type Wanted = 'bool' | 'key' | 'any'

interface PlaceRule {
  readonly names: readonly Name[]
  readonly wanted: Wanted
  /** Units of work it may do. */
  readonly work: number
}

const REQUEST = ['request', 'source', 'jwt', 'apiKey', 'basicAuth', 'env'] as const
const EVERYTHING = [...REQUEST, 'mcp', 'llm', 'backend', 'response', 'proxy'] as const

export const PLACES: Readonly<Record<Place, PlaceRule>> = {
  rule: { names: [...REQUEST, 'mcp', 'llm', 'backend', 'proxy'], wanted: 'bool', work: MAX_WORK },
  // §8: checked before an LLM body is read. A key may name `llm` all the same; it shares one bucket then.
  requestLimitKey: { names: [...REQUEST, 'llm', 'proxy'], wanted: 'key', work: MAX_WORK },
  tokenLimitKey: { names: [...REQUEST, 'llm', 'backend', 'proxy'], wanted: 'key', work: MAX_WORK },
  transformation: { names: EVERYTHING, wanted: 'any', work: MAX_WORK },
  log: { names: EVERYTHING, wanted: 'any', work: MAX_WORK },
  trace: { names: EVERYTHING, wanted: 'bool', work: MAX_WATCH_WORK },
}

const KEYS = new Set(['string', 'int', 'uint', 'double', 'bool', 'dyn'])

/** Whether a value of this CEL type can be what the place wants. */
export function fits(type: string, wanted: Wanted): boolean {
  // `request` as a whole has no text and no JSON; its fields have.
  if (wanted === 'any') return fieldsOf(type) === undefined
  if (wanted === 'bool') return type === 'bool' || type === 'dyn'
  return KEYS.has(type)
}
