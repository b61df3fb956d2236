// The playground on the admin interface: requests to MCP backends, and logins at their providers. Nowhere else: it talks
// to listeners as somebody on this machine.

import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { AdminAddress } from '../../config/config-types.ts'
import type { EndpointTable, EndpointHandler } from '../../admin/endpoint-types.ts'
import { createFetcher } from '../../http/fetch-document.ts'
import { parseJsonObject } from '../../text/json-edit.ts'
import { hostOfAuthority, isLoopback } from '../../core/addresses.ts'
import { SIGNED_IN_PATH } from '../../core/well-known-paths.ts'
import type { OAuthFinish, OAuthStart } from '../../admin/page-api/page-api-types.ts'
import type { McpLocation } from '../../admin/page-api/mcp-locations.ts'
import { LoginProblem } from './login-problem.ts'
import type { ProblemKind } from './login-problem.ts'
import { Logins } from './logins.ts'
import { Relay } from './relay.ts'
import { isJson, refuse, reply } from './replies.ts'
import type { Members } from './web.ts'

export interface Playground {
  readonly endpoints: EndpointTable
  readonly close: () => void
}

/** Of what a page sends about a login. */
const MAX_ASKED_BYTES = 65_536

/** Logins that ask their provider just now. */
const MAX_UNDER_WAY = 4

const STATUSES: Readonly<Record<ProblemKind, number>> = { provider: 502, request: 400, client: 422 }

type Places = () => readonly McpLocation[]

/** `places`: those of the configuration in force. `operators`: addresses of this process where no login may lead. */
export function playground(places: Places, operators: readonly AdminAddress[] = []): Playground {
  const theirs = createFetcher()
  const ours = createFetcher('self')
  const strangers = createFetcher('unconfigured')
  const fetches = { theirs: theirs.fetch, ours: ours.fetch, strangers: strangers.fetch }
  const logins = new Logins(fetches, operators)
  const relay = new Relay(places)
  const hand: EndpointHandler = (request, response, url) => relay.serve(request, response, url)
  const oauth = oauthHandlers(logins, places)
  return {
    endpoints: {
      '/api/playground': { GET: hand, POST: hand, DELETE: hand },
      '/api/oauth/start': { POST: oauth.start },
      '/api/oauth/finish': { POST: oauth.finish },
    },
    close: () => {
      for (const one of [theirs, ours, strangers]) one.close()
    },
  }
}

function oauthHandlers(
  logins: Logins,
  places: Places,
): Record<'start' | 'finish', EndpointHandler> {
  let underWay = 0
  const answering =
    (work: (asked: Members, request: IncomingMessage) => Promise<unknown>): EndpointHandler =>
    async (request, response) => {
      if (underWay >= MAX_UNDER_WAY) return refuse(response, 503, 'too many logins at once')
      underWay++
      try {
        reply(response, 200, await work(await askedIn(request), request))
      } catch (error) {
        if (!(error instanceof LoginProblem)) throw error
        refuse(response, STATUSES[error.kind], error.message)
      } finally {
        underWay--
      }
    }
  return {
    start: answering((asked, { headers: { host = '' } }) => {
      const start = startOf(asked, host)
      const place = places().find(({ backend }) => backend.key === start.backend)
      if (place === undefined) throw new LoginProblem('no such MCP backend', 'request')
      return logins.start(place, start)
    }),
    finish: answering((asked) => logins.finish(finishOf(asked))),
  }
}

/** A login ends on the very page that began it, and on this machine: the code is in that address. */
function startOf({ backend, redirectUri, clientId }: Members, host: string): OAuthStart {
  if (typeof backend !== 'string' || typeof redirectUri !== 'string')
    throw new LoginProblem('backend and redirectUri are texts', 'request')
  if (!isLoopback(hostOfAuthority(host)))
    throw new LoginProblem(
      'open this page by a loopback name to sign in, or paste a token',
      'request',
    )
  if (redirectUri !== `http://${host}${SIGNED_IN_PATH}`)
    throw new LoginProblem(`redirectUri is not ${SIGNED_IN_PATH} of this page`, 'request')
  const hasClient = typeof clientId === 'string' && clientId !== ''
  return { backend, redirectUri, ...(hasClient ? { clientId } : {}) }
}

function finishOf({ state, code, iss }: Members): OAuthFinish {
  if (typeof state !== 'string' || typeof code !== 'string')
    throw new LoginProblem('state and code are texts', 'request')
  return { state, code, iss: typeof iss === 'string' ? iss : null }
}

async function askedIn(request: IncomingMessage): Promise<Members> {
  const { headers } = request
  const length = Number(headers['content-length'] ?? NaN)
  if (!isJson(headers) || !(length <= MAX_ASKED_BYTES))
    throw new LoginProblem('expected a small JSON body of known length', 'request')
  const asked = parseJsonObject((await buffer(request)).toString())
  if (asked === null) throw new LoginProblem('expected a JSON object', 'request')
  return asked
}
