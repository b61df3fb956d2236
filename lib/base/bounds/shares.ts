// How much each of many has of something of which nobody is to have all. Only those that have some are known here.

export class Shares {
  readonly #taken = new Map<string, number>()

  of(key: string): number {
    return this.#taken.get(key) ?? 0
  }

  take(key: string, amount = 1): void {
    this.#taken.set(key, this.of(key) + amount)
  }

  give(key: string, amount = 1): void {
    const left = this.of(key) - amount
    if (left > 0) this.#taken.set(key, left)
    else this.#taken.delete(key)
  }
}
