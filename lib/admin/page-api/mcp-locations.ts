// Where MCP clients find each MCP backend of a configuration, and how the gateway itself gets there.

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
  /** A name that leads there; '' where any does. */
  readonly hostname: string
}

/** What clients ask for where any path will do. */
const USUAL_MCP_PATH = '/mcp'

/** Of the older transport, and of documents: not where a client begins. */
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
  const wished = [...(resource === undefined ? [] : [new URL(resource).pathname]), USUAL_MCP_PATH]
  const path =
    wished.find((one) => paths.some((match) => matchesPath(match, one))) ??
    paths.find(({ kind, value }) => kind !== 'regex' && !SECONDARY_PATHS.includes(value))?.value ??
    USUAL_MCP_PATH
  return { path, hostname: selectHostname(hostnames.length > 0 ? hostnames : [hostname]) }
}

/** One without a star, or one that a star stands for. */
function selectHostname(names: readonly string[]): string {
  const exact = names.find((name) => !name.startsWith('*'))
  return exact ?? names[0]!.replace('*', 'gateway')
}

/** A prefix ends where a segment does. */
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
