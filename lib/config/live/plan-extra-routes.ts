// Paths that the gateway adds to the configured routes: well-known OAuth metadata of protected MCP routes, and the web UI.

import type { UiAccess } from '../../admin/page-api/page-backend.ts'
import type { ListenerTable } from '../../choose/host-table.ts'
import { RouteTable } from '../../choose/route-table.ts'
import type { RouteEntry } from '../../choose/route-table.ts'
import { isLoopback, normalizeAuthority } from '../../core/addresses.ts'
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
import { requiresCredential } from '../check/check-policy-use.ts'
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

type SameMetadata = (a: McpAuthenticationConfig, b: McpAuthenticationConfig) => boolean

/**
 * The well-known metadata paths of the protected routes of one listener. A root path, which several routes could claim,
 * is added only if it is unambiguous.
 */
export class MetadataRoutes {
  readonly #resources: readonly McpAuthenticationConfig[]
  readonly #configured: RouteTable<RouteConfig>

  constructor(routes: readonly RouteConfig[]) {
    this.#resources = routes.flatMap(({ policies }) => policies.mcpAuthentication ?? [])
    this.#configured = new RouteTable(routes.map((route) => ({ ...route, value: route })))
  }

  /** The metadata paths that lead to the route in addition to its own matches. */
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
      resource: this.#isUnambiguous(RESOURCE_METADATA_PATH, config, areSameResource)
        ? 'own'
        : 'ambiguous',
      server: this.#isUnambiguous(SERVER_METADATA_PATH, config, haveSameServer)
        ? 'own'
        : 'ambiguous',
    }
  }

  /** All protected resources of the host have the same metadata at the path, and no other route matches it. */
  #isUnambiguous(path: string, config: McpAuthenticationConfig, areSame: SameMetadata): boolean {
    const sameHost = this.#resources.filter((resource) => haveSameHost(resource, config))
    if (!sameHost.every((resource) => areSame(resource, config))) return false
    const request = new RequestHead('', [], 0)
    request.target = path
    const { host, protocol } = new URL(config.resourceMetadata.resource)
    request.authority = normalizeAuthority(host, protocol === 'https:')
    const found = this.#configured.find(request)?.value
    if (found === undefined) return true
    const owner = found.policies.mcpAuthentication
    return owner !== null && haveSameHost(owner, config) && areSame(owner, config)
  }
}

type KeyedListener = Pick<ListenerConfig, 'key'>

export function uiRouteKeyOf({ key }: KeyedListener): string {
  return `${key}/ui`
}

/** The page and the parts of its API, each by name: nothing else of the admin interface is reachable on a listener. */
export function buildUiRoute<T>(listener: ListenerConfig, value: T): RouteEntry<T> {
  const paths: PathMatch[] = [
    { kind: 'prefix', value: UI_PATH },
    ...UI_API_NAMES.map((name): PathMatch => ({ kind: 'exact', value: uiApiPath(name) })),
  ]
  // A configured route at one of these paths, for one host or for all, has precedence.
  for (const value of ['/', FAVICON_PATH])
    if (!hasRouteAt(listener, value)) paths.push({ kind: 'exact', value })
  const matches = paths.map((path): RouteMatch => ({ ...ANY_REQUEST, path }))
  return { key: uiRouteKeyOf(listener), hostnames: [], matches, value }
}

interface RoutedListener extends KeyedListener {
  readonly hostname: string
  readonly routes: RouteTable<{ readonly key: string }>
}

/** Whether a request on a port is routed to the web UI. */
export function isForUi(
  request: RequestHead,
  port: ListenerTable<RoutedListener> | undefined,
): boolean {
  const { path } = request
  const isCandidate =
    path === '/' || path === FAVICON_PATH || path.startsWith(UI_PATH) || path.startsWith('/api/')
  if (!isCandidate) return false
  const listener = port?.find(request.authority)
  return (
    listener !== undefined && listener.routes.find(request)?.value.key === uiRouteKeyOf(listener)
  )
}

/**
 * Without credentials on a loopback address, only loopback host names are answered (DNS rebinding). Authorization rules
 * alone do not remove this restriction. Only the `cors` policy of the UI allows origins: that of the listener is for other traffic.
 */
export function buildUiAccess(
  policies: UiPolicies,
  listener: ListenerConfig,
  { address }: GatewayConfig,
): UiAccess {
  const isRebindingSafe =
    listener.hostname !== '' ||
    requiresCredential(policies) ||
    requiresCredential(listener.policies)
  const origins = new AllowedOrigins(policies.cors?.allowOrigins ?? [])
  return {
    hosts: isLoopback(address) && !isRebindingSafe ? 'loopback' : 'any',
    allowsOrigin: (origin) => origins.allows(origin),
  }
}

function hasRouteAt({ routes }: ListenerConfig, wanted: string): boolean {
  return routes.some(({ matches }) =>
    matches.some(({ path }) => {
      if (path.kind === 'regex') return path.regex.test(wanted)
      if (path.kind === 'exact') return path.value === wanted
      const value = path.value.replace(/\/+$/, '')
      return wanted === value || wanted.startsWith(`${value}/`)
    }),
  )
}
