// A checked configuration made live: route tables, compiled policies, pools. Built whole, then never changed.

import type { Budget } from '../base/bounds/budget.ts'
import type { PortLimits } from '../base/bounds/limits.ts'
import type { BackendFacts } from '../base/cel/facts.ts'
import { guardedNames } from '../base/config/guarded-names.ts'
import { Showing } from '../base/config/show.ts'
import type {
  BackendConfig,
  BackendTlsConfig,
  Config,
  Endpoint,
  GatewayConfig,
  ListenerConfig,
  RetryConfig,
  RouteConfig,
  RoutePolicies,
  UiConfig,
} from '../base/config/types.ts'
import type { Rule } from '../base/limit/rule.ts'
import type { Log } from '../base/log/log.ts'
import { isLoopback } from '../base/places/loopback.ts'
import type { Backend, Dialect, Policy } from '../base/types.ts'
import { ListenerTable } from '../choose/listener-table.ts'
import { RouteTable } from '../choose/route-table.ts'
import type { RouteEntry } from '../choose/route-table.ts'
import { Weighted } from '../choose/weighted.ts'
import { enforce } from '../enforce/enforce.ts'
import type { Identity } from '../enforce/identity.ts'
import type { Limits } from '../enforce/limits.ts'
import { PolicyMaker } from '../enforce/policy-maker.ts'
import type { RateLimitService } from '../enforce/remote-limit/client.ts'
import type { RateLimitServices } from '../enforce/remote-limit/services.ts'
import { HttpBackend } from '../forward/http/backend.ts'
import { originOf } from '../forward/http/origin.ts'
import type { Pool } from '../forward/http/pool.ts'
import type { Pools } from '../forward/http/pools.ts'
import { McpBackend } from '../forward/mcp/backend.ts'
import type { Protection } from '../forward/mcp/endpoint/rebinding.ts'
import type { Group } from '../forward/mcp/group.ts'
import type { Groups } from '../forward/mcp/groups.ts'
import { PolicedBackend } from '../forward/policed.ts'
import { UiBackend } from '../ui/backend.ts'
import type { Pages } from '../ui/backend.ts'
import { BackendHealth } from './backend-health.ts'
import { DocumentRoutes } from './document-routes.ts'
import { LimitPlanner } from './limits.ts'
import { LlmPlanner } from './llm.ts'
import type { Ways } from './llm.ts'
import { doorFor, uiEntry, uiKey } from './ui-routes.ts'

export interface Route {
  readonly key: string
  readonly policies: readonly Policy[]
  /** Those of its listener and its own: all that have a say in the answer. */
  readonly allPolicies: readonly Policy[]
  readonly backends: Weighted<PlannedBackend>
  /** Its policies as people read them. */
  readonly shown: () => object
  /** What its clients understand when the gateway itself has something to say. */
  readonly dialect: Dialect
  /** Milliseconds to the answer's head, or 0. */
  readonly timeout: number
  readonly retry: RetryConfig | null
}

export interface PlannedBackend {
  readonly backend: Backend
  /** As expressions and traces name it: the same object for every request. */
  readonly facts: BackendFacts
  readonly shown: () => object
}

export interface PlannedListener {
  readonly key: string
  readonly hostname: string
  /** Decided before a route is chosen. */
  readonly policies: readonly Policy[]
  readonly shown: () => object
  readonly routes: RouteTable<Route>
}

export interface Plan {
  readonly config: Config
  /** Counts from 1 with every plan that came into force. */
  readonly generation: number
  readonly loadedAt: Date
  /** Of every port. */
  readonly limits: PortLimits
  /** Who answers on which port. */
  readonly ports: ReadonlyMap<number, ListenerTable<PlannedListener>>
  /** The origins it may call, by key. */
  readonly origins: ReadonlySet<string>
  /** The MCP backends it serves. */
  readonly groups: ReadonlySet<Group>
  /** The limits it counts, and the services it asks. */
  readonly rules: ReadonlySet<Rule>
  readonly services: ReadonlySet<RateLimitService>
  readonly health: BackendHealth
  /** Keys of its routes and listeners, and of its backends, by which is counted. */
  readonly places: ReadonlySet<string>
  readonly backends: ReadonlySet<string>
}

/** What lives beside the plans, and outlasts them. */
export interface Standing {
  readonly pools: Pools
  readonly groups: Groups
  readonly identity: Identity
  readonly limits: Limits
  readonly services: RateLimitServices
  /** Bytes of LLM requests that are kept for a while. */
  readonly held: Budget
  readonly log: Log
  /** The server of the web UI, made when it is first asked. */
  readonly ui: () => Pages
}

export function planOf(config: Config, standing: Standing, generation: number): Plan {
  const planner = new Planner(standing, config)
  const ports = new Map(
    config.gateways.map((gateway) => [gateway.port, planner.listeners(gateway)]),
  )
  const { origins, groups, health } = planner
  const { rules, services } = planner.limits
  const limits = { ...config.wire, guardedNames: guardedNames(config) }
  const loadedAt = new Date()
  const counted = { places: placesOf(config), backends: backendsOf(config) }
  const called = { origins, groups, rules, services, health, ...counted }
  return { config, generation, loadedAt, limits, ports, ...called }
}

function placesOf(config: Config): ReadonlySet<string> {
  const listeners = config.gateways.flatMap((gateway) => gateway.listeners)
  const places = listeners.flatMap(({ key, routes }) => [key, ...routes.map((route) => route.key)])
  return new Set([...places, ...pagesOf(config)])
}

function backendsOf(config: Config): ReadonlySet<string> {
  const listeners = config.gateways.flatMap((gateway) => gateway.listeners)
  const backends = listeners.flatMap(({ routes }) => routes.flatMap((route) => route.backends))
  return new Set([...backends.map(({ key }) => key), ...pagesOf(config)])
}

/** The web UI on a listener is a route and its backend, by one key. */
function pagesOf({ ui }: Config): string[] {
  return (ui?.listeners ?? []).map((key) => uiKey({ key }))
}

/** What a listener has for its routes. */
interface Around {
  readonly gateway: GatewayConfig
  readonly policies: readonly Policy[]
  readonly documents: DocumentRoutes
}

class Planner {
  readonly origins = new Set<string>()
  readonly groups = new Set<Group>()
  readonly health = new BackendHealth()
  readonly limits: LimitPlanner
  readonly #standing: Standing
  readonly #policies: PolicyMaker
  readonly #ways: Ways
  readonly #showing: Showing
  readonly #ui: UiConfig | null

  constructor(standing: Standing, config: Config) {
    const { identity, limits, services, held, log } = standing
    this.#standing = standing
    this.#ui = config.ui
    this.#showing = new Showing(config.process.sensitiveHeaders)
    this.#policies = new PolicyMaker(identity)
    this.limits = new LimitPlanner(limits, services, log)
    this.#ways = {
      policies: this.#policies,
      held,
      limits: config.llm,
      log,
      health: this.health,
      pool: (key, endpoint, tls) => this.#pool(key, endpoint, tls),
    }
  }

  listeners(gateway: GatewayConfig): ListenerTable<PlannedListener> {
    return new ListenerTable(gateway.listeners.map((listener) => this.#listener(listener, gateway)))
  }

  #listener(listener: ListenerConfig, gateway: GatewayConfig): PlannedListener {
    const { key, hostname } = listener
    const policies = this.#policies.ofListener(listener.policies)
    const documents = new DocumentRoutes(listener.routes)
    const around = { gateway, policies, documents }
    const entries: RouteEntry<Route>[] = listener.routes.map((route) => ({
      ...route,
      matches: [...route.matches, ...documents.matchesOf(route)],
      value: this.#route(route, around),
    }))
    if (this.#ui?.listeners.includes(key))
      entries.push(uiEntry(listener, this.#page(this.#ui, listener, around)))
    const scheme = listener.protocol === 'HTTPS' ? 'https' : 'http'
    const shown = (): object => this.#showing.fields({ ...listener.policies })
    return { key, hostname, policies, shown, routes: new RouteTable(entries, scheme) }
  }

  #route(route: RouteConfig, { gateway, policies: outer, documents }: Around): Route {
    const { key, backends } = route
    const { timeout, retry } = route.policies
    const isMcp = backends.some(({ kind }) => kind === 'mcp')
    const written = isMcp ? exposing(route.policies) : route.policies
    const limits = this.limits.of(route, gateway)
    const localRateLimit = route.limits.length === 0 ? null : route.limits
    const policies = this.#policies.ofRoute(written, documents.rootsOf(route), limits.policies)
    const llm = new LlmPlanner(this.#ways, route, limits.metering)
    const plainOf = (backend: BackendConfig): Backend => {
      switch (backend.kind) {
        case 'mcp':
          return this.#mcp(backend, route, gateway.address)
        case 'host':
          return llm.metered(backend, this.#host(backend, route))
        case 'ai':
          return llm.ofProviders(backend)
        case 'llm':
          return llm.ofModels(backend)
      }
    }
    const made = backends.map((backend) => ({
      weight: backend.weight,
      value: {
        backend: this.#policed(backend, route, plainOf(backend)),
        facts: factsOf(backend),
        shown: () => this.#showing.fields({ ...backend.policies }),
      },
    }))
    return {
      key,
      policies,
      shown: () => this.#showing.fields({ ...route.policies, localRateLimit }),
      allPolicies: [...outer, ...policies],
      dialect: isMcp ? 'jsonrpc' : 'text',
      timeout: timeout?.requestTimeout ?? 0,
      retry,
      backends: new Weighted(made),
    }
  }

  /** The web UI is a route like others, and answered here. */
  #page({ policies: own }: UiConfig, listener: ListenerConfig, around: Around): Route {
    const policies = this.#policies.ofListener({ ...own, transformations: null })
    const key = uiKey(listener)
    const value: PlannedBackend = {
      backend: new UiBackend(this.#standing.ui, doorFor(own, listener, around.gateway)),
      facts: { name: key, type: 'static', protocol: 'http' },
      shown: () => ({}),
    }
    return {
      key,
      policies,
      shown: () => this.#showing.fields({ ...own }),
      allPolicies: [...around.policies, ...policies],
      dialect: 'text',
      timeout: 0,
      retry: null,
      backends: new Weighted([{ value, weight: 1 }]),
    }
  }

  #policed(backend: BackendConfig, route: RouteConfig, plain: Backend): Backend {
    const policies = this.#policies.ofBackend(backend.policies, route.policies)
    return policies.length === 0 ? plain : new PolicedBackend(plain, policies, enforce)
  }

  #host(backend: Extract<BackendConfig, { kind: 'host' }>, { policies }: RouteConfig): HttpBackend {
    const tls = backend.policies.backendTLS ?? policies.backendTLS
    const pool = this.#pool(backend.key, backend.endpoint, tls)
    return new HttpBackend(pool, policies.timeout?.backendRequestTimeout ?? 0)
  }

  #mcp(
    { key, mcp, policies }: Extract<BackendConfig, { kind: 'mcp' }>,
    route: RouteConfig,
    address: string,
  ): McpBackend {
    const group = this.#standing.groups.of(key, mcp)
    this.groups.add(group)
    const remotes = mcp.targets.flatMap((target) => {
      if (target.kind === 'stdio') return []
      const { host, port, tls } = target
      return [this.#pool(key, { kind: 'tcp', host, port }, tls)]
    })
    const [pool] = remotes
    const auth = policies.backendAuth ?? route.policies.backendAuth
    const isProtected = route.policies.mcpAuthentication !== null
    // One target, and nobody here who reads them.
    const isOpen = !isProtected && mcp.targets.length === 1
    return new McpBackend(group, {
      rules: [route.policies.mcpAuthorization, policies.mcpAuthorization].flatMap(
        (one) => one?.rules ?? [],
      ),
      protection: protectionOf(mcp.dnsRebindingProtection, address),
      credentials: {
        // Behind `backendAuth` the header is what the operator put there.
        authorization: isOpen || auth !== null ? 'all' : 'passthrough',
        // Those of a page that talks to the gateway are nobody else's.
        cookie: isOpen ? 'all' : isProtected ? 'none' : 'passthrough',
      },
      documents: isOpen && pool !== undefined ? new HttpBackend(pool, 0) : null,
    })
  }

  #pool(backend: string, endpoint: Endpoint, tls: BackendTlsConfig | null): Pool {
    const origin = originOf(endpoint, tls)
    this.origins.add(origin.key)
    return this.health.addPool(backend, this.#standing.pools.of(origin))
  }
}

function factsOf({ key: name, kind }: BackendConfig): BackendFacts {
  switch (kind) {
    case 'mcp':
      return { name, type: 'mcp', protocol: 'mcp' }
    case 'ai':
    case 'llm':
      return { name, type: 'ai', protocol: 'llm' }
    case 'host':
      return { name, type: 'static', protocol: 'http' }
  }
}

/** Pages need these of an MCP answer, whatever else is exposed. */
const MCP_EXPOSED = ['mcp-session-id', 'www-authenticate']

function exposing(policies: RoutePolicies): RoutePolicies {
  const { cors } = policies
  if (cors === null || cors.exposeHeaders.includes('*')) return policies
  const named = new Set(cors.exposeHeaders.map((name) => name.toLowerCase()))
  const exposeHeaders = [...cors.exposeHeaders, ...MCP_EXPOSED.filter((name) => !named.has(name))]
  return { ...policies, cors: { ...cors, exposeHeaders } }
}

function protectionOf(written: boolean | null, address: string): Protection {
  if (written !== null) return written ? 'strict' : 'off'
  return isLoopback(address) ? 'strict' : 'pages'
}
