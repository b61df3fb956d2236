// The endpoints of the playground: requests to MCP backends and logins at their providers. They are on the admin interface
// only, because they send requests to listeners from this machine.

import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { AdminAddress } from '../../config/config-types.ts'
import type { EndpointTable, EndpointHandler } from '../endpoint-types.ts'
import { createFetcher } from '../../http/fetch-document.ts'
import { parseJsonObject } from '../../text/json-edit.ts'
import { hostOfAuthority, isLoopback } from '../../core/addresses.ts'
import { SIGNED_IN_PATH } from '../../core/well-known-paths.ts'
import type { OAuthFinish, OAuthStart } from '../page-api/page-api-types.ts'
import type { McpLocation } from '../page-api/mcp-locations.ts'
import { LoginError } from './provider-access.ts'
import type { Members, LoginErrorKind } from './provider-access.ts'
import { Logins } from './provider-logins.ts'
import { isJson, refuse, PlaygroundRelay, reply } from './playground-relay.ts'

export interface Playground {
  readonly endpoints: EndpointTable
  readonly close: () => void
}

/** The size limit of a request body for a login. */
const MAX_BODY_BYTES = 65_536

/** Logins that wait for their provider at the same time. */
const MAX_IN_PROGRESS = 4

const STATUSES: Readonly<Record<LoginErrorKind, number>> = {
  provider: 502,
  request: 400,
  client: 422,
}

type ListLocations = () => readonly McpLocation[]

/** `locations`: of the configuration in force. `operators`: admin addresses of this process, which no login may call. */
export function createPlayground(
  locations: ListLocations,
  operators: readonly AdminAddress[] = [],
): Playground {
  const provider = createFetcher()
  const gateway = createFetcher('self')
  const publicHosts = createFetcher('unconfigured')
  const fetches = { provider: provider.fetch, gateway: gateway.fetch, public: publicHosts.fetch }
  const logins = new Logins(fetches, operators)
  const relay = new PlaygroundRelay(locations)
  const forward: EndpointHandler = (request, response, url) => relay.serve(request, response, url)
  const oauth = createOAuthHandlers(logins, locations)
  return {
    endpoints: {
      '/api/playground': { GET: forward, POST: forward, DELETE: forward },
      '/api/oauth/start': { POST: oauth.start },
      '/api/oauth/finish': { POST: oauth.finish },
    },
    close: () => {
      for (const fetcher of [provider, gateway, publicHosts]) fetcher.close()
    },
  }
}

function createOAuthHandlers(
  logins: Logins,
  locations: ListLocations,
): Record<'start' | 'finish', EndpointHandler> {
  let inProgress = 0
  const createHandler =
    (run: (body: Members, request: IncomingMessage) => Promise<unknown>): EndpointHandler =>
    async (request, response) => {
      if (inProgress >= MAX_IN_PROGRESS) return refuse(response, 503, 'too many logins at once')
      inProgress++
      try {
        reply(response, 200, await run(await readBody(request), request))
      } catch (error) {
        if (!(error instanceof LoginError)) throw error
        refuse(response, STATUSES[error.kind], error.message)
      } finally {
        inProgress--
      }
    }
  return {
    start: createHandler((body, { headers: { host = '' } }) => {
      const start = parseStart(body, host)
      const location = locations().find(({ backend }) => backend.key === start.backend)
      if (location === undefined) throw new LoginError('no such MCP backend', 'request')
      return logins.start(location, start)
    }),
    finish: createHandler((body) => logins.finish(parseFinish(body))),
  }
}

/** A login must return to the page that started it, on this machine, because the address contains the code. */
function parseStart({ backend, redirectUri, clientId }: Members, host: string): OAuthStart {
  if (typeof backend !== 'string' || typeof redirectUri !== 'string')
    throw new LoginError('backend and redirectUri must be strings', 'request')
  if (!isLoopback(hostOfAuthority(host)))
    throw new LoginError(
      'open this page at a loopback address to sign in, or paste a token',
      'request',
    )
  if (redirectUri !== `http://${host}${SIGNED_IN_PATH}`)
    throw new LoginError(`redirectUri is not ${SIGNED_IN_PATH} of this page`, 'request')
  const hasClient = typeof clientId === 'string' && clientId !== ''
  return { backend, redirectUri, ...(hasClient ? { clientId } : {}) }
}

function parseFinish({ state, code, iss }: Members): OAuthFinish {
  if (typeof state !== 'string' || typeof code !== 'string')
    throw new LoginError('state and code must be strings', 'request')
  return { state, code, iss: typeof iss === 'string' ? iss : null }
}

async function readBody(request: IncomingMessage): Promise<Members> {
  const { headers } = request
  const length = Number(headers['content-length'] ?? NaN)
  if (!isJson(headers) || !(length <= MAX_BODY_BYTES))
    throw new LoginError('expected a small JSON body with a content-length', 'request')
  const body = parseJsonObject((await buffer(request)).toString())
  if (body === null) throw new LoginError('expected a JSON object', 'request')
  return body
}
