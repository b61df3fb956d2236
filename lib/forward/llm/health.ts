// Whether a provider is worth asking: one that failed is left alone for a while.

/** After one failure; doubled with every further one. */
const FIRST_REST_MS = 1_000
/** The longest, whatever `retry-after` says. */
const LONGEST_REST_MS = 60_000

/** Milliseconds on any clock that does not go back. */
type Now = () => number

export class Health {
  readonly #now: Now
  #failures = 0
  #restsUntil = 0

  constructor(now: Now = () => performance.now()) {
    this.#now = now
  }

  /** When it may be asked again; 0 for now. */
  get restsFor(): number {
    return this.#failures === 0 ? 0 : Math.max(0, this.#restsUntil - this.#now())
  }

  succeeded(): void {
    this.#failures = 0
  }

  /** `retryAfter` is the provider's own word, in milliseconds, or 0. */
  failed(retryAfter: number): void {
    const rest = Math.max(retryAfter, FIRST_REST_MS * 2 ** Math.min(this.#failures, 6))
    this.#failures++
    this.#restsUntil = this.#now() + Math.min(rest, LONGEST_REST_MS)
  }
}
