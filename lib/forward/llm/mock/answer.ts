// What the mock says: the user's own words, a few of them. The same request gets the same answer, to the byte.

import { createHash } from 'node:crypto'
import { guessOf } from '../watch/guess.ts'
import { tellsUsage } from './drills.ts'
import type { Answer, Asked, Json, Said } from './types.ts'

/** Of what the user said; code points. */
const MOST_ECHO = 200
const ID_LETTERS = 24

/** When every answer was made: there is no clock in it. */
export const CREATED = 1_700_000_000

export function answerTo(asked: Asked): Answer {
  const { model, texts, most, usageChunk } = asked
  const all = wordsOf(asked.said)
  const words = all.slice(0, most)
  const tokens = { input: inputTokens(texts), output: words.length }
  return {
    // Not of the bytes: how an answer is sent does not change what it is.
    id: idOf(model, ...texts),
    model,
    words,
    finish: words.length < all.length ? 'length' : 'stop',
    tokens: tellsUsage(model) ? tokens : null,
    usageChunk,
  }
}

/** An answer in one piece. */
export function wholeSaid(content: Json, model: string): Said {
  const parts = [JSON.stringify(content)]
  return { kind: 'said', form: 'whole', type: 'application/json', parts, model }
}

export function inputTokens(texts: readonly string[]): number {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  return Math.max(1, guessOf(bytes))
}

export function idOf(...texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${text}\0`)
  return hash.digest('hex').substring(0, ID_LETTERS)
}

/** Each with the space in front of it, as models write them. */
function wordsOf(said: string): string[] {
  const echo = cut(said).trim()
  const text = echo === '' ? 'You said nothing.' : `You said: ${echo}`
  return text.split(/\s+/).map((word, at) => (at === 0 ? word : ` ${word}`))
}

/** Never through the middle of a character. */
function cut(text: string): string {
  return Array.from(text.substring(0, 2 * MOST_ECHO))
    .slice(0, MOST_ECHO)
    .join('')
}
