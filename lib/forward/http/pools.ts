// Every origin's pool: routes that name the same origin share its connections.

import type { BackendLimits } from '../../base/limits.ts'
import { Sweeper } from '../../base/sweeper.ts'
import type { Swept } from '../../base/sweeper.ts'
import type { Origin } from './origin.ts'
import { Pool } from './pool.ts'

export class Pools {
  readonly #limits: BackendLimits
  readonly #sweeper: Sweeper<Swept>
  readonly #pools = new Map<string, Pool>()

  constructor(limits: BackendLimits) {
    this.#limits = limits
    this.#sweeper = new Sweeper(
      Math.min(limits.connectTimeout, limits.poolIdleTimeout, limits.bodyIdleTimeout),
    )
  }

  of(origin: Origin): Pool {
    let pool = this.#pools.get(origin.key)
    if (pool === undefined) {
      pool = new Pool(origin, this.#limits, this.#sweeper)
      this.#pools.set(origin.key, pool)
    }
    return pool
  }

  /** Ends what is idle. */
  close(): void {
    for (const pool of this.#pools.values()) pool.close()
  }
}
