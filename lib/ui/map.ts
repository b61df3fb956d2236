// /api/map: gateways, listeners, routes, policies and backends, with what is wrong with each. What the configuration says is
// drawn once; how things are is looked at anew.

import type { TokenPolicies } from '../base/config/auth-types.ts'
import { bindKey } from '../base/config/bind-key.ts'
import type { LimitConfig } from '../base/config/limit-types.ts'
import { complaintsOf, resourceName } from '../base/config/resources.ts'
import { addressText } from '../base/config/show.ts'
import type { ShownParts } from '../base/config/shown-parts.ts'
import type {
  BackendConfig,
  Config,
  GatewayConfig,
  ListenerConfig,
  RouteConfig,
} from '../base/config/types.ts'
import type { GroupView } from '../base/live/views.ts'
import type {
  BackendNode,
  GatewayNode,
  ListenerNode,
  MapView,
  PolicyNode,
  RouteNode,
} from './api.ts'
import { cutText, cutValue } from './cut-value.ts'
import type { GatewayFacts } from './gateway-facts.ts'
import { matchText } from './match-text.ts'
import { bindText, stateOf, trafficOf } from './runtime.ts'

/** Routes that are shown, and letters of all of them together; the others are counted. */
export const MAX_ROUTES = 500
const MAX_MAP_LENGTH = 4_194_304
/** Host names, matches and backends of a route. */
export const MAX_OF_ROUTE = 100
/** Letters of what a backend is called. */
const MAX_LABEL = 200

const DEAD = "every backend has weight 0: requests fail with 'no valid backends'"

/** What holds as long as the configuration does. */
type DrawnBackend = Omit<BackendNode, 'pool' | 'problems'>

interface DrawnRoute extends Omit<RouteNode, 'backends' | 'traffic' | 'problems'> {
  readonly config: RouteConfig
  readonly backends: readonly DrawnBackend[]
}

interface DrawnListener extends Omit<ListenerNode, 'routes'> {
  readonly config: ListenerConfig
  readonly routes: readonly DrawnRoute[]
}

interface DrawnGateway extends Omit<GatewayNode, 'state' | 'listeners'> {
  readonly config: GatewayConfig
  readonly listeners: readonly DrawnListener[]
}

export class DrawnMap {
  readonly #config: Config
  readonly #parts: ShownParts
  /** Why policy resources do less than they say, by name. */
  readonly #complaints = new Map<string, readonly string[]>()
  readonly #problems: readonly string[]
  readonly #gateways: readonly DrawnGateway[]
  #left = MAX_ROUTES
  #room: number
  #more = 0

  constructor(config: Config, parts: ShownParts, most = MAX_MAP_LENGTH) {
    this.#config = config
    this.#parts = parts
    this.#room = most
    for (const resource of config.resources) {
      const lines = complaintsOf([resource]).map((line) => String(parts.showing.show(line)))
      if (lines.length > 0) this.#complaints.set(resourceName(resource), lines)
    }
    const seen = new Set<string>()
    this.#gateways = config.gateways.map((gateway) => this.#gateway(gateway, seen))
    this.#problems = [...this.#complaints].flatMap(([name, lines]) => (seen.has(name) ? [] : lines))
  }

  view(facts: GatewayFacts): MapView {
    const now = new Look(facts, this.#parts)
    const gateways = this.#gateways.map((gateway) => now.gateway(gateway))
    const { generation } = facts.inForce()
    return { generation, gateways, problems: this.#problems, more: this.#more }
  }

  #gateway(config: GatewayConfig, seen: Set<string>): DrawnGateway {
    const { name, port } = config
    const limits = this.#limits(config.limits, seen)
    return {
      config,
      name,
      bind: bindText(config),
      place: this.#place(bindKey(port)),
      listeners: config.listeners.map((listener) => this.#listener(listener, limits, seen)),
    }
  }

  /** Limits of a gateway are over all its routes together, whichever listener they hang on. */
  #listener(
    config: ListenerConfig,
    limits: readonly PolicyNode[],
    seen: Set<string>,
  ): DrawnListener {
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
  #routes(routes: readonly RouteConfig[], seen: Set<string>): DrawnRoute[] {
    const drawn: DrawnRoute[] = []
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

  #route(config: RouteConfig, seen: Set<string>): DrawnRoute {
    const { key, name, hostnames, matches, policies, limits, backends } = config
    return {
      config,
      key,
      name,
      place: this.#place(key),
      hostnames: hostnames.slice(0, MAX_OF_ROUTE),
      matches: matches
        .slice(0, MAX_OF_ROUTE)
        .map((match) => cutText(matchText(match, this.#parts.showing))),
      policies: [...this.#policies(policies), ...this.#limits(limits, seen)],
      backends: backends.slice(0, MAX_OF_ROUTE).map((backend) => this.#backend(backend)),
      more: overOf(hostnames) + overOf(matches) + overOf(backends),
    }
  }

  #backend(backend: BackendConfig): DrawnBackend {
    const { key, kind, weight, policies } = backend
    return {
      key,
      kind,
      label: labelOf(backend),
      weight,
      policies: this.#policies(policies),
      config: cutValue(this.#parts.target(backend)),
    }
  }

  #policies(policies: object): PolicyNode[] {
    const shown = Object.entries(this.#parts.policies(policies))
    return shown.map(([kind, config]) => {
      return { kind, from: null, config: cutValue(config), problems: [] }
    })
  }

  #limits(limits: readonly LimitConfig[], seen: Set<string>): PolicyNode[] {
    const origins = new Set(limits.map(({ resource }) => resource))
    return [...origins].map((from) => {
      if (from !== null) seen.add(from)
      const own = limits.filter(({ resource }) => resource === from)
      const config = cutValue({ local: this.#parts.limits(own) })
      return { kind: 'rateLimit', from, config, problems: this.#complaints.get(from ?? '') ?? [] }
    })
  }

  #place(key: string): string | null {
    return this.#config.places.get(key) ?? null
  }
}

/** How things are just now. */
class Look {
  readonly #facts: GatewayFacts
  readonly #parts: ShownParts
  readonly #listeners: ReturnType<GatewayFacts['listeners']>
  readonly #traffic: ReturnType<GatewayFacts['traffic']>
  readonly #groups: readonly GroupView[]

  constructor(facts: GatewayFacts, parts: ShownParts) {
    this.#facts = facts
    this.#parts = parts
    this.#listeners = facts.listeners()
    this.#traffic = facts.traffic()
    this.#groups = facts.groups()
  }

  gateway({ config, listeners, ...gateway }: DrawnGateway): GatewayNode {
    return {
      ...gateway,
      state: stateOf(config, this.#listeners),
      listeners: listeners.map((listener) => this.#listener(listener)),
    }
  }

  #listener({ config, policies, routes, ...listener }: DrawnListener): ListenerNode {
    return {
      ...listener,
      policies: this.#withKeys(policies, { ...config.policies, mcpAuthentication: null }),
      routes: routes.map((route) => this.#route(route)),
    }
  }

  #route({ config, policies, backends, ...route }: DrawnRoute): RouteNode {
    return {
      ...route,
      policies: this.#withKeys(policies, config.policies),
      backends: backends.map((backend) => this.#backend(backend)),
      traffic: trafficOf(config.key, this.#traffic),
      problems: isDead(config) ? [DEAD] : [],
    }
  }

  #backend(backend: DrawnBackend): BackendNode {
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
    return problems.map((problem) => String(this.#parts.showing.show(problem)))
  }
}

function overOf({ length }: readonly unknown[]): number {
  return Math.max(0, length - MAX_OF_ROUTE)
}

/** No request can be forwarded, and no policy answers in the place of a backend. */
function isDead({ backends, policies }: RouteConfig): boolean {
  const { directResponse, requestRedirect } = policies
  const answers = directResponse !== null || requestRedirect !== null
  return !answers && backends.every(({ weight }) => weight === 0)
}

function labelOf(backend: BackendConfig): string {
  const names = namesOf(backend).join(', ')
  return names.length <= MAX_LABEL ? names : `${names.slice(0, MAX_LABEL)}…`
}

function namesOf(backend: BackendConfig): string[] {
  switch (backend.kind) {
    case 'host':
      return [addressText({ ...backend.endpoint })]
    case 'mcp':
      return backend.mcp.targets.map(({ name }) => name)
    case 'ai':
      return backend.ai.groups.flat().map(({ name }) => name)
    case 'llm':
      return [...new Set(backend.llm.models.map(({ entry }) => entry.name))]
  }
}
