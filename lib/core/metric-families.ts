// What is counted and measured, as whoever writes it out takes it: families of series, each with its labels.

/** Ends of buckets; what is above the last is in none of them, and counted all the same. */
export class Histogram {
  readonly bounds: readonly number[]
  /** Each for itself, and not those below it, too. */
  readonly counts: Float64Array
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  get isEmpty(): boolean {
    return this.counts.every((count) => count === 0)
  }

  /** What another one with the same bounds has. */
  addAll({ counts, sum }: Histogram): void {
    for (const [at, count] of counts.entries()) this.counts[at]! += count
    this.sum += sum
  }

  add(value: number): void {
    const { bounds } = this
    let at = 0
    while (at < bounds.length && value > bounds[at]!) at++
    this.counts[at]!++
    this.sum += value
  }
}

export type MetricLabels = Readonly<Record<string, string | number>>

export interface MetricFamily {
  /** Without the prefix that all of ours have. */
  readonly name: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** Made as they are read, where there may be many: a page of them is written over several turns. */
  readonly series: Iterable<MetricSeries>
}

export type MetricSeries = readonly [labels: MetricLabels, value: number | Histogram]

/** Instead of what there are too many of. */
export const OTHER_LABEL = 'other'

/** Instead of what is not there. */
export const UNKNOWN_LABEL = 'unknown'
