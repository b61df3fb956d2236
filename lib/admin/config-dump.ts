// /config_dump: what is in force, in the shape tools know, and without secrets (reference.md 7.3).

import { bindKey } from '../base/config/bind-key.ts'
import type { LimitConfig } from '../base/config/limit-types.ts'
import { ShownParts } from '../base/config/shown-parts.ts'
import type { Addresses } from '../base/config/shown-parts.ts'
import type {
  BackendConfig,
  Config,
  GatewayConfig,
  ListenerConfig,
  RouteConfig,
  UiConfig,
} from '../base/config/types.ts'
import type { LimitStatus } from '../base/limit/status.ts'
import { VERSION } from '../base/version.ts'
import { addressText } from '../base/config/show.ts'
import type { Showing } from '../base/config/show.ts'

/** Which keys tokens are checked by, and how old they are. */
export interface KeySetStatus {
  readonly url: string
  readonly kids: readonly string[]
  readonly ageSeconds: number | null
  readonly error: string | null
}

/** How a backend has done of late. */
export interface BackendStatus {
  readonly requests: number
  /** From 0 to 1: how many of the last requests went well. */
  readonly health: number | null
  readonly latencyMs: number | null
}

export interface DumpSource {
  readonly config: Config
  readonly generation: number
  readonly loadedAt: Date
  readonly addresses: Addresses
  /** Key sets of identity providers, by URL. */
  readonly keySets: readonly KeySetStatus[]
  readonly limits: readonly LimitStatus[]
  /** Of a backend, by its key; null while nobody has asked it. */
  readonly statusOf: (key: string) => BackendStatus | null
  /** Of the last attempt to load another one; null when it was taken. */
  readonly refusal: { readonly at: Date; readonly problems: readonly string[] } | null
}

export function configDump(source: DumpSource): unknown {
  return new Dump(source.config).whole(source)
}

class Dump {
  readonly #parts: ShownParts
  readonly #showing: Showing

  constructor(config: Config) {
    this.#parts = new ShownParts(config)
    this.#showing = this.#parts.showing
  }

  whole(source: DumpSource): unknown {
    const { config, generation, loadedAt, addresses, refusal, keySets, limits, statusOf } = source
    const listeners = config.gateways.flatMap((gateway) => gateway.listeners)
    const backends = listeners.flatMap(({ routes }) => routes.flatMap((route) => route.backends))
    return {
      generation,
      loadedAt: loadedAt.toISOString(),
      ...(refusal !== null && {
        lastRefusedReload: {
          at: refusal.at.toISOString(),
          problems: this.#showing.show(refusal.problems),
        },
      }),
      binds: config.gateways.map((gateway) => this.#bind(gateway)),
      backends: backends.map((backend) => ({
        ...this.#backend(backend),
        ...shownStatus(statusOf(backend.key)),
      })),
      workloads: [],
      services: [],
      policies: this.#showing.written(config.resources),
      keySets: this.#showing.show(keySets),
      limits: limits.map((limit) => this.#limit(limit)),
      version: { version: VERSION, node: process.version },
      config: this.#parts.process(config, addresses),
      frontendPolicies: this.#parts.frontend(config.wire),
      ...(config.ui !== null && { ui: this.#ui(config.ui) }),
    }
  }

  #ui({ listeners, policies }: UiConfig): unknown {
    return { listeners, inlinePolicies: this.#policies(policies, []) }
  }

  #bind({ port, address, listeners, name, limits }: GatewayConfig): unknown {
    return {
      key: bindKey(port),
      address: addressText({ host: address, port }),
      protocol: listeners.some(({ tls }) => tls !== null) ? 'tls' : 'http',
      tunnelProtocol: 'direct',
      mode: 'standard',
      listeners: byKey(listeners, (listener) => this.#listener(listener, name)),
      inlinePolicies: this.#policies({}, limits),
    }
  }

  #listener(listener: ListenerConfig, gatewayName: string): unknown {
    const { key, name, hostname, protocol, tls, policies, routes } = listener
    return {
      key,
      gatewayName,
      gatewayNamespace: 'default',
      listenerName: name,
      hostname,
      protocol: tls === null ? protocol : { [protocol]: this.#parts.tls(tls) },
      routes: byKey(routes, (route) => this.#route(route)),
      inlinePolicies: this.#policies(policies, []),
    }
  }

  #route(route: RouteConfig): unknown {
    const { key, name, hostnames, matches, backends, policies, limits } = route
    return {
      key,
      name,
      namespace: 'default',
      hostnames,
      matches: matches.map((match) => this.#parts.match(match)),
      backends: backends.map((backend) => ({ weight: backend.weight, backend: backend.key })),
      inlinePolicies: this.#policies(policies, limits),
    }
  }

  /** Values of a key are names of users mostly; those of one that reads credentials are credentials. */
  #limit(status: LimitStatus): unknown {
    const { id: _id, amount: _amount, decisions: _decisions, ...told } = status
    const { key, keys, shared, tightest, ...limit } = told
    const { remaining, reset } = shared
    if (key === null) return this.#showing.fields({ ...limit, remaining, reset })
    const values = tightest.map((one) => ({
      key: this.#showing.valueOf(key, one.key),
      remaining: one.remaining,
    }))
    const shown = this.#showing.fields({ ...limit, key, reset, keys })
    return { ...shown, remaining: { shared: remaining, tightest: values } }
  }

  #backend(backend: BackendConfig): object {
    const { kind, key, policies } = backend
    const target = this.#parts.target(backend)
    return {
      backend: { [kind]: { name: key, namespace: 'default', target } },
      inlinePolicies: this.#policies(policies, []),
    }
  }

  #policies(policies: object, limits: readonly LimitConfig[]): unknown[] {
    const shown = Object.entries(this.#parts.policies(policies))
    if (limits.length > 0) shown.push(['rateLimit', { local: this.#parts.limits(limits) }])
    return shown.map(([kind, policy]) => ({ [kind]: policy }))
  }
}

/** One that nobody has asked was asked 0 times. */
function shownStatus(status: BackendStatus | null): object {
  const { requests = 0, health = null, latencyMs = null } = status ?? {}
  return { requests, health: rounded(health), latencyMs: rounded(latencyMs) }
}

function rounded(value: number | null): number | null {
  return value === null ? null : Number(value.toFixed(3))
}

function byKey<T extends { readonly key: string }>(
  items: readonly T[],
  view: (item: T) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(items.map((item) => [item.key, view(item)]))
}
