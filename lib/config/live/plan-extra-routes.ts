// Clients look for the documents of a protected route not where the route is, but at well-known paths of its host. These
// lead to it as well; those that others could have too only where the configuration gives them to nobody else.

import type { UiAccess } from '../../admin/page-api/page-backend.ts'
import type { ListenerTable } from '../../choose/host-table.ts'
import { RouteTable } from '../../choose/route-table.ts'
import type { RouteEntry } from '../../choose/route-table.ts'
import { isLoopback } from '../../core/addresses.ts'
import { RequestHead } from '../../core/head.ts'
import {
  FAVICON_PATH,
  RESOURCE_METADATA_PATH,
  SERVER_METADATA_PATH,
  UI_API_NAMES,
  UI_PATH,
  uiApiPath,
} from '../../core/well-known-paths.ts'
import { AllowedOrigins } from '../../enforce/cors.ts'
import {
  areSameResource,
  haveSameHost,
  haveSameServer,
  metadataPathsOf,
  rootMetadataPathsOf,
  UNAMBIGUOUS_ROOTS,
} from '../../enforce/oauth/public-urls.ts'
import type { RootMetadataOwnership } from '../../enforce/oauth/public-urls.ts'
import { requiresCredential } from '../check/check-ui.ts'
import type {
  GatewayConfig,
  ListenerConfig,
  PathMatch,
  RouteConfig,
  RouteMatch,
  UiPolicies,
} from '../config-types.ts'
import type { McpAuthenticationConfig } from '../policy-types.ts'
import { ANY_REQUEST } from '../shape/document-shapes.ts'

type SameMetadata = (one: McpAuthenticationConfig, other: McpAuthenticationConfig) => boolean

/** Of one listener. */
export class MetadataRoutes {
  readonly #resources: readonly McpAuthenticationConfig[]
  readonly #written: RouteTable<RouteConfig>

  constructor(routes: readonly RouteConfig[]) {
    this.#resources = routes.flatMap(({ policies }) => policies.mcpAuthentication ?? [])
    this.#written = new RouteTable(routes.map((route) => ({ ...route, value: route })))
  }

  /** Paths that lead to the route beside those it names. */
  extraMatchesFor(route: RouteConfig): RouteMatch[] {
    const { mcpAuthentication: config } = route.policies
    if (config === null) return []
    const paths = new Set([
      ...metadataPathsOf(config),
      ...rootMetadataPathsOf(this.rootFormsFor(route)),
    ])
    return [...paths].map((value) => ({ ...ANY_REQUEST, path: { kind: 'prefix', value } }))
  }

  rootFormsFor({ policies: { mcpAuthentication: config } }: RouteConfig): RootMetadataOwnership {
    if (config === null) return UNAMBIGUOUS_ROOTS
    return {
      resource: this.#isOwn(RESOURCE_METADATA_PATH, config, areSameResource) ? 'own' : 'ambiguous',
      server: this.#isOwn(SERVER_METADATA_PATH, config, haveSameServer) ? 'own' : 'ambiguous',
    }
  }

  /** All protected resources of the host would say the same there, and no other route is asked instead. */
  #isOwn(path: string, config: McpAuthenticationConfig, areSame: SameMetadata): boolean {
    const beside = this.#resources.filter((one) => haveSameHost(one, config))
    if (!beside.every((one) => areSame(one, config))) return false
    const asked = new RequestHead('', [], 0)
    asked.target = path
    asked.authority = new URL(config.resourceMetadata.resource).host
    const found = this.#written.find(asked)?.value
    if (found === undefined) return true
    const owner = found.policies.mcpAuthentication
    return owner !== null && haveSameHost(owner, config) && areSame(owner, config)
  }
}

// Which requests of a gateway's listener are for the web UI: its page, and what that reads, each by name. Nothing else of
// the admin interface can be reached from there.

type KeyedListener = Pick<ListenerConfig, 'key'>

export function uiRouteKeyOf({ key }: KeyedListener): string {
  return `${key}/ui`
}

export function buildUiRoute<T>(listener: ListenerConfig, value: T): RouteEntry<T> {
  const paths: PathMatch[] = [
    { kind: 'prefix', value: UI_PATH },
    ...UI_API_NAMES.map((part): PathMatch => ({ kind: 'exact', value: uiApiPath(part) })),
  ]
  // A route of the configuration at one of these paths, for one host or for all, goes first.
  for (const value of ['/', FAVICON_PATH])
    if (!hasRouteAt(listener, value)) paths.push({ kind: 'exact', value })
  const matches = paths.map((path): RouteMatch => ({ ...ANY_REQUEST, path }))
  return { key: uiRouteKeyOf(listener), hostnames: [], matches, value }
}

interface RoutedListener extends KeyedListener {
  readonly hostname: string
  readonly routes: RouteTable<{ readonly key: string }>
}

/** Whether the web UI is what a request would reach on a port. */
export function isForUi(
  request: RequestHead,
  port: ListenerTable<RoutedListener> | undefined,
): boolean {
  const { path } = request
  const isNear =
    path === '/' || path === FAVICON_PATH || path.startsWith(UI_PATH) || path.startsWith('/api/')
  if (!isNear) return false
  const listener = port?.find(request.authority)
  return (
    listener !== undefined && listener.routes.find(request)?.value.key === uiRouteKeyOf(listener)
  )
}

/**
 * Where everybody on this machine may see it, so may every page that a browser here shows, by a name that is pointed
 * there: only names that mean this machine are answered. Rules alone do not change that, as a page here may well be what they
 * let in. Origins are let in by its own `cors` only: that of the listener
 * was written for other traffic.
 */
export function buildUiAccess(
  policies: UiPolicies,
  listener: ListenerConfig,
  { address }: GatewayConfig,
): UiAccess {
  const isKnown =
    listener.hostname !== '' ||
    requiresCredential(policies) ||
    requiresCredential(listener.policies)
  const origins = new AllowedOrigins(policies.cors?.allowOrigins ?? [])
  return {
    hosts: isLoopback(address) && !isKnown ? 'loopback' : 'any',
    allowsOrigin: (origin) => origins.allows(origin),
  }
}

function hasRouteAt({ routes }: ListenerConfig, at: string): boolean {
  return routes.some(({ matches }) =>
    matches.some(({ path }) => {
      if (path.kind === 'regex') return path.regex.test(at)
      if (path.kind === 'exact') return path.value === at
      const value = path.value.replace(/\/+$/, '')
      return at === value || at.startsWith(`${value}/`)
    }),
  )
}
