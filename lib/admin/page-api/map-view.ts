// /api/map: gateways, listeners, routes, policies and backends, with what is wrong with each. What the configuration says is
// drawn once; how things are is looked at anew.

import { bindKeyOf } from '../../config/bind-key.ts'
import type {
  BackendConfig,
  Config,
  GatewayConfig,
  ListenerConfig,
  NamedMatch,
  PathMatch,
  RouteConfig,
  RouteMatch,
} from '../../config/config-types.ts'
import { describeResourceProblems, resourceNameOf } from '../../config/policy-resources.ts'
import type { LimitConfig, TokenPolicies } from '../../config/policy-types.ts'
import { formatAddress } from '../../config/show.ts'
import type { ConfigFormatter, ConfigPartFormatter } from '../../config/show.ts'
import type { McpGroupView } from '../../core/runtime-views.ts'
import type { GatewayFacts } from './gateway-facts.ts'
import type {
  BackendNode,
  GatewayNode,
  ListenerNode,
  MapView,
  PolicyNode,
  RouteNode,
} from './page-api-types.ts'
import { formatBind, listenerStateOf, routeTrafficOf } from './runtime-view.ts'

/** Routes that are shown, and letters of all of them together; the others are counted. */
export const MAX_ROUTES = 500
const MAX_MAP_LENGTH = 4_194_304
/** Host names, matches and backends of a route. */
export const MAX_OF_ROUTE = 100
/** Letters of what a backend is called. */
const MAX_LABEL = 200

const NO_WEIGHT_TEXT = "every backend has weight 0: requests fail with 'no valid backends'"

/** What holds as long as the configuration does. */
type MapBackend = Omit<BackendNode, 'pool' | 'problems'>

interface MapRoute extends Omit<RouteNode, 'backends' | 'traffic' | 'problems'> {
  readonly config: RouteConfig
  readonly backends: readonly MapBackend[]
}

interface MapListener extends Omit<ListenerNode, 'routes'> {
  readonly config: ListenerConfig
  readonly routes: readonly MapRoute[]
}

interface MapGateway extends Omit<GatewayNode, 'state' | 'listeners'> {
  readonly config: GatewayConfig
  readonly listeners: readonly MapListener[]
}

export class ConfigMap {
  readonly #config: Config
  readonly #parts: ConfigPartFormatter
  /** Why policy resources do less than they say, by name. */
  readonly #complaints = new Map<string, readonly string[]>()
  readonly #problems: readonly string[]
  readonly #gateways: readonly MapGateway[]
  #left = MAX_ROUTES
  #room: number
  #more = 0

  constructor(config: Config, parts: ConfigPartFormatter, most = MAX_MAP_LENGTH) {
    this.#config = config
    this.#parts = parts
    this.#room = most
    for (const resource of config.resources) {
      const lines = describeResourceProblems([resource]).map((line) =>
        String(parts.formatter.format(line)),
      )
      if (lines.length > 0) this.#complaints.set(resourceNameOf(resource), lines)
    }
    const seen = new Set<string>()
    this.#gateways = config.gateways.map((gateway) => this.#gateway(gateway, seen))
    this.#problems = [...this.#complaints].flatMap(([name, lines]) => (seen.has(name) ? [] : lines))
  }

  view(facts: GatewayFacts): MapView {
    const now = new MapSnapshot(facts, this.#parts)
    const gateways = this.#gateways.map((gateway) => now.gateway(gateway))
    const { generation } = facts.inForce()
    return { generation, gateways, problems: this.#problems, more: this.#more }
  }

  #gateway(config: GatewayConfig, seen: Set<string>): MapGateway {
    const { name, port } = config
    const limits = this.#limits(config.limits, seen)
    return {
      config,
      name,
      bind: formatBind(config),
      place: this.#place(bindKeyOf(port)),
      listeners: config.listeners.map((listener) => this.#listener(listener, limits, seen)),
    }
  }

  /** Limits of a gateway are over all its routes together, whichever listener they hang on. */
  #listener(config: ListenerConfig, limits: readonly PolicyNode[], seen: Set<string>): MapListener {
    const { key, name, hostname, protocol, policies, routes } = config
    const shown = this.#routes(routes, seen)
    this.#more += routes.length - shown.length
    return {
      config,
      key,
      name,
      hostname,
      protocol,
      place: this.#place(key),
      policies: [...this.#policies(policies), ...limits],
      routes: shown,
    }
  }

  /** As many as there is room for. */
  #routes(routes: readonly RouteConfig[], seen: Set<string>): MapRoute[] {
    const drawn: MapRoute[] = []
    for (const config of routes) {
      if (this.#left === 0) break
      const { config: _config, ...route } = this.#route(config, seen)
      const { length } = JSON.stringify(route)
      // Smaller ones behind it are not shown either: what is there is the beginning.
      if (length > this.#room) this.#left = 0
      else {
        this.#left--
        this.#room -= length
        drawn.push({ ...route, config })
      }
    }
    return drawn
  }

  #route(config: RouteConfig, seen: Set<string>): MapRoute {
    const { key, name, hostnames, matches, policies, limits, backends } = config
    return {
      config,
      key,
      name,
      place: this.#place(key),
      hostnames: hostnames.slice(0, MAX_OF_ROUTE),
      matches: matches
        .slice(0, MAX_OF_ROUTE)
        .map((match) => cutText(formatRouteMatch(match, this.#parts.formatter))),
      policies: [...this.#policies(policies), ...this.#limits(limits, seen)],
      backends: backends.slice(0, MAX_OF_ROUTE).map((backend) => this.#backend(backend)),
      more: countLeftOut(hostnames) + countLeftOut(matches) + countLeftOut(backends),
    }
  }

  #backend(backend: BackendConfig): MapBackend {
    const { key, kind, weight, policies } = backend
    return {
      key,
      kind,
      label: backendLabelOf(backend),
      weight,
      policies: this.#policies(policies),
      config: cutValue(this.#parts.formatTarget(backend)),
    }
  }

  #policies(policies: object): PolicyNode[] {
    const shown = Object.entries(this.#parts.formatPolicies(policies))
    return shown.map(([kind, config]) => {
      return { kind, from: null, config: cutValue(config), problems: [] }
    })
  }

  #limits(limits: readonly LimitConfig[], seen: Set<string>): PolicyNode[] {
    const origins = new Set(limits.map(({ resource }) => resource))
    return [...origins].map((from) => {
      if (from !== null) seen.add(from)
      const own = limits.filter(({ resource }) => resource === from)
      const config = cutValue({ local: this.#parts.formatLimits(own) })
      return { kind: 'rateLimit', from, config, problems: this.#complaints.get(from ?? '') ?? [] }
    })
  }

  #place(key: string): string | null {
    return this.#config.places.get(key) ?? null
  }
}

/** How things are just now. */
class MapSnapshot {
  readonly #facts: GatewayFacts
  readonly #parts: ConfigPartFormatter
  readonly #listeners: ReturnType<GatewayFacts['listeners']>
  readonly #traffic: ReturnType<GatewayFacts['traffic']>
  readonly #groups: readonly McpGroupView[]

  constructor(facts: GatewayFacts, parts: ConfigPartFormatter) {
    this.#facts = facts
    this.#parts = parts
    this.#listeners = facts.listeners()
    this.#traffic = facts.traffic()
    this.#groups = facts.groups()
  }

  gateway({ config, listeners, ...gateway }: MapGateway): GatewayNode {
    return {
      ...gateway,
      state: listenerStateOf(config, this.#listeners),
      listeners: listeners.map((listener) => this.#listener(listener)),
    }
  }

  #listener({ config, policies, routes, ...listener }: MapListener): ListenerNode {
    return {
      ...listener,
      policies: this.#withKeys(policies, { ...config.policies, mcpAuthentication: null }),
      routes: routes.map((route) => this.#route(route)),
    }
  }

  #route({ config, policies, backends, ...route }: MapRoute): RouteNode {
    return {
      ...route,
      policies: this.#withKeys(policies, config.policies),
      backends: backends.map((backend) => this.#backend(backend)),
      traffic: routeTrafficOf(config.key, this.#traffic),
      problems: hasNoUsableBackend(config) ? [NO_WEIGHT_TEXT] : [],
    }
  }

  #backend(backend: MapBackend): BackendNode {
    const { pool, problems } = this.#facts.health(backend.key)
    const faults = this.#groups
      .filter((group) => group.backend === backend.key)
      .flatMap((group) => group.faults.map(({ reason }) => reason))
    const all = [...new Set([...problems, ...faults])]
    return { ...backend, pool, problems: this.#shown(all) }
  }

  #withKeys(
    policies: readonly PolicyNode[],
    { jwtAuth, mcpAuthentication }: TokenPolicies,
  ): readonly PolicyNode[] {
    if (jwtAuth === null && mcpAuthentication === null) return policies
    const faults: Readonly<Record<string, readonly string[]>> = {
      jwtAuth: this.#facts.keyFaults({ jwtAuth, mcpAuthentication: null }),
      mcpAuthentication: this.#facts.keyFaults({ jwtAuth: null, mcpAuthentication }),
    }
    return policies.map((policy) => {
      const problems = faults[policy.kind] ?? []
      return problems.length === 0 ? policy : { ...policy, problems: this.#shown(problems) }
    })
  }

  #shown(problems: readonly string[]): string[] {
    return problems.map((problem) => String(this.#parts.formatter.format(problem)))
  }
}

function countLeftOut({ length }: readonly unknown[]): number {
  return Math.max(0, length - MAX_OF_ROUTE)
}

/** No request can be forwarded, and no policy answers in the place of a backend. */
function hasNoUsableBackend({ backends, policies }: RouteConfig): boolean {
  const { directResponse, requestRedirect } = policies
  const answers = directResponse !== null || requestRedirect !== null
  return !answers && backends.every(({ weight }) => weight === 0)
}

function backendLabelOf(backend: BackendConfig): string {
  const names = backendNamesOf(backend).join(', ')
  return names.length <= MAX_LABEL ? names : `${names.slice(0, MAX_LABEL)}…`
}

function backendNamesOf(backend: BackendConfig): string[] {
  switch (backend.kind) {
    case 'host':
      return [formatAddress({ ...backend.endpoint })]
    case 'mcp':
      return backend.mcp.targets.map(({ name }) => name)
    case 'ai':
      return backend.ai.groups.flat().map(({ name }) => name)
    case 'llm':
      return [...new Set(backend.llm.models.map(({ entry }) => entry.name))]
  }
}

// A condition of a route in one line, as people say it: `GET /v1/*`.

function formatRouteMatch(
  { path, method, headers, query }: RouteMatch,
  showing: ConfigFormatter,
): string {
  const named = (what: string, all: readonly NamedMatch[]): string[] =>
    all.map((one) => `${what} ${one.name} ${formatMatchValue(one, what, showing)}`)
  const words = [method, formatPathMatch(path)].filter((word) => word !== '').join(' ')
  return [words, ...named('header', headers), ...named('query', query)].join(', ')
}

function formatPathMatch({ kind, value }: PathMatch): string {
  if (kind === 'prefix') return `${value.replace(/\/$/, '')}/*`
  return kind === 'regex' ? `~ ${value}` : value
}

/** The value of some is a secret. */
function formatMatchValue(match: NamedMatch, what: string, showing: ConfigFormatter): string {
  const sign = match.value.kind === 'regex' ? '~' : '='
  const shown = showing.format(match, what) as { readonly value: Readonly<Record<string, unknown>> }
  return `${sign} ${String(shown.value[match.value.kind])}`
}

// A value of the configuration as far as a map has room for it.

/** Letters of a text, and parts of a list or an object; how many more there are is said. */
export const MAX_CUT_VALUE_LENGTH = 2000
export const MAX_CUT_VALUE_PARTS = 100

function cutText(text: string): string {
  const over = text.length - MAX_CUT_VALUE_LENGTH
  return over <= 0 ? text : `${text.slice(0, MAX_CUT_VALUE_LENGTH)}… ${over} more characters`
}

export function cutValue(value: unknown): unknown {
  if (typeof value === 'string') return cutText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const shown = value.slice(0, MAX_CUT_VALUE_PARTS).map(cutValue)
    const over = value.length - shown.length
    return over === 0 ? shown : [...shown, `… ${over} more`]
  }
  const entries = Object.entries(value)
  const shown = entries.slice(0, MAX_CUT_VALUE_PARTS).map(([name, part]) => [name, cutValue(part)])
  const over = entries.length - shown.length
  if (over > 0) shown.push(['…', `${over} more`])
  return Object.fromEntries(shown) as unknown
}
