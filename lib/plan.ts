// A checked configuration made live: route tables, compiled policies, pools. Built whole, then never changed.

import { ListenerTable } from './choose/listener-for.ts'
import { RouteTable } from './choose/route-table.ts'
import { Weighted } from './choose/weighted.ts'
import { policiesOf } from './enforce/policies-of.ts'
import { HttpBackend } from './forward/http/backend.ts'
import { originOf } from './forward/http/origin.ts'
import type { Pools } from './forward/http/pools.ts'
import type { Config, ListenerConfig, RetryConfig, RouteConfig } from './base/config/types.ts'
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

/** Who answers on which port. */
export type Plan = ReadonlyMap<number, ListenerTable<PlannedListener>>

export function planOf(config: Config, pools: Pools): Plan {
  return new Map(
    config.gateways.map((gateway) => [
      gateway.port,
      new ListenerTable(gateway.listeners.map((listener) => plannedListener(listener, pools))),
    ]),
  )
}

function plannedListener(listener: ListenerConfig, pools: Pools): PlannedListener {
  const entries = listener.routes.map((route) => ({ ...route, value: plannedRoute(route, pools) }))
  const scheme = listener.protocol === 'HTTPS' ? 'https' : 'http'
  return { key: listener.key, hostname: listener.hostname, routes: new RouteTable(entries, scheme) }
}

function plannedRoute({ key, policies, backends }: RouteConfig, pools: Pools): Route {
  const { timeout, retry, backendTLS } = policies
  return {
    key,
    policies: policiesOf(policies),
    timeout: timeout?.requestTimeout ?? 0,
    retry,
    backends: new Weighted(
      backends.map(({ endpoint, weight }) => ({
        weight,
        value: new HttpBackend(
          pools.of(originOf(endpoint, backendTLS)),
          timeout?.backendRequestTimeout ?? 0,
        ),
      })),
    ),
  }
}
