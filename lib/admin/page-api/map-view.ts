// /api/map: gateways, listeners, routes, policies and backends with their problems. The part that follows from the
// configuration is built once; the current state is added for each request.

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
import { formatBind, portStateOf, routeTrafficOf } from './runtime-view.ts'

/** Maximum of routes in the map, and of their characters; further ones are only counted. */
export const MAX_ROUTES = 500
const MAX_MAP_LENGTH = 4_194_304
/** Maximum of host names, of matches and of backends of a route. */
export const MAX_OF_ROUTE = 100
/** Maximum of characters of a backend's label. */
const MAX_LABEL = 200

const NO_WEIGHT_TEXT = "every backend has weight 0: requests fail with 'no valid backends'"

/** The part of a node that follows from the configuration. */
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
  /** Problems of policy resources, by name. */
  readonly #resourceProblems = new Map<string, readonly string[]>()
  readonly #problems: readonly string[]
  readonly #gateways: readonly MapGateway[]
  #remainingRoutes = MAX_ROUTES
  #remainingLength: number
  #more = 0

  constructor(config: Config, parts: ConfigPartFormatter, maxLength = MAX_MAP_LENGTH) {
    this.#config = config
    this.#parts = parts
    this.#remainingLength = maxLength
    for (const resource of config.resources) {
      const lines = describeResourceProblems([resource]).map((line) =>
        String(parts.formatter.format(line)),
      )
      if (lines.length > 0) this.#resourceProblems.set(resourceNameOf(resource), lines)
    }
    const attached = new Set<string>()
    this.#gateways = config.gateways.map((gateway) => this.#gateway(gateway, attached))
    this.#problems = [...this.#resourceProblems].flatMap(([name, lines]) =>
      attached.has(name) ? [] : lines,
    )
  }

  view(facts: GatewayFacts): MapView {
    const now = new MapSnapshot(facts, this.#parts)
    const gateways = this.#gateways.map((gateway) => now.gateway(gateway))
    const { generation } = facts.inForce()
    return { generation, gateways, problems: this.#problems, more: this.#more }
  }

  #gateway(config: GatewayConfig, attached: Set<string>): MapGateway {
    const { name, port } = config
    const limits = this.#limits(config.limits, attached)
    return {
      config,
      name,
      bind: formatBind(config),
      place: this.#place(bindKeyOf(port)),
      listeners: config.listeners.map((listener) => this.#listener(listener, limits, attached)),
    }
  }

  /** The limits of a gateway hold for all its routes together, of every listener. */
  #listener(
    config: ListenerConfig,
    limits: readonly PolicyNode[],
    attached: Set<string>,
  ): MapListener {
    const { key, name, hostname, protocol, policies, routes } = config
    const shown = this.#routes(routes, attached)
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

  /** As many as fit into the map. */
  #routes(routes: readonly RouteConfig[], attached: Set<string>): MapRoute[] {
    const fitting: MapRoute[] = []
    for (const config of routes) {
      if (this.#remainingRoutes === 0) break
      const { config: _config, ...route } = this.#route(config, attached)
      const { length } = JSON.stringify(route)
      // Smaller routes after it are left out, too, so that the map shows the first routes.
      if (length > this.#remainingLength) this.#remainingRoutes = 0
      else {
        this.#remainingRoutes--
        this.#remainingLength -= length
        fitting.push({ ...route, config })
      }
    }
    return fitting
  }

  #route(config: RouteConfig, attached: Set<string>): MapRoute {
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
      policies: [...this.#policies(policies), ...this.#limits(limits, attached)],
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

  #limits(limits: readonly LimitConfig[], attached: Set<string>): PolicyNode[] {
    const origins = new Set(limits.map(({ resource }) => resource))
    return [...origins].map((from) => {
      if (from !== null) attached.add(from)
      const own = limits.filter(({ resource }) => resource === from)
      const config = cutValue({ local: this.#parts.formatLimits(own) })
      return {
        kind: 'rateLimit',
        from,
        config,
        problems: this.#resourceProblems.get(from ?? '') ?? [],
      }
    })
  }

  #place(key: string): string | null {
    return this.#config.places.get(key) ?? null
  }
}

/** Adds the current state to the map. */
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
      state: portStateOf(config, this.#listeners),
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
    return { ...backend, pool, problems: this.#format(all) }
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
      return problems.length === 0 ? policy : { ...policy, problems: this.#format(problems) }
    })
  }

  #format(problems: readonly string[]): string[] {
    return problems.map((problem) => String(this.#parts.formatter.format(problem)))
  }
}

function countLeftOut({ length }: readonly unknown[]): number {
  return Math.max(0, length - MAX_OF_ROUTE)
}

/** Whether every backend has weight 0 and no policy sends the response. */
function hasNoUsableBackend({ backends, policies }: RouteConfig): boolean {
  const { directResponse, requestRedirect } = policies
  const hasPolicyAnswer = directResponse !== null || requestRedirect !== null
  return !hasPolicyAnswer && backends.every(({ weight }) => weight === 0)
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

/** A match in one line: `GET /v1/*, header x = y`. */
function formatRouteMatch(
  { path, method, headers, query }: RouteMatch,
  formatter: ConfigFormatter,
): string {
  const named = (what: string, all: readonly NamedMatch[]): string[] =>
    all.map((one) => `${what} ${one.name} ${formatMatchValue(one, what, formatter)}`)
  const methodAndPath = [method, formatPathMatch(path)].filter((part) => part !== '').join(' ')
  return [methodAndPath, ...named('header', headers), ...named('query', query)].join(', ')
}

function formatPathMatch({ kind, value }: PathMatch): string {
  if (kind === 'prefix') return `${value.replace(/\/$/, '')}/*`
  return kind === 'regex' ? `~ ${value}` : value
}

/** Values that are secrets are redacted. */
function formatMatchValue(match: NamedMatch, what: string, formatter: ConfigFormatter): string {
  const sign = match.value.kind === 'regex' ? '~' : '='
  const shown = formatter.format(match, what) as {
    readonly value: Readonly<Record<string, unknown>>
  }
  return `${sign} ${String(shown.value[match.value.kind])}`
}

/** Maximum of characters of a text and of entries of a list or object; the rest is counted. */
export const MAX_CUT_VALUE_LENGTH = 2000
export const MAX_CUT_VALUE_PARTS = 100

function cutText(text: string): string {
  const over = text.length - MAX_CUT_VALUE_LENGTH
  return over <= 0 ? text : `${text.slice(0, MAX_CUT_VALUE_LENGTH)}… ${over} more characters`
}

/** Cuts a value of the configuration to the size that the map allows. */
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
