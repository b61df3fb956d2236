// A credential of the playground: in memory only, and never shown whole.

import { clockText } from '../parts/words.ts'

export interface Token {
  readonly text: string
  /** Null when nobody said. */
  readonly until: number | null
}

export const NO_TOKEN: Token = { text: '', until: null }

const SHOWN = 4
/** Of a shorter one the end would say too much. */
const MIN_LENGTH = 16

/** Not more of it than tells one from another. */
export function endOf({ text, until }: Token): string {
  const end = text.length < MIN_LENGTH ? 'given' : `…${text.slice(-SHOWN)}`
  return until === null ? end : `${end}, until ${clockText(until)}`
}
