// Bytes that many may hold together: each takes its share and gives it back.

import { inFlight } from './in-flight.ts'

export class Budget {
  readonly most: number
  #left: number

  constructor(bytes: number) {
    this.most = bytes
    this.#left = bytes
  }

  get left(): number {
    return this.#left
  }

  get used(): number {
    return this.most - this.#left
  }

  /** False when there is not so much left; nothing was taken then. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false
    this.#left -= bytes
    inFlight.kept += bytes
    return true
  }

  give(bytes: number): void {
    this.#left += bytes
    inFlight.kept -= bytes
  }
}
