// The arithmetic of the benchmarks: medians over rounds, percentiles over latencies.

/** One round of one measure against one peer: figure name → value. */
export type Sample = Readonly<Record<string, number>>

/** The middle value; of an even count, the mean of the two in the middle. NaN when empty. */
export function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort()
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  if (sorted.length % 2 === 1) return upper
  return ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** The nearest-rank percentile of values already in ascending order. NaN when empty. */
export function percentile(sorted: Float64Array, share: number): number {
  const rank = Math.max(1, Math.ceil(sorted.length * share))
  return sorted[rank - 1] ?? Number.NaN
}

/** Each figure's median over the rounds that have it. */
export function medians(rounds: readonly Sample[]): Sample {
  const names = new Set(rounds.flatMap((round) => Object.keys(round)))
  const merged: Record<string, number> = {}
  for (const name of names) {
    merged[name] = median(rounds.flatMap((round) => round[name] ?? []))
  }
  return merged
}

/** How far the rounds differ: (max - min) / median, so 0.1 means ten percent. */
export function spread(values: readonly number[]): number {
  if (values.length < 2) return 0
  return (Math.max(...values) - Math.min(...values)) / median(values)
}

/** Collects latencies into one growing typed array, so that sampling makes no garbage. */
export class Latencies {
  #values = new Float64Array(1 << 16)
  #count = 0

  get count(): number {
    return this.#count
  }

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const grown = new Float64Array(this.#count * 2)
      grown.set(this.#values)
      this.#values = grown
    }
    this.#values[this.#count++] = value
  }

  sorted(): Float64Array {
    return this.#values.slice(0, this.#count).sort()
  }
}
