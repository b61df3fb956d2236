// The targets of the gateway, judged on the medians of one run.
import type { MeasureName } from './options.ts'
import type { PeerName } from './peers.ts'
import type { Sample } from './stats.ts'
import { TARGETS, type Figure, type Target } from './target-list.ts'

/** Medians per measure and peer. */
export type Results = ReadonlyMap<MeasureName, ReadonlyMap<PeerName, Sample>>

/** `bound` undefined: only reported. `aim`: a better value to aim for. */
export type Verdict = {
  name: string
  value: number
  bound: number | undefined
  aim: number | undefined
  state: 'met' | 'aim met' | 'missed' | 'reported' | 'not measured'
}

export function verdicts(results: Results): (Verdict & Pick<Target, 'sense'>)[] {
  const figure: Figure = (measure, peer, key) =>
    results.get(measure)?.get(peer)?.[key] ?? Number.NaN
  return TARGETS.map((target) => {
    const { name, sense, bound, aim } = target
    const value = target.value(figure)
    return { name, sense, bound, aim, value, state: stateOf(value, target) }
  })
}

function stateOf(value: number, { sense, bound, aim }: Target): Verdict['state'] {
  if (Number.isNaN(value)) return 'not measured'
  const holds = (least: number): boolean => (sense === 'at least' ? value >= least : value <= least)
  if (aim !== undefined && holds(aim)) return 'aim met'
  if (bound === undefined) return 'reported'
  return holds(bound) ? 'met' : 'missed'
}
