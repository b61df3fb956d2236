// What a login at an MCP backend's provider needs to know, found the way any MCP client finds it: the resource's document
// first, then that of the authorization server it names (RFC 9728, RFC 8414, OpenID Connect).

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import { hostOf, isLoopback } from '../../base/loopback.ts'
import { OPENID, RESOURCE, SERVER } from '../../base/well-known.ts'
import { LoginProblem } from './login-problem.ts'
import type { Web } from './web.ts'

export interface ServerMetadata {
  readonly issuer: string
  readonly authorization: string
  readonly token: string
  /** Null where nobody can register. */
  readonly registration: string | null
  /** RFC 9207: its answers name it. */
  readonly namesItself: boolean
  readonly scopes: readonly string[]
}

/** Scopes of the resource that are asked for. */
const MAX_SCOPES = 64

export async function metadataOf(
  config: McpAuthenticationConfig,
  web: Web,
): Promise<ServerMetadata> {
  const { origin, path } = partsOf(config.resourceMetadata.resource)
  const resource = await web.document([`${origin}${RESOURCE}${path}`])
  const [server] = Array.isArray(resource['authorization_servers'])
    ? (resource['authorization_servers'] as unknown[])
    : []
  // Nothing but these two is what the configuration says.
  if (server !== `${origin}${path}` && server !== config.issuer)
    throw new LoginProblem('the resource names an authorization server that is not configured')
  const found = await web.document(documentsOf(server))
  const { issuer } = found
  if (typeof issuer !== 'string')
    throw new LoginProblem("the authorization server's document names no issuer")
  const reach = (member: string): string => endpointIn(found, member, config)
  const registration = found['registration_endpoint']
  return {
    issuer,
    authorization: reach('authorization_endpoint'),
    token: reach('token_endpoint'),
    registration: isAtHome(registration, config) ? registration : null,
    namesItself: found['authorization_response_iss_parameter_supported'] === true,
    scopes: textsIn(resource['scopes_supported']).slice(0, MAX_SCOPES),
  }
}

/** RFC 8414 puts the well-known part before the path, OpenID Connect behind it. */
function documentsOf(server: string): string[] {
  const { origin, path } = partsOf(server)
  return [`${origin}${SERVER}${path}`, `${origin}${path}${OPENID}`]
}

/** Over TLS, on this machine, or where the configuration itself says plain HTTP. */
function endpointIn(
  found: Readonly<Record<string, unknown>>,
  member: string,
  config: McpAuthenticationConfig,
): string {
  const written = found[member]
  if (typeof written !== 'string' || !URL.canParse(written))
    throw new LoginProblem(`the authorization server's document has no ${member}`)
  const { protocol, host, username, password } = new URL(written)
  const isSafe =
    protocol === 'https:' ||
    (protocol === 'http:' && isLoopback(hostOf(host))) ||
    isAtHome(written, config)
  if (!isSafe || username !== '' || password !== '')
    throw new LoginProblem(`${member} of the authorization server is not safe to use`)
  return written
}

/** At the provider or the gateway itself: a document must not send a registration elsewhere. */
function isAtHome(written: unknown, config: McpAuthenticationConfig): written is string {
  if (typeof written !== 'string' || !URL.canParse(written)) return false
  const { origin, protocol } = new URL(written)
  const homes = [config.issuer, config.resourceMetadata.resource].map((url) => new URL(url).origin)
  return /^https?:$/.test(protocol) && homes.includes(origin)
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

function partsOf(url: string): { origin: string; path: string } {
  const { origin, pathname } = new URL(url)
  return { origin, path: pathname.replace(/\/$/, '') }
}
