// Logins of the playground at the providers of MCP backends: authorization code with PKCE, like any MCP client. The state
// of a login is kept here until the redirect, and its token goes only to the page that started it.

import { createHash, randomBytes } from 'node:crypto'
import { LRUMapWithDelete } from 'mnemonist'
import type { AdminAddress } from '../../config/config-types.ts'
import { parseJsonObject } from '../../text/json-edit.ts'
import type {
  OAuthFinish,
  OAuthFinished,
  OAuthStart,
  OAuthStarted,
} from '../page-api/page-api-types.ts'
import type { McpLocation } from '../page-api/mcp-locations.ts'
import { destinationOf } from './listener-destination.ts'
import { LoginError, ProviderAccess } from './provider-access.ts'
import type { FetchedText, LoginFetchers, Members, LoginErrorKind } from './provider-access.ts'
import { fetchServerMetadata } from './provider-metadata.ts'
import type { ServerMetadata } from './provider-metadata.ts'

/** Time for the user to sign in. */
const LOGIN_MS = 600_000
const MAX_LOGINS = 16

/** Characters of a provider's error text that are shown. */
const MAX_ERROR_CHARS = 300

const FORM_HEADERS = {
  'content-type': 'application/x-www-form-urlencoded',
  accept: 'application/json',
}
const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json' }

interface Login {
  readonly at: number
  readonly access: ProviderAccess
  readonly server: ServerMetadata
  readonly resource: string
  readonly redirectUri: string
  readonly clientId: string
  readonly verifier: string
}

export class Logins {
  readonly #fetches: LoginFetchers
  readonly #operators: readonly AdminAddress[]
  readonly #clock: Pick<typeof Date, 'now'>
  /** By the state parameter. All live equally long, so the one that is evicted for a new one is the next to expire. */
  readonly #open = new LRUMapWithDelete<string, Login>(MAX_LOGINS)

  /** `operators`: admin addresses of this process, which no document may name. */
  constructor(
    fetches: LoginFetchers,
    operators: readonly AdminAddress[] = [],
    clock: Pick<typeof Date, 'now'> = Date,
  ) {
    this.#fetches = fetches
    this.#operators = operators
    this.#clock = clock
  }

  /** Throws a LoginError. `redirectUri` must be the page's own. */
  async start(location: McpLocation, { redirectUri, clientId }: OAuthStart): Promise<OAuthStarted> {
    const config = location.route.policies.mcpAuthentication
    if (config === null) throw new LoginError('this backend has no mcpAuthentication', 'request')
    const { resource } = config.resourceMetadata
    const hosts = { issuer: config.issuer, resource, operators: this.#operators }
    const access = new ProviderAccess(this.#fetches, destinationOf(location), hosts)
    const server = await fetchServerMetadata(config, access)
    const client = clientId ?? (await registerClient(server, redirectUri, access))
    const verifier = randomText()
    const state = randomText()
    const at = this.#clock.now()
    this.#open.set(state, { at, access, server, resource, redirectUri, clientId: client, verifier })
    const url = new URL(server.authorization)
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const parameters = {
      response_type: 'code',
      client_id: client,
      redirect_uri: redirectUri,
      state,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      resource,
      ...(server.scopes.length === 0 ? {} : { scope: server.scopes.join(' ') }),
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return { url: url.href, state }
  }

  /** Throws a LoginError. Each login can be finished once. */
  async finish({ state, code, iss }: OAuthFinish): Promise<OAuthFinished> {
    const login = this.#take(state)
    const { access, server, resource, redirectUri, clientId, verifier } = login
    if (!isExpectedIssuer(server, iss))
      throw new LoginError('the redirect names another authorization server')
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: clientId,
      code_verifier: verifier,
      resource,
    })
    const options = { method: 'POST', headers: FORM_HEADERS, body: form.toString() } as const
    const answer = await access.fetch(server.token, options)
    const granted = parseMembers(answer, 'no token', 'provider', [code, verifier])
    const { access_token: token, token_type: type, expires_in: seconds, scope } = granted
    if (typeof token !== 'string' || token === '')
      throw new LoginError('the provider gave no access token')
    if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
      throw new LoginError('the provider gave a token that is not of type Bearer')
    return {
      accessToken: token,
      expiresIn: typeof seconds === 'number' ? seconds : null,
      scope: typeof scope === 'string' ? scope : null,
    }
  }

  #take(state: string): Login {
    const login = this.#open.remove(state, undefined)
    if (login === undefined || login.at < this.#clock.now() - LOGIN_MS)
      throw new LoginError('unknown login: it was finished or took too long', 'request')
    return login
  }
}

/** RFC 9207: a redirect that names its issuer must name the expected one, even if the metadata did not announce it. */
function isExpectedIssuer({ issuers, sendsIssuer }: ServerMetadata, iss: string | null): boolean {
  return iss === null ? !sendsIssuer : issuers.length === 0 || issuers.includes(iss)
}

async function registerClient(
  { registration, scopes }: ServerMetadata,
  redirectUri: string,
  access: ProviderAccess,
): Promise<string> {
  if (registration === null)
    throw new LoginError(
      'the provider does not register clients: enter the id of a public client with this redirect URI',
      'client',
    )
  const client = {
    client_name: 'gateway playground',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
  }
  const body = JSON.stringify(client)
  const answer = await access.fetch(registration, { method: 'POST', headers: JSON_HEADERS, body })
  const { client_id: id } = parseMembers(answer, 'no registration', 'client')
  if (typeof id !== 'string' || id === '') throw new LoginError('no registration: no client_id')
  return id
}

/** Throws with the provider's error text where it refuses (RFC 6749 5.2, RFC 7591 3.2.2), without repeated secrets. */
function parseMembers(
  { status, text }: FetchedText,
  failure: string,
  kind: LoginErrorKind,
  secrets: readonly string[] = [],
): Members {
  const members = parseJsonObject(text) ?? {}
  if (status === 200 || status === 201) return members
  const errorTexts = [members['error'], members['error_description']].filter(
    (text) => typeof text === 'string',
  )
  const shown = secrets.reduce(
    (text, secret) => text.replaceAll(secret, '…'),
    errorTexts.join(': '),
  )
  const reason = shown.slice(0, MAX_ERROR_CHARS) || `status ${status}`
  throw new LoginError(`${failure}: ${reason}`, kind)
}

function randomText(): string {
  return randomBytes(32).toString('base64url')
}
