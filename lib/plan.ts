// A checked configuration made live: route tables, compiled policies, pools. Built whole, then never changed.

import assert from 'node:assert/strict'
import { ListenerTable } from './choose/listener-table.ts'
import { RouteTable } from './choose/route-table.ts'
import { Weighted } from './choose/weighted.ts'
import { policiesOf } from './enforce/policies-of.ts'
import { HttpBackend } from './forward/http/backend.ts'
import { originOf } from './forward/http/origin.ts'
import type { Pool } from './forward/http/pool.ts'
import type { Pools } from './forward/http/pools.ts'
import type {
  BackendTlsConfig,
  Config,
  Endpoint,
  ListenerConfig,
  RetryConfig,
  RouteConfig,
} from './base/config/types.ts'
import type { Backend, Policy } from './base/types.ts'

export interface Route {
  readonly key: string
  readonly policies: readonly Policy[]
  readonly backends: Weighted<Backend>
  /** Milliseconds to the answer's head, or 0. */
  readonly timeout: number
  readonly retry: RetryConfig | null
}

export interface PlannedListener {
  readonly key: string
  readonly hostname: string
  readonly routes: RouteTable<Route>
}

export interface Plan {
  readonly config: Config
  /** Counts from 1 with every plan that came into force. */
  readonly generation: number
  readonly loadedAt: Date
  /** Who answers on which port. */
  readonly ports: ReadonlyMap<number, ListenerTable<PlannedListener>>
  /** The origins it may call, by key. */
  readonly origins: ReadonlySet<string>
}

export function planOf(config: Config, pools: Pools, generation: number): Plan {
  const origins = new Set<string>()
  const poolOf = (endpoint: Endpoint, tls: BackendTlsConfig | null): Pool => {
    const origin = originOf(endpoint, tls)
    origins.add(origin.key)
    return pools.of(origin)
  }
  const ports = new Map(
    config.gateways.map((gateway) => [
      gateway.port,
      new ListenerTable(gateway.listeners.map((listener) => plannedListener(listener, poolOf))),
    ]),
  )
  return { config, generation, loadedAt: new Date(), ports, origins }
}

type PoolOf = (endpoint: Endpoint, tls: BackendTlsConfig | null) => Pool

function plannedListener(listener: ListenerConfig, poolOf: PoolOf): PlannedListener {
  const entries = listener.routes.map((route) => ({ ...route, value: plannedRoute(route, poolOf) }))
  const scheme = listener.protocol === 'HTTPS' ? 'https' : 'http'
  return { key: listener.key, hostname: listener.hostname, routes: new RouteTable(entries, scheme) }
}

function plannedRoute({ key, policies, backends }: RouteConfig, poolOf: PoolOf): Route {
  const { timeout, retry, backendTLS } = policies
  return {
    key,
    policies: policiesOf(policies),
    timeout: timeout?.requestTimeout ?? 0,
    retry,
    backends: new Weighted(
      backends.map((backend) => {
        // Other kinds do not pass the checks of the configuration yet.
        assert(backend.kind === 'host')
        const pool = poolOf(backend.endpoint, backendTLS)
        const value = new HttpBackend(pool, timeout?.backendRequestTimeout ?? 0)
        return { weight: backend.weight, value }
      }),
    ),
  }
}
