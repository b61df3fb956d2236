// Every origin's pool: routes that name the same origin share its connections.

import type { BackendLimits } from '../../base/bounds/limits.ts'
import { Histogram } from '../../base/live/metrics.ts'
import type { PoolView } from '../../base/live/views.ts'
import type { Log } from '../../base/log/log.ts'
import { Sweeper } from '../../base/sweeper.ts'
import type { Swept } from '../../base/sweeper.ts'
import type { Origin } from './origin.ts'
import { Pool } from './pool.ts'

/** Ends of buckets, in seconds, as reference.md 8.7's gateway has them for connections. */
const CONNECT = [0.0005, 0.0015, 0.0043, 0.0126, 0.0368, 0.108, 0.316, 0.924, 2.71, 8]

export class Pools {
  /** How long connections took to stand: those of pools that are gone, too. */
  readonly connects = { plaintext: new Histogram(CONNECT), tls: new Histogram(CONNECT) }
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
      const connects = this.connects[origin.tls === null ? 'plaintext' : 'tls']
      pool = new Pool(origin, {
        limits: this.#limits,
        sweeper: this.#sweeper,
        log: this.#log,
        connects,
      })
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

  /** Ends half of what is idle, of each the connections used longest ago: descriptors are short. */
  trim(): void {
    for (const pool of this.#pools.values()) pool.trim()
  }

  /** Ends what is idle. */
  close(): void {
    for (const pool of this.#pools.values()) pool.close()
  }
}
