// The connection pools of all origins: routes with the same origin share its connections.

import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import type { NetConnectOpts } from 'node:net'
import type {
  BackendHttpVersion,
  BackendTlsConfig,
  EndpointAddress,
} from '../../config/config-types.ts'
import type { BackendLimits } from '../../core/bounds.ts'
import type { Log } from '../../core/log.ts'
import { Histogram } from '../../core/metric-families.ts'
import type { PoolView } from '../../core/runtime-views.ts'
import { Sweeper } from '../../core/sweeper.ts'
import type { Sweepable } from '../../core/sweeper.ts'
import { ConnectionPool } from './pool.ts'

/** Upper bounds in seconds, the same as for connections in reference.md 8.7. */
const CONNECT_BUCKETS = [0.0005, 0.0015, 0.0043, 0.0126, 0.0368, 0.108, 0.316, 0.924, 2.71, 8]

export class ConnectionPools {
  /** Seconds until connections were established, with those of removed pools. */
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
    const { connectTimeout, poolIdleTimeout, bodyIdleTimeout, responseHeadTimeout } = limits
    this.#sweeper = new Sweeper(
      Math.min(connectTimeout, poolIdleTimeout, bodyIdleTimeout, responseHeadTimeout || Infinity),
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

  /** Removes the pools of all other origins; their calls finish, and then their connections close. */
  retain(keys: ReadonlySet<string>): void {
    for (const [key, pool] of this.#pools) {
      if (keys.has(key)) continue
      this.#pools.delete(key)
      pool.close()
    }
  }

  /** Closes half of the idle connections of each pool, for when file descriptors run out. */
  trim(): void {
    for (const pool of this.#pools.values()) pool.trim()
  }

  /** Closes the idle connections. */
  close(): void {
    for (const pool of this.#pools.values()) pool.close()
  }
}

/** The address of an HTTP server and the TLS settings for it. */
export interface Origin {
  /** Identifies the pool: the same address with other TLS settings or another HTTP version is another origin. */
  readonly key: string
  /** The address in logs and views. */
  readonly label: string
  readonly connect: NetConnectOpts
  /** The Host to send; '' for IP addresses and sockets, which get the Host of the client. */
  readonly name: string
  readonly tls: BackendTlsConfig | null
  /** null: HTTP/1.1 or, with TLS, what the backend negotiates; gRPC always uses HTTP/2. */
  readonly version: BackendHttpVersion | null
}

export function createOrigin(
  endpoint: EndpointAddress,
  tls: BackendTlsConfig | null,
  version: BackendHttpVersion | null = null,
): Origin {
  const settings =
    (tls === null ? '' : ` ${digestTlsSettings(tls)}`) + (version === null ? '' : ` ${version}`)
  if (endpoint.kind === 'unix')
    return {
      key: `unix:${endpoint.path}${settings}`,
      label: `unix:${endpoint.path}`,
      connect: { path: endpoint.path },
      name: '',
      tls,
      version,
    }
  const { host, port } = endpoint
  const family = isIP(host)
  const label = family === 6 ? `[${host}]:${port}` : `${host}:${port}`
  return {
    key: label + settings,
    label,
    connect: { host, port },
    name: family === 0 ? host : '',
    tls,
    version,
  }
}

/** A digest, so that the pool key does not contain the private key. */
function digestTlsSettings(tls: BackendTlsConfig): string {
  const text = JSON.stringify({ ...tls, key: tls.key?.reveal() })
  return createHash('sha256').update(text).digest('base64')
}
