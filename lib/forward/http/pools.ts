// Every origin's pool: routes that name the same origin share its connections.

import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import type { NetConnectOpts } from 'node:net'
import type { BackendTlsConfig, EndpointAddress } from '../../config/config-types.ts'
import type { BackendLimits } from '../../core/bounds.ts'
import type { Log } from '../../core/log.ts'
import { Histogram } from '../../core/metric-families.ts'
import type { PoolView } from '../../core/runtime-views.ts'
import { Sweeper } from '../../core/sweeper.ts'
import type { Sweepable } from '../../core/sweeper.ts'
import { ConnectionPool } from './pool.ts'

/** Ends of buckets, in seconds, as reference.md 8.7's gateway has them for connections. */
const CONNECT_BUCKETS = [0.0005, 0.0015, 0.0043, 0.0126, 0.0368, 0.108, 0.316, 0.924, 2.71, 8]

export class ConnectionPools {
  /** How long connections took to stand: those of pools that are gone, too. */
  readonly connectDurations = {
    plaintext: new Histogram(CONNECT_BUCKETS),
    tls: new Histogram(CONNECT_BUCKETS),
  }
  readonly #limits: BackendLimits
  readonly #log: Log | null
  readonly #sweeper: Sweeper<Sweepable>
  readonly #pools = new Map<string, ConnectionPool>()

  constructor(limits: BackendLimits, log: Log | null = null) {
    this.#limits = limits
    this.#log = log
    this.#sweeper = new Sweeper(
      Math.min(limits.connectTimeout, limits.poolIdleTimeout, limits.bodyIdleTimeout),
    )
  }

  poolFor(origin: Origin): ConnectionPool {
    let pool = this.#pools.get(origin.key)
    if (pool === undefined) {
      const connects = this.connectDurations[origin.tls === null ? 'plaintext' : 'tls']
      pool = new ConnectionPool(origin, {
        limits: this.#limits,
        sweeper: this.#sweeper,
        log: this.#log,
        connectDurations: connects,
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

// A place that answers HTTP: where it is, how it is reached, and what its connections have in common.

export interface Origin {
  /** Tells one pool from another: the same address with other TLS settings is another origin. */
  readonly key: string
  /** As the log tells it. */
  readonly label: string
  readonly connect: NetConnectOpts
  /** The name to send as Host; '' for addresses and sockets, which keep the client's. */
  readonly name: string
  readonly tls: BackendTlsConfig | null
}

export function createOrigin(endpoint: EndpointAddress, tls: BackendTlsConfig | null): Origin {
  const secured = tls === null ? '' : ` ${digestTlsSettings(tls)}`
  if (endpoint.kind === 'unix')
    return {
      key: `unix:${endpoint.path}${secured}`,
      label: `unix:${endpoint.path}`,
      connect: { path: endpoint.path },
      name: '',
      tls,
    }
  const { host, port } = endpoint
  const family = isIP(host)
  const label = family === 6 ? `[${host}]:${port}` : `${host}:${port}`
  return {
    key: label + secured,
    label,
    connect: { host, port },
    name: family === 0 ? host : '',
    tls,
  }
}

/** Tells TLS settings apart without holding the key that is among them. */
function digestTlsSettings(tls: BackendTlsConfig): string {
  const text = JSON.stringify({ ...tls, key: tls.key?.reveal() })
  return createHash('sha256').update(text).digest('base64')
}
