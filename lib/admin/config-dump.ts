// /config_dump: the configuration in force without secrets, in the shape that existing tools read (reference.md 7.3).

import { bindKeyOf } from '../config/bind-key.ts'
import type { LimitConfig } from '../config/policy-types.ts'
import { ConfigPartFormatter, formatAddress } from '../config/show.ts'
import type { AdminAddresses, ConfigFormatter } from '../config/show.ts'
import type {
  BackendConfig,
  Config,
  GatewayConfig,
  ListenerConfig,
  RouteConfig,
  UiConfig,
} from '../config/config-types.ts'
import type { LimitStatus } from '../config/limit-status.ts'
import { VERSION } from '../core/version.ts'

/** The signing keys of an identity provider and their age. */
export interface KeySetStatus {
  readonly url: string
  readonly kids: readonly string[]
  readonly ageSeconds: number | null
  readonly error: string | null
}

/** Recent statistics of a backend. */
export interface BackendStatus {
  readonly requests: number
  /** From 0 to 1: the share of recent requests that succeeded. */
  readonly health: number | null
  readonly latencyMs: number | null
}

export interface ConfigDumpSource {
  readonly config: Config
  readonly generation: number
  readonly loadedAt: Date
  readonly addresses: AdminAddresses
  /** Key sets of identity providers, by URL. */
  readonly keySets: readonly KeySetStatus[]
  readonly limits: readonly LimitStatus[]
  /** By backend key; null for a backend that got no request yet. */
  readonly statusOf: (key: string) => BackendStatus | null
  /** Why the last reload was refused; null if it was accepted. */
  readonly refusal: { readonly at: Date; readonly problems: readonly string[] } | null
}

export function buildConfigDump(source: ConfigDumpSource): unknown {
  return new ConfigDumpBuilder(source.config).build(source)
}

class ConfigDumpBuilder {
  readonly #parts: ConfigPartFormatter
  readonly #formatter: ConfigFormatter

  constructor(config: Config) {
    this.#parts = new ConfigPartFormatter(config)
    this.#formatter = this.#parts.formatter
  }

  build(source: ConfigDumpSource): unknown {
    const { config, generation, loadedAt, addresses, refusal, keySets, limits, statusOf } = source
    const { binds, listeners, routes } = this.#traffic(config)
    const allListeners = config.gateways.flatMap((gateway) => gateway.listeners)
    const backends = allListeners.flatMap((listener) =>
      listener.routes.flatMap((route) => route.backends),
    )
    return {
      generation,
      loadedAt: loadedAt.toISOString(),
      ...(refusal !== null && {
        lastRefusedReload: {
          at: refusal.at.toISOString(),
          problems: this.#formatter.format(refusal.problems),
        },
      }),
      binds,
      listeners,
      routes,
      backends: backends.map((backend) => ({
        ...this.#backend(backend),
        ...formatBackendStatus(statusOf(backend.key)),
      })),
      workloads: [],
      services: [],
      policies: this.#formatter.formatAsWritten(config.resources),
      keySets: this.#formatter.format(keySets),
      limits: limits.map((limit) => this.#limit(limit)),
      version: { version: VERSION, node: process.version },
      config: this.#parts.formatProcess(config, addresses),
      frontendPolicies: this.#parts.formatFrontend(config.wire),
      ...(config.ui !== null && { ui: this.#ui(config.ui) }),
    }
  }

  #ui({ listeners, policies }: UiConfig): unknown {
    return { listeners, inlinePolicies: this.#policies(policies, []) }
  }

  /** §4.2 names lists of listeners and routes; existing tools read them inside of their bind. */
  #traffic({ gateways }: Config): Record<'binds' | 'listeners' | 'routes', object[]> {
    const [listeners, routes]: [object[], object[]] = [[], []]
    const binds = gateways.map((gateway) => {
      const bind = bindKeyOf(gateway.port)
      const own = gateway.listeners.map((listener) => {
        const ownRoutes = listener.routes.map((route) => this.#route(route))
        for (const route of ownRoutes) routes.push({ listener: listener.key, ...route })
        const fields = this.#listener(listener, gateway)
        listeners.push({ bind, ...fields, routes: ownRoutes.map(({ key }) => key) })
        return { ...fields, routes: groupByKey(ownRoutes) }
      })
      return this.#bind(gateway, groupByKey(own))
    })
    return { binds, listeners, routes }
  }

  #bind({ port, address, listeners, limits }: GatewayConfig, shownListeners: object): object {
    return {
      key: bindKeyOf(port),
      address: formatAddress({ host: address, port }),
      protocol: listeners.some(({ tls }) => tls !== null) ? 'tls' : 'http',
      tunnelProtocol: 'direct',
      mode: 'standard',
      listeners: shownListeners,
      inlinePolicies: this.#policies({}, limits),
    }
  }

  #listener(listener: ListenerConfig, gateway: GatewayConfig) {
    const { key, name, hostname, protocol, tls, policies } = listener
    return {
      key,
      gatewayName: gateway.name,
      gatewayNamespace: gateway.namespace,
      listenerName: name,
      hostname,
      protocol: tls === null ? protocol : { [protocol]: this.#parts.formatTls(tls) },
      inlinePolicies: this.#policies(policies, []),
    }
  }

  #route(route: RouteConfig) {
    const { key, name, namespace, hostnames, matches, backends, policies, limits } = route
    return {
      key,
      name,
      namespace,
      hostnames,
      matches: matches.map((match) => this.#parts.formatMatch(match)),
      backends: backends.map((backend) => ({ weight: backend.weight, backend: backend.key })),
      inlinePolicies: this.#policies(policies, limits),
    }
  }

  /** Key values are mostly user names; those of an expression that reads credentials are redacted. */
  #limit(status: LimitStatus): unknown {
    const { id: _id, amount: _amount, decisions: _decisions, ...rest } = status
    const { key, keys, shared, tightest, ...limit } = rest
    const { remaining, reset } = shared
    if (key === null) return this.#formatter.formatFields({ ...limit, remaining, reset })
    const values = tightest.map((bucket) => ({
      key: this.#formatter.formatKeyValue(key, bucket.key),
      remaining: bucket.remaining,
    }))
    const shown = this.#formatter.formatFields({ ...limit, key, reset, keys })
    return { ...shown, remaining: { shared: remaining, tightest: values } }
  }

  #backend(backend: BackendConfig): object {
    const { kind, key, policies } = backend
    const target = this.#parts.formatTarget(backend)
    return {
      backend: { [kind]: { name: key, namespace: 'default', target } },
      inlinePolicies: this.#policies(policies, []),
    }
  }

  #policies(policies: object, limits: readonly LimitConfig[]): unknown[] {
    const shown = Object.entries(this.#parts.formatPolicies(policies))
    if (limits.length > 0) shown.push(['rateLimit', { local: this.#parts.formatLimits(limits) }])
    return shown.map(([kind, policy]) => ({ [kind]: policy }))
  }
}

/** A backend without a request yet has 0 requests and no other values. */
function formatBackendStatus(status: BackendStatus | null): object {
  const { requests = 0, health = null, latencyMs = null } = status ?? {}
  return { requests, health: roundOrNull(health), latencyMs: roundOrNull(latencyMs) }
}

function roundOrNull(value: number | null): number | null {
  return value === null ? null : Number(value.toFixed(3))
}

function groupByKey<T extends { readonly key: string }>(items: readonly T[]): Record<string, T> {
  return Object.fromEntries(items.map((item) => [item.key, item]))
}
