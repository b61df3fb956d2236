// Which models of a provider do not know `stream_options.include_usage`, as far as its answers have told.

import { LRUMapWithDelete } from 'mnemonist'

/** Above this the model learnt first is forgotten, and asked again. */
export const MAX_REFUSALS = 256

export class Refusals {
  readonly #models = new LRUMapWithDelete<string, true>(MAX_REFUSALS)
  readonly #tell: (model: string) => void

  /** `tell` hears of each that is new. */
  constructor(tell: (model: string) => void) {
    this.#tell = tell
  }

  has(model: string | null): boolean {
    return this.#models.has(model ?? '')
  }

  learn(model: string | null): void {
    if (this.has(model)) return
    this.#models.set(model ?? '', true)
    this.#tell(model ?? '')
  }
}
