// The addresses at which MCP clients reach the MCP backends of a configuration.

import type {
  BackendConfig,
  Config,
  GatewayConfig,
  ListenerConfig,
  PathMatch,
  RouteConfig,
} from '../../config/config-types.ts'

export type McpBackendConfig = Extract<BackendConfig, { readonly kind: 'mcp' }>

export interface McpLocation {
  readonly gateway: GatewayConfig
  readonly listener: ListenerConfig
  readonly route: RouteConfig
  readonly backend: McpBackendConfig
  readonly path: string
  /** A host name of the route; empty if any host matches. */
  readonly hostname: string
}

/** The path for a route that matches any path. */
const DEFAULT_MCP_PATH = '/mcp'

/** Paths of the older transport and of metadata: no client starts there. */
const SECONDARY_PATHS = ['/sse', '/.well-known']

export function listMcpLocations({ gateways }: Config): McpLocation[] {
  return gateways.flatMap((gateway) =>
    gateway.listeners.flatMap((listener) =>
      listener.routes.flatMap((route) =>
        route.backends.flatMap((backend) =>
          backend.kind === 'mcp'
            ? { gateway, listener, route, backend, ...addressOf(listener, route) }
            : [],
        ),
      ),
    ),
  )
}

function addressOf(
  { hostname }: ListenerConfig,
  { matches, hostnames, policies }: RouteConfig,
): Pick<McpLocation, 'path' | 'hostname'> {
  const paths = matches.map((match) => match.path)
  const resource = policies.mcpAuthentication?.resourceMetadata.resource
  const preferred = [
    ...(resource === undefined ? [] : [new URL(resource).pathname]),
    DEFAULT_MCP_PATH,
  ]
  const path =
    preferred.find((one) => paths.some((match) => matchesPath(match, one))) ??
    paths.find(({ kind, value }) => kind !== 'regex' && !SECONDARY_PATHS.includes(value))?.value ??
    DEFAULT_MCP_PATH
  return { path, hostname: selectHostname(hostnames.length > 0 ? hostnames : [hostname]) }
}

/** A name without a wildcard, or the first with its wildcard replaced. */
function selectHostname(names: readonly string[]): string {
  const exact = names.find((name) => !name.startsWith('*'))
  return exact ?? names[0]!.replace('*', 'gateway')
}

/** A prefix matches whole segments. */
function matchesPath(match: PathMatch, path: string): boolean {
  switch (match.kind) {
    case 'exact':
      return path === match.value
    case 'prefix': {
      const prefix = match.value.replace(/\/$/, '')
      return path === prefix || path.startsWith(`${prefix}/`)
    }
    case 'regex':
      return match.regex.test(path)
  }
}
