// Hands a request of the page's playground to the listener that serves the backend, and the answer back as it comes.

import { request as askHttp } from 'node:http'
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { request as askHttps } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { errorMessageOf } from '../../core/errors.ts'
import { isEventStream } from '../../text/sse-reader.ts'
import type { McpLocation } from '../../admin/page-api/mcp-locations.ts'
import { destinationOf, mayAsk } from './destination.ts'
import type { Destination } from './destination.ts'
import { isJson, refuse } from './replies.ts'

const MAX_BODY_BYTES = 4_194_304

/** Those of all pages together: each has an ear open and some calls under way. */
const MAX_UNDER_WAY = 16

/** A target may have to be started, or even fetched, before there is an answer. */
const HEAD_DEADLINE = 120_000

/** The gateway says something on every stream well within this. */
const SILENCE_DEADLINE = 120_000

/** What an MCP client says beyond `mcp-…`; all else of the browser's stays here, its cookies among it. */
const SENT = ['content-type', 'accept', 'authorization', 'last-event-id']
const RETURNED = ['www-authenticate', 'mcp-session-id', 'mcp-protocol-version', 'allow']

/** Whatever a server sends, it is data of the page's and never a page of the admin interface. */
const GUARDS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
}

type Places = () => readonly McpLocation[]

export class Relay {
  readonly #places: Places
  #underWay = 0

  /** `places`: those of the configuration in force. */
  constructor(places: Places) {
    this.#places = places
  }

  async serve(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const key = url.searchParams.get('backend') ?? ''
    const path = url.searchParams.get('path') ?? ''
    const place = this.#places().find(({ backend }) => backend.key === key)
    if (place === undefined) return refuse(response, 404, 'no such MCP backend')
    if (!mayAsk(place, path)) return refuse(response, 403, 'this path does not lead to the backend')
    const fault = faultOf(request)
    if (fault !== null) return refuse(response, ...fault)
    if (this.#underWay >= MAX_UNDER_WAY)
      return refuse(response, 503, `the playground has ${MAX_UNDER_WAY} requests under way`)
    this.#underWay++
    try {
      await hand(request, response, { ...destinationOf(place), path })
    } finally {
      this.#underWay--
    }
  }
}

/** A form of another site can post text, but not JSON, without asking first. */
function faultOf({ method, headers }: IncomingMessage): readonly [number, string] | null {
  const length = Number(headers['content-length'] ?? 0)
  if (headers['transfer-encoding'] !== undefined) return [411, 'the length must be told']
  if (length > MAX_BODY_BYTES) return [413, `the body has more than ${MAX_BODY_BYTES} bytes`]
  if (method === 'POST' ? !isJson(headers) : length > 0)
    return [415, 'only POST has a body, and it is JSON']
  return null
}

async function hand(
  request: IncomingMessage,
  response: ServerResponse,
  to: Destination & { readonly path: string },
): Promise<void> {
  // Read whole: an answer that comes early must not cost the page its connection.
  const body = await buffer(request)
  const ask = to.protocol === 'https:' ? askHttps : askHttp
  const outgoing = ask({
    method: request.method,
    host: to.address,
    port: to.port,
    path: to.path,
    headers: {
      ...picked(request.headers, SENT),
      ...(body.length === 0 ? {} : { 'content-length': body.length }),
      host: to.authority,
    },
    agent: false,
    // It is ourselves at the other end, whatever the certificate says.
    rejectUnauthorized: false,
    ...(to.servername === '' ? {} : { servername: to.servername }),
  })
  // Whoever of the two leaves takes the other along.
  response.once('close', () => outgoing.destroy())
  try {
    outgoing.end(body)
    await back(await answerOf(outgoing), response)
  } catch (error) {
    outgoing.destroy()
    if (response.headersSent) return void response.destroy()
    refuse(response, 502, `the listener does not answer: ${errorMessageOf(error)}`)
  }
}

function answerOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const late = (): void => void outgoing.destroy(new Error('it took too long'))
    const timer = setTimeout(late, HEAD_DEADLINE)
    outgoing.once('response', resolve).once('error', reject)
    outgoing.once('close', () => reject(new Error('it closed the connection')))
    outgoing.once('response', () => clearTimeout(timer)).once('close', () => clearTimeout(timer))
  })
}

async function back(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  answer.setTimeout(SILENCE_DEADLINE, () => answer.destroy())
  const { 'content-type': type = 'text/plain' } = answer.headers
  const shown = isEventStream(type) || /^application\/json\b/i.test(type) ? type : 'text/plain'
  response.writeHead(answer.statusCode ?? 502, {
    ...picked(answer.headers, RETURNED),
    ...GUARDS,
    'content-type': shown,
  })
  response.flushHeaders()
  await pipeline(answer, response)
}

function picked(
  headers: IncomingMessage['headers'],
  names: readonly string[],
): Record<string, string> {
  const found = Object.entries(headers).filter(
    ([name, value]) =>
      typeof value === 'string' && (names.includes(name) || name.startsWith('mcp-')),
  )
  return Object.fromEntries(found) as Record<string, string>
}
