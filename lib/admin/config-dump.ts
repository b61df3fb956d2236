// /config_dump: what is in force, in the shape tools know, and without secrets (reference.md 7.3).

import type {
  BackendConfig,
  BackendPolicies,
  Config,
  Endpoint,
  GatewayConfig,
  ListenerConfig,
  PathMatch,
  RouteConfig,
  RoutePolicies,
} from '../base/config/types.ts'
import { VERSION } from '../base/version.ts'

const REDACTED = '<redacted>'
/** Always, whatever `config.sensitiveHeaders` adds. */
const SENSITIVE = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'api-key',
]

export interface DumpSource {
  readonly config: Config
  readonly generation: number
  readonly loadedAt: Date
}

export function configDump({ config, generation, loadedAt }: DumpSource): unknown {
  const sensitive = new Set([...SENSITIVE, ...config.process.sensitiveHeaders])
  const routes = config.gateways.flatMap(({ listeners }) =>
    listeners.flatMap((each) => each.routes),
  )
  const dump = {
    generation,
    loadedAt: loadedAt.toISOString(),
    binds: config.gateways.map(bindOf),
    backends: routes.flatMap(({ backends }) => backends.map(backendOf)),
    workloads: [],
    services: [],
    policies: config.resources,
    version: { version: VERSION, node: process.version },
    config: {
      file: config.file,
      ...config.process,
      backend: config.backend,
      frontend: config.wire,
    },
  }
  return JSON.parse(JSON.stringify(dump, (key, value: unknown) => shown(key, value, sensitive)))
}

function bindOf(gateway: GatewayConfig): unknown {
  const { port, address, listeners, name } = gateway
  return {
    key: `bind/${port}`,
    address: address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`,
    protocol: listeners.some(({ tls }) => tls !== null) ? 'tls' : 'http',
    tunnelProtocol: 'direct',
    mode: 'standard',
    listeners: byKey(listeners, (listener) => listenerOf(listener, name)),
  }
}

function listenerOf(listener: ListenerConfig, gatewayName: string): unknown {
  const { key, name, hostname, protocol, tls, routes } = listener
  return {
    key,
    gatewayName,
    gatewayNamespace: 'default',
    listenerName: name,
    hostname,
    protocol: tls === null ? protocol : { [protocol]: tls },
    routes: byKey(routes, routeOf),
  }
}

function routeOf({ key, name, hostnames, matches, backends, policies }: RouteConfig): unknown {
  return {
    key,
    name,
    namespace: 'default',
    hostnames,
    matches: matches.map((match) => ({
      path: pathOf(match.path),
      ...(match.method !== '' && { method: match.method }),
      headers: match.headers,
      query: match.query,
    })),
    backends: backends.map((backend) => ({ weight: backend.weight, backend: backend.key })),
    inlinePolicies: inlineOf(policies),
  }
}

function backendOf(backend: BackendConfig): unknown {
  const { kind, key, policies } = backend
  const named = { name: key, namespace: 'default' }
  const target = kind === 'host' ? targetOf(backend.endpoint) : detailsOf(backend)
  return { backend: { [kind]: { ...named, target } }, inlinePolicies: inlineOf(policies) }
}

function detailsOf(backend: BackendConfig): unknown {
  const { kind: _kind, key: _key, weight: _weight, policies: _policies, ...details } = backend
  return Object.values(details)[0]
}

function targetOf(endpoint: Endpoint): string {
  if (endpoint.kind === 'unix') return `unix:${endpoint.path}`
  const { host, port } = endpoint
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function pathOf({ kind, value }: PathMatch): unknown {
  return { [kind === 'prefix' ? 'pathPrefix' : kind]: value }
}

function inlineOf(policies: RoutePolicies | BackendPolicies): unknown[] {
  return Object.entries(policies)
    .filter(([, policy]) => policy !== null)
    .map(([kind, policy]) => ({ [kind]: policy }))
}

function byKey<T extends { readonly key: string }>(
  items: readonly T[],
  view: (item: T) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(items.map((item) => [item.key, view(item)]))
}

/** What JSON cannot show, and what it must not. Secrets print themselves as redacted. */
function shown(key: string, value: unknown, sensitive: ReadonlySet<string>): unknown {
  if (value instanceof RegExp) return value.source
  if (value instanceof Map) return Object.fromEntries(value)
  if ((key === 'add' || key === 'set' || key === 'headers') && Array.isArray(value))
    return value.map((field: unknown) =>
      isSensitive(field, sensitive) ? [field[0], REDACTED] : field,
    )
  return value
}

/** A header field as name and value, whose name is one of those. */
function isSensitive(field: unknown, sensitive: ReadonlySet<string>): field is [string, string] {
  return (
    Array.isArray(field) && typeof field[0] === 'string' && sensitive.has(field[0].toLowerCase())
  )
}
