// The automaton of a regex: one state per character of its source, and how many ways lead from each to each
// without reading anything in between. Ways matter, states do not: a backtracking engine tries them all.

import type { Piece, Range } from './syntax.ts'
import { ANY, RegexRefusal } from './syntax.ts'

/** State → number of ways, up to MOST_WAYS. */
export type Ways = Map<number, number>

const MOST_WAYS = 1 << 20
const MAX_STATES = 512

/** Repeats up to this often are written out; longer ones are judged as if they had no end. */
const WRITTEN_OUT = 4

/** State 0 is the start; it loops over anything where the regex may begin anywhere in the text. */
export interface Automaton {
  /** The characters each state reads on the way into it, as a bit per class of characters. */
  readonly reads: readonly bigint[]
  readonly next: readonly Ways[]
  /** States in which the regex has matched, whatever follows. */
  readonly done: ReadonlySet<number>
}

interface Part {
  readonly first: Ways
  readonly last: Ways
  /** Ways to match nothing. */
  readonly empty: number
}

const NOTHING: Part = { first: new Map(), last: new Map(), empty: 1 }

export function automatonOf(tree: Piece): Automaton {
  const builder = new Builder()
  const { first, last, empty } = builder.build(tree)
  const isOpen = !canBeUndone(tree)
  const next = builder.next
  join(next[0]!, first, 1)
  if (!isAnchored(tree)) next[0]!.set(0, 1)
  return {
    reads: masksOf(builder.sets),
    next,
    done: isOpen ? new Set([...last.keys(), ...(empty > 0 ? [0] : [])]) : new Set(),
  }
}

class Builder {
  readonly sets: (readonly Range[])[] = [ANY]
  readonly next: Ways[] = [new Map()]

  build(piece: Piece): Part {
    switch (piece.kind) {
      case 'set':
        return this.#state(piece.ranges)
      case 'sequence':
        return piece.parts.reduce((before, part) => this.#follow(before, this.build(part)), NOTHING)
      case 'choice':
        return piece.parts.map((part) => this.build(part)).reduce(either)
      case 'repeat':
        return this.#repeat(piece.part, piece.min, piece.max)
      default:
        return NOTHING
    }
  }

  #state(ranges: readonly Range[]): Part {
    const state = this.sets.push(ranges) - 1
    if (state > MAX_STATES) throw new RegexRefusal('is too large to judge')
    this.next.push(new Map())
    return { first: new Map([[state, 1]]), last: new Map([[state, 1]]), empty: 0 }
  }

  #follow(a: Part, b: Part): Part {
    this.#link(a.last, b.first)
    const first = new Map(a.first)
    join(first, b.first, a.empty)
    const last = new Map(b.last)
    join(last, a.last, b.empty)
    return { first, last, empty: capped(a.empty * b.empty) }
  }

  #repeat(piece: Piece, min: number, max: number): Part {
    if (max === 0) return NOTHING
    if (max > WRITTEN_OUT) return this.#loop(piece, min)
    // a{1,3} as a(a(a)?)?
    let tail = NOTHING
    for (let count = max; count > min; count--)
      tail = { ...this.#follow(this.build(piece), tail), empty: 1 }
    for (let count = min; count > 0; count--) tail = this.#follow(this.build(piece), tail)
    return tail
  }

  #loop(piece: Piece, min: number): Part {
    const part = this.build(piece)
    // An engine skips empty rounds only where the round is optional.
    if (min > 1 && part.empty > 0) throw new RegexRefusal('repeats something that can be empty')
    this.#link(part.last, part.first)
    return { ...part, empty: min === 0 ? 1 : part.empty }
  }

  #link(from: Ways, to: Ways): void {
    for (const [state, ways] of from) join(this.next[state]!, to, ways)
  }
}

function either(a: Part, b: Part): Part {
  const first = new Map(a.first)
  join(first, b.first, 1)
  const last = new Map(a.last)
  join(last, b.last, 1)
  return { first, last, empty: capped(a.empty + b.empty) }
}

/** Adds `more`, each way `times` over. */
function join(ways: Ways, more: Ways, times: number): void {
  if (times === 0) return
  for (const [state, count] of more) ways.set(state, capped((ways.get(state) ?? 0) + count * times))
}

function capped(ways: number): number {
  return Math.min(ways, MOST_WAYS)
}

/** Cuts all characters into classes none of the sets tells apart, and gives each set its classes. */
function masksOf(sets: readonly (readonly Range[])[]): bigint[] {
  const cuts = new Set<number>()
  for (const [from, to] of sets.flat()) cuts.add(from).add(to + 1)
  const starts = [...cuts].sort((a, b) => a - b)
  return sets.map((ranges) => {
    let mask = 0n
    starts.forEach((start, index) => {
      if (ranges.some(([from, to]) => from <= start && start <= to)) mask |= 1n << BigInt(index)
    })
    return mask
  })
}

/** Whether every way to match begins at the start of the text. */
function isAnchored(piece: Piece): boolean {
  if (piece.kind === 'start') return true
  if (piece.kind === 'choice') return piece.parts.every(isAnchored)
  return piece.kind === 'sequence' && piece.parts.length > 0 && isAnchored(piece.parts[0]!)
}

/**
 * A leading `^` holds or not before anything is read; any other condition can undo a match, and a loop that
 * stands for a long count has not matched when its first round has.
 */
function canBeUndone(piece: Piece, isFirst = true): boolean {
  switch (piece.kind) {
    case 'set':
      return false
    case 'start':
      return !isFirst
    case 'assertion':
      return true
    case 'repeat':
      return (piece.min > 1 && piece.max > WRITTEN_OUT) || canBeUndone(piece.part, false)
    case 'choice':
      return piece.parts.some((part) => canBeUndone(part, isFirst))
    case 'sequence':
      return piece.parts.some((part, index) => canBeUndone(part, isFirst && index === 0))
  }
}
