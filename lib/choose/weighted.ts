// A random choice among entries, each as likely as its weight says.

export interface Weight<T> {
  readonly value: T
  /** A whole number; 0 is never chosen. */
  readonly weight: number
}

export class Weighted<T> {
  readonly #values: T[] = []
  /** The sum of the weights up to and with each entry. */
  readonly #sums: number[] = []
  readonly #random: () => number
  #total = 0

  constructor(entries: Iterable<Weight<T>>, random: () => number = Math.random) {
    this.#random = random
    for (const { value, weight } of entries) {
      if (weight === 0) continue
      this.#total += weight
      this.#values.push(value)
      this.#sums.push(this.#total)
    }
  }

  /** Undefined when no entry has any weight. */
  pick(): T | undefined {
    const values = this.#values
    if (values.length < 2) return values[0]
    const at = this.#random() * this.#total
    for (let i = 0; i < values.length; i++) if (at < this.#sums[i]!) return values[i]
    return values[values.length - 1]
  }
}
