// What a login at an MCP backend's provider needs to know, found the way any MCP client finds it: the resource's document
// first, then that of the authorization server it names (RFC 9728, RFC 8414, OpenID Connect).

import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import {
  OPENID_CONFIGURATION_PATH,
  RESOURCE_METADATA_PATH,
  SERVER_METADATA_PATH,
} from '../../core/well-known-paths.ts'
import { LoginProblem } from './login-problem.ts'
import type { Web } from './web.ts'

export interface ServerMetadata {
  /** Those that its answers may name; empty where the gateway stands for one that calls itself otherwise. */
  readonly issuers: readonly string[]
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
  const resource = await web.document([`${origin}${RESOURCE_METADATA_PATH}${path}`])
  const [server] = Array.isArray(resource['authorization_servers'])
    ? (resource['authorization_servers'] as unknown[])
    : []
  // Nothing but these two is what the configuration says.
  if (server !== `${origin}${path}` && server !== config.issuer)
    throw new LoginProblem('the resource names an authorization server that is not configured')
  const found = await web.document(documentsOf(server, config))
  const { issuer } = found
  // RFC 8414 3.3: otherwise the document could be that of anybody.
  if (issuer !== server)
    throw new LoginProblem("the authorization server's document names another issuer")
  const registration = found['registration_endpoint']
  return {
    issuers: config.provider === 'idp_tenant' ? [] : [server, config.issuer],
    authorization: endpointIn(found, 'authorization_endpoint', web),
    token: endpointIn(found, 'token_endpoint', web),
    registration: isAtHome(registration, web) ? registration : null,
    namesItself: found['authorization_response_iss_parameter_supported'] === true,
    scopes: textsIn(resource['scopes_supported']).slice(0, MAX_SCOPES),
  }
}

/** RFC 8414 puts the well-known part before the path, OpenID Connect behind it; the gateway has the former. */
function documentsOf(server: string, { issuer }: McpAuthenticationConfig): string[] {
  const { origin, path } = partsOf(server)
  if (server !== issuer) return [`${origin}${SERVER_METADATA_PATH}${path}`]
  return [`${origin}${SERVER_METADATA_PATH}${path}`, `${origin}${path}${OPENID_CONFIGURATION_PATH}`]
}

/** Throws for one that leads to neighbours of this process. */
function endpointIn(found: Readonly<Record<string, unknown>>, member: string, web: Web): string {
  const written = found[member]
  if (typeof written !== 'string' || !URL.canParse(written))
    throw new LoginProblem(`the authorization server's document has no ${member}`)
  if (web.reachOf(written) === 'nobody')
    throw new LoginProblem(
      `${member} of the authorization server is not safe to use: it is neither at the issuer nor at a public host over TLS`,
    )
  return written
}

/** At the provider or the gateway itself: a document must not send a registration elsewhere. */
function isAtHome(written: unknown, web: Web): written is string {
  return typeof written === 'string' && ['ours', 'theirs'].includes(web.reachOf(written))
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

function partsOf(url: string): { origin: string; path: string } {
  const { origin, pathname } = new URL(url)
  return { origin, path: pathname.replace(/\/$/, '') }
}
