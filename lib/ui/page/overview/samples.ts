// Traffic of the last minutes, sample by sample: what the charts of the overview are made of. Nothing here draws.

import type { Sample } from '../../../admin/page-api/page-api-types.ts'
import type { Point } from '../parts/scale.ts'

/** How much is shown. */
export const WINDOW_MS = 300_000
/** A little more than one a second, for clocks that are not exact. */
const MOST_SAMPLES = 330
/** What counts as now. */
const LATELY_MS = 10_000
/** Between one sample and where the next begins; where more passed the line is broken. */
const LONGEST_GAP_MS = 2_500

/** The oldest first, each once, none older than the window. */
export function joined(samples: readonly Sample[], more: readonly Sample[]): readonly Sample[] {
  const last = samples.at(-1)?.at ?? 0
  const all = [...samples, ...more.filter(({ at }) => at > last)]
  const from = (all.at(-1)?.at ?? 0) - WINDOW_MS
  return all.filter(({ at }) => at > from).slice(-MOST_SAMPLES)
}

/** With a gap wherever nothing was heard for a while. */
export function pointsOf(
  samples: readonly Sample[],
  value: (sample: Sample) => number | null,
): readonly Point[] {
  const points: Point[] = []
  let before = samples[0]?.at ?? 0
  for (const sample of samples) {
    if (sample.at - sample.span - before > LONGEST_GAP_MS) points.push([before + 1, null])
    points.push([sample.at, value(sample)])
    before = sample.at
  }
  return points
}

/** A count, as so many a second. */
export function perSecond({ span }: Sample, count: number): number {
  return span > 0 ? (count * 1_000) / span : 0
}

export function lately(samples: readonly Sample[]): readonly Sample[] {
  const from = (samples.at(-1)?.at ?? 0) - LATELY_MS
  return samples.filter(({ at }) => at > from)
}

/** Mean over the time of all samples. */
export function rateOf(samples: readonly Sample[], count: (sample: Sample) => number): number {
  const span = samples.reduce((sum, sample) => sum + sample.span, 0)
  return span > 0 ? (sumOf(samples, count) * 1_000) / span : 0
}

export function sumOf(samples: readonly Sample[], count: (sample: Sample) => number): number {
  return samples.reduce((sum, sample) => sum + count(sample), 0)
}

/** The latest that there is; most seconds have no LLM request to time. */
export function latestOf(
  samples: readonly Sample[],
  value: (sample: Sample) => number | null,
): number | null {
  const found = samples.findLast((sample) => value(sample) !== null)
  return found === undefined ? null : value(found)
}
