// A value that outlives the page that shows it: whoever comes back finds it as it was, as long as the tab lives.

export class Held<T> {
  readonly #told = new Set<() => void>()
  #value: T

  constructor(value: T) {
    this.#value = value
  }

  get value(): T {
    return this.#value
  }

  set(value: T): void {
    if (value === this.#value) return
    this.#value = value
    for (const tell of this.#told) tell()
  }

  change(by: (was: T) => T): void {
    this.set(by(this.#value))
  }

  /** Until what it returns is called. */
  listen(tell: () => void): () => void {
    this.#told.add(tell)
    return () => this.#told.delete(tell)
  }
}
