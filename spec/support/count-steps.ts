// A backtracking matcher that counts its steps: what a regex costs, without a clock.

import type { Piece } from '../../lib/base/regex/syntax.ts'
import { parseRegex } from '../../lib/base/regex/syntax.ts'

export interface Run {
  readonly matched: boolean
  /** At most `limit`, where it gives up. */
  readonly steps: number
}

class GaveUp extends Error {}

/** Searches as `RegExp.test` does; of assertions it knows `^` and `$` only. */
export function countSteps(source: string, text: string, limit: number): Run {
  const tree = parseRegex(source)
  const counter = new Counter(text, limit)
  try {
    for (let at = 0; at <= text.length; at++)
      if (counter.match(tree, at, () => true)) return { matched: true, steps: counter.steps }
    return { matched: false, steps: counter.steps }
  } catch (error) {
    if (error instanceof GaveUp) return { matched: false, steps: limit }
    throw error
  }
}

class Counter {
  steps = 0
  readonly #text: string
  readonly #limit: number

  constructor(text: string, limit: number) {
    this.#text = text
    this.#limit = limit
  }

  match(piece: Piece, at: number, rest: (at: number) => boolean): boolean {
    if (++this.steps >= this.#limit) throw new GaveUp()
    switch (piece.kind) {
      case 'set': {
        const code = this.#text.codePointAt(at)
        if (code === undefined) return false
        return piece.ranges.some(([from, to]) => from <= code && code <= to) && rest(at + 1)
      }
      case 'start':
        return at === 0 && rest(at)
      case 'assertion':
        return at === this.#text.length && rest(at)
      case 'choice':
        return piece.parts.some((part) => this.match(part, at, rest))
      case 'sequence':
        return this.#sequence(piece.parts, 0, at, rest)
      case 'repeat':
        return this.#repeat(piece.part, piece.min, piece.max, at, rest)
    }
  }

  #sequence(
    parts: readonly Piece[],
    index: number,
    at: number,
    rest: (at: number) => boolean,
  ): boolean {
    if (index === parts.length) return rest(at)
    return this.match(parts[index]!, at, (next) => this.#sequence(parts, index + 1, next, rest))
  }

  #repeat(
    part: Piece,
    min: number,
    max: number,
    at: number,
    rest: (at: number) => boolean,
  ): boolean {
    const again = (next: number): boolean =>
      // A round beyond the least number that reads nothing is none.
      !(min === 0 && next === at) && this.#repeat(part, Math.max(0, min - 1), max - 1, next, rest)
    if (max > 0 && this.match(part, at, again)) return true
    return min === 0 && rest(at)
  }
}
