// Every origin's pool: routes that name the same origin share its connections.

import type { BackendLimits } from '../../base/limits.ts'
import type { PoolView } from '../../base/live.ts'
import type { Log } from '../../base/log.ts'
import { Sweeper } from '../../base/sweeper.ts'
import type { Swept } from '../../base/sweeper.ts'
import type { Origin } from './origin.ts'
import { Pool } from './pool.ts'

export class Pools {
  readonly #limits: BackendLimits
  readonly #log: Log | null
  readonly #sweeper: Sweeper<Swept>
  readonly #pools = new Map<string, Pool>()

  constructor(limits: BackendLimits, log: Log | null = null) {
    this.#limits = limits
    this.#log = log
    this.#sweeper = new Sweeper(
      Math.min(limits.connectTimeout, limits.poolIdleTimeout, limits.bodyIdleTimeout),
    )
  }

  of(origin: Origin): Pool {
    let pool = this.#pools.get(origin.key)
    if (pool === undefined) {
      pool = new Pool(origin, this.#limits, this.#sweeper, this.#log)
      this.#pools.set(origin.key, pool)
    }
    return pool
  }

  describe(): PoolView[] {
    return [...this.#pools.values()].map((pool) => pool.describe())
  }

  /** Forgets every origin but these; calls under way on the others finish, and their connections with them. */
  retain(keys: ReadonlySet<string>): void {
    for (const [key, pool] of this.#pools) {
      if (keys.has(key)) continue
      this.#pools.delete(key)
      pool.close()
    }
  }

  /** Ends what is idle. */
  close(): void {
    for (const pool of this.#pools.values()) pool.close()
  }
}
