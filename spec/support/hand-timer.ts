// A timer that a spec advances, for work that is done every second.

import type { StartInterval } from '../../lib/core/scheduling.ts'

export class HandTimer {
  readonly #acts = new Set<() => void>()

  readonly every: StartInterval = (_ms, act) => {
    this.#acts.add(act)
    return () => this.#acts.delete(act)
  }

  /** The number of started timers. */
  get size(): number {
    return this.#acts.size
  }

  turn(times = 1): void {
    for (let left = times; left > 0; left--) for (const act of this.#acts) act()
  }
}
