// Judges whether a backtracking engine can be made to run for ever by the text it is given. It counts ways:
// two ways round one loop over the same text double with every round; two loops that can share a text
// multiply with its length. What is left takes at most the square of a text that is bounded as well.

import type { Automaton } from './automaton.ts'
import { automatonOf } from './automaton.ts'
import { parseRegex, RegexRefusal } from './syntax.ts'

/** Whoever runs an accepted regex gives it no longer text than this. */
export const MAX_REGEX_SUBJECT = 4096

/** Steps of the judge itself. */
const MAX_WORK = 1_000_000

/** As a power of two: ways that choices outside loops may multiply to. */
const MAX_CHOICES = 10

/** Why a regex (flag u) must not see foreign text, or null when it may. */
export function unsafeReason(source: string): string | null {
  try {
    RegExp(source, 'u')
  } catch {
    return 'is not a valid regular expression'
  }
  try {
    return new Judge(automatonOf(parseRegex(source))).reason()
  } catch (error) {
    if (error instanceof RegexRefusal) return error.message
    if (error instanceof RangeError) return 'nests too deeply'
    throw error
  }
}

/** States by the loop they are in; states in no loop stand alone. Loops are numbered backwards. */
interface Loops {
  readonly of: readonly number[]
  readonly states: readonly (readonly number[])[]
  readonly isLoop: readonly boolean[]
}

class Judge {
  readonly #reads: readonly bigint[]
  readonly #next: readonly (readonly number[])[]
  readonly #automaton: Automaton
  readonly #loops: Loops
  #work = 0

  constructor(automaton: Automaton) {
    this.#automaton = automaton
    this.#reads = automaton.reads
    // Whoever comes by a state where the regex has matched will not fail: no way counts beyond it.
    this.#next = automaton.next.map((ways, state) =>
      automaton.done.has(state) ? [] : [...ways.keys()].filter((to) => !automaton.done.has(to)),
    )
    this.#loops = loopsOf(this.#next)
  }

  reason(): string | null {
    const { states, isLoop } = this.#loops
    for (const [index, members] of states.entries())
      if (isLoop[index] && this.#isAmbiguous(index, members))
        return 'repeats something that can match the same text in several ways'
    if (this.#degree() > 1)
      return 'has several open repeats that can share a text; anchor it with ^'
    return this.#choices() > MAX_CHOICES
      ? 'has too many choices that can match the same text'
      : null
  }

  /** Whether some text leads round the loop in two ways: a pair of states that parts and meets again. */
  #isAmbiguous(loop: number, members: readonly number[]): boolean {
    const { of } = this.#loops
    for (const state of members)
      for (const [to, ways] of this.#automaton.next[state]!)
        if (ways > 1 && of[to] === loop && !this.#automaton.done.has(to)) return true
    const size = this.#next.length
    const came = new Map<number, number[]>()
    const open = members.map((state) => state * size + state)
    const seen = new Set(open)
    for (let pair = open.pop(); pair !== undefined; pair = open.pop())
      for (const a of this.#next[Math.floor(pair / size)]!)
        for (const b of this.#next[pair % size]!) {
          this.#step()
          if (of[a] !== loop || of[b] !== loop || (this.#reads[a]! & this.#reads[b]!) === 0n)
            continue
          const to = a * size + b
          const ways = came.get(to)
          if (ways === undefined) came.set(to, [pair])
          else ways.push(pair)
          if (seen.has(to)) continue
          seen.add(to)
          open.push(to)
        }
    return partsAndMeets(came, members, size)
  }

  /** How many times the length of the text multiplies the ways: loops in a row that can share a text. */
  #degree(): number {
    const { states, isLoop } = this.#loops
    const best: number[] = []
    // Loops are numbered backwards: whatever a loop leads to is done before it.
    for (let from = 0; from < states.length; from++) {
      let most = 0
      for (let to = 0; to < from; to++) {
        if (!this.#reaches(from, to)) continue
        const isPair = isLoop[from] && isLoop[to] && this.#share(from, to)
        most = Math.max(most, best[to]! + (isPair ? 1 : 0))
        if (most > 1) return most
      }
      best.push(most)
    }
    return Math.max(0, ...best)
  }

  #reaches(from: number, to: number): boolean {
    const { of, states } = this.#loops
    const open = [...states[from]!]
    const seen = new Set(open)
    for (let state = open.pop(); state !== undefined; state = open.pop())
      for (const next of this.#next[state]!) {
        this.#step()
        if (of[next] === to) return true
        if (seen.has(next)) continue
        seen.add(next)
        open.push(next)
      }
    return false
  }

  /** Whether one text leads round the first loop, round the second, and from the first to the second. */
  #share(from: number, to: number): boolean {
    const { states } = this.#loops
    return states[from]!.some((p) => states[to]!.some((q) => this.#shareAt(p, q)))
  }

  #shareAt(p: number, q: number): boolean {
    const { of } = this.#loops
    const size = this.#next.length
    const goal = (p * size + q) * size + q
    const open: [number, number, number][] = [[p, p, q]]
    const seen = new Set<number>()
    for (let triple = open.pop(); triple !== undefined; triple = open.pop())
      for (const a of this.#next[triple[0]]!) {
        if (of[a] !== of[p]) continue
        for (const b of this.#next[triple[1]]!) {
          const both = this.#reads[a]! & this.#reads[b]!
          this.#step()
          if (both === 0n) continue
          for (const c of this.#next[triple[2]]!) {
            this.#step()
            if (of[c] !== of[q] || (both & this.#reads[c]!) === 0n) continue
            const key = (a * size + b) * size + c
            if (key === goal) return true
            if (seen.has(key)) continue
            seen.add(key)
            open.push([a, b, c])
          }
        }
      }
    return false
  }

  /** Logarithm of the ways that choices make along the worst path, each state counted once. */
  #choices(): number {
    const { of, states } = this.#loops
    const best: number[] = []
    for (const [index, members] of states.entries()) {
      let most = 0
      let inside = 0
      let outside = 0
      for (const state of members) {
        const next = this.#next[state]!
        const within = Math.log2(
          this.#choicesAt(
            state,
            next.filter((to) => of[to] === index),
          ),
        )
        inside += within
        outside += Math.log2(this.#choicesAt(state, next)) - within
        for (const to of next) if (of[to] !== index) most = Math.max(most, best[of[to]!]!)
      }
      // One way leads round an unambiguous loop to each of its states: there are no more than those.
      best.push(Math.min(inside, Math.log2(members.length)) + outside + most)
    }
    return Math.max(...best)
  }

  /** The most ways to these states that one character leaves open. */
  #choicesAt(state: number, next: readonly number[]): number {
    const ways = this.#automaton.next[state]!
    let most = 1
    for (const to of next) {
      let sum = 0
      for (const other of next) {
        this.#step()
        const isSearch = state === 0 && other === 0
        if (!isSearch && (this.#reads[to]! & this.#reads[other]!) !== 0n) sum += ways.get(other)!
      }
      most = Math.max(most, sum)
    }
    return most
  }

  #step(): void {
    if (++this.#work > MAX_WORK) throw new RegexRefusal('is too large to judge')
  }
}

/** Whether a pair of two different states leads back to a pair of one. */
function partsAndMeets(
  came: ReadonlyMap<number, readonly number[]>,
  members: readonly number[],
  size: number,
): boolean {
  const open = members.map((state) => state * size + state)
  const seen = new Set(open)
  for (let pair = open.pop(); pair !== undefined; pair = open.pop())
    for (const before of came.get(pair) ?? []) {
      if (Math.floor(before / size) !== before % size) return true
      if (seen.has(before)) continue
      seen.add(before)
      open.push(before)
    }
  return false
}

/** Strongly connected states (Tarjan), the last ones first. */
function loopsOf(next: readonly (readonly number[])[]): Loops {
  const of: number[] = []
  const states: number[][] = []
  const index: number[] = []
  const low: number[] = []
  const stack: number[] = []
  let count = 0
  const visit = (state: number): void => {
    index[state] = low[state] = count++
    stack.push(state)
    for (const to of next[state]!) {
      if (index[to] === undefined) visit(to)
      if (of[to] === undefined) low[state] = Math.min(low[state]!, low[to]!)
    }
    if (low[state] !== index[state]) return
    const members = stack.splice(stack.indexOf(state))
    for (const member of members) of[member] = states.length
    states.push(members)
  }
  next.forEach((_, state) => {
    if (index[state] === undefined) visit(state)
  })
  const isLoop = states.map(
    (members) => members.length > 1 || next[members[0]!]!.includes(members[0]!),
  )
  return { of, states, isLoop }
}
