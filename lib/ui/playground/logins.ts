// Logins of the playground at the providers of MCP backends: authorization code with PKCE, as any MCP client does it. What
// belongs to one is kept here until it comes back, and its token goes to the page that asked, nowhere else.

import { createHash, randomBytes } from 'node:crypto'
import { LRUMapWithDelete } from 'mnemonist'
import type { AdminAddress } from '../../config/config-types.ts'
import { parseJsonObject } from '../../text/json-edit.ts'
import type {
  OAuthFinish,
  OAuthFinished,
  OAuthStart,
  OAuthStarted,
} from '../../admin/page-api/page-api-types.ts'
import type { McpLocation } from '../../admin/page-api/mcp-locations.ts'
import { destinationOf } from './destination.ts'
import { LoginProblem } from './login-problem.ts'
import type { ProblemKind } from './login-problem.ts'
import { metadataOf } from './oauth-metadata.ts'
import type { ServerMetadata } from './oauth-metadata.ts'
import { Web } from './web.ts'
import type { Fetched, Fetches, Members } from './web.ts'

/** People look for their password, but not for longer. */
const LOGIN_MS = 600_000
const MAX_LOGINS = 16

/** Letters of a provider's words that are shown. */
const MAX_WORDS = 300

const FORM = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
const JSON_BODY = { 'content-type': 'application/json', accept: 'application/json' }

interface Login {
  readonly at: number
  readonly web: Web
  readonly server: ServerMetadata
  readonly resource: string
  readonly redirectUri: string
  readonly clientId: string
  readonly verifier: string
}

export class Logins {
  readonly #fetches: Fetches
  readonly #operators: readonly AdminAddress[]
  readonly #clock: Pick<typeof Date, 'now'>
  /** By state. All live equally long, so the one that is dropped for a new one is the next to expire. */
  readonly #open = new LRUMapWithDelete<string, Login>(MAX_LOGINS)

  /** `operators`: addresses of this process where no document may lead. */
  constructor(
    fetches: Fetches,
    operators: readonly AdminAddress[] = [],
    clock: Pick<typeof Date, 'now'> = Date,
  ) {
    this.#fetches = fetches
    this.#operators = operators
    this.#clock = clock
  }

  /** Throws a LoginProblem. `redirectUri` is one of the page's own. */
  async start(place: McpLocation, { redirectUri, clientId }: OAuthStart): Promise<OAuthStarted> {
    const config = place.route.policies.mcpAuthentication
    if (config === null) throw new LoginProblem('this backend has no mcpAuthentication', 'request')
    const { resource } = config.resourceMetadata
    const homes = { issuer: config.issuer, resource, operators: this.#operators }
    const web = new Web(this.#fetches, destinationOf(place), homes)
    const server = await metadataOf(config, web)
    const client = clientId ?? (await registered(server, redirectUri, web))
    const verifier = randomText()
    const state = randomText()
    const at = this.#clock.now()
    this.#open.set(state, { at, web, server, resource, redirectUri, clientId: client, verifier })
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

  /** Throws a LoginProblem. Each login comes back once. */
  async finish({ state, code, iss }: OAuthFinish): Promise<OAuthFinished> {
    const login = this.#take(state)
    const { web, server, resource, redirectUri, clientId, verifier } = login
    if (!isFrom(server, iss))
      throw new LoginProblem('the answer comes from another authorization server')
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: clientId,
      code_verifier: verifier,
      resource,
    })
    const asked = { method: 'POST', headers: FORM, body: form.toString() } as const
    const answer = await web.ask(server.token, asked)
    const given = membersOf(answer, 'no token', 'provider', [code, verifier])
    const { access_token: token, token_type: type, expires_in: seconds, scope } = given
    if (typeof token !== 'string' || token === '')
      throw new LoginProblem('the provider gave no access token')
    if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
      throw new LoginProblem('the provider gave a token of another kind than Bearer')
    return {
      accessToken: token,
      expiresIn: typeof seconds === 'number' ? seconds : null,
      scope: typeof scope === 'string' ? scope : null,
    }
  }

  #take(state: string): Login {
    const login = this.#open.remove(state, undefined)
    if (login === undefined || login.at < this.#clock.now() - LOGIN_MS)
      throw new LoginProblem('no such login: it was finished, or took too long', 'request')
    return login
  }
}

/** RFC 9207: whoever names itself must be the one that was asked, whether it promised to name itself or not. */
function isFrom({ issuers, namesItself }: ServerMetadata, iss: string | null): boolean {
  return iss === null ? !namesItself : issuers.length === 0 || issuers.includes(iss)
}

async function registered(
  { registration, scopes }: ServerMetadata,
  redirectUri: string,
  web: Web,
): Promise<string> {
  if (registration === null)
    throw new LoginProblem(
      'the provider registers no clients: give the id of a public client that has this redirect URI',
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
  const answer = await web.ask(registration, { method: 'POST', headers: JSON_BODY, body })
  const { client_id: id } = membersOf(answer, 'no registration', 'client')
  if (typeof id !== 'string' || id === '') throw new LoginProblem('no registration: no client_id')
  return id
}

/** Throws with the provider's own words where it refuses (RFC 6749 5.2, RFC 7591 3.2.2), without secrets it repeats. */
function membersOf(
  { status, text }: Fetched,
  what: string,
  kind: ProblemKind,
  secrets: readonly string[] = [],
): Members {
  const members = parseJsonObject(text) ?? {}
  if (status === 200 || status === 201) return members
  const words = [members['error'], members['error_description']].filter(
    (one) => typeof one === 'string',
  )
  const said = secrets.reduce((all, one) => all.replaceAll(one, '…'), words.join(': '))
  const reason = said.slice(0, MAX_WORDS) || `status ${status}`
  throw new LoginProblem(`${what}: ${reason}`, kind)
}

function randomText(): string {
  return randomBytes(32).toString('base64url')
}
