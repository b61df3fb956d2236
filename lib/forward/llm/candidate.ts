// A provider that may answer a request, and what a request to it must look like.

import { MAX_TURNS } from '../../base/bounds/limits.ts'
import type { AiEntry } from '../../base/config/llm-types.ts'
import type { Backend } from '../../base/types.ts'
import type { Health } from './health.ts'
import type { Refusals } from './refusals.ts'

export interface Candidate {
  readonly entry: AiEntry
  /** The way there; its own policies included. */
  readonly backend: Backend
  /** Members of the body, as JSON text: to be set always, and where they are missing. */
  readonly overrides: ReadonlyMap<string, string>
  readonly defaults: ReadonlyMap<string, string>
  readonly health: Health
  /** Models that are not asked to count. */
  readonly refusals: Refusals
}

/** One level of preference; within it the weights decide. */
export type Level = readonly { readonly candidate: Candidate; readonly weight: number }[]

/**
 * Whom to ask, in turn: the levels in their order, in each a random order by weight; those that rest come last, the one
 * that rests shortest first, for nobody else may be left.
 */
export function inOrder(levels: readonly Level[], random: () => number = Math.random): Candidate[] {
  // Most have one provider.
  if (levels.length === 1 && levels[0]!.length === 1) return [levels[0]![0]!.candidate]
  const shuffled = levels.flatMap((level) =>
    level.length === 1 ? [level[0]!.candidate] : shuffle(level, random),
  )
  if (shuffled.length < 2) return shuffled
  const ready = shuffled.filter(({ health }) => health.restsFor === 0)
  const resting = shuffled
    .filter((candidate) => !ready.includes(candidate))
    .toSorted((a, b) => a.health.restsFor - b.health.restsFor)
  return [...ready, ...resting].slice(0, MAX_TURNS)
}

/** Without weight it is never asked. */
function shuffle(level: Level, random: () => number): Candidate[] {
  const left = level.filter(({ weight }) => weight > 0)
  const order: Candidate[] = []
  while (left.length > 0) {
    let at = random() * left.reduce((sum, { weight }) => sum + weight, 0)
    const found = left.findIndex(({ weight }) => (at -= weight) < 0)
    order.push(left.splice(Math.max(0, found), 1)[0]!.candidate)
  }
  return order
}
