// Metrics as the exporters read them: families of series with labels.

/** Counts per bucket; values above the last bound are counted in an extra bucket. */
export class Histogram {
  readonly bounds: readonly number[]
  /** Per bucket, not cumulative. */
  readonly counts: Float64Array
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  get isEmpty(): boolean {
    return this.counts.every((count) => count === 0)
  }

  /** Adds the counts of a histogram with the same bounds. */
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
  /** Without the prefix of all metrics. */
  readonly name: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** Created while it is read, where there may be many: a page is written over several turns of the event loop. */
  readonly series: Iterable<MetricSeries>
}

export type MetricSeries = readonly [labels: MetricLabels, value: number | Histogram]

/** The label for values beyond the bound of a label. */
export const OTHER_LABEL = 'other'

/** The label for a missing value. */
export const UNKNOWN_LABEL = 'unknown'
