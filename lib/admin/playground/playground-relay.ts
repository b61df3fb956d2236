// Relays a request of the playground to the listener that serves the backend, and streams the response back.

import { request as requestHttp } from 'node:http'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { request as requestHttps } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { errorMessageOf } from '../../core/errors.ts'
import { isEventStream } from '../../text/sse-reader.ts'
import { TRACE_TOKEN_HEADER } from '../../trace-view/trace-token.ts'
import type { McpLocation } from '../page-api/mcp-locations.ts'
import type { ApiProblem } from '../page-api/page-api-types.ts'
import { destinationOf, isAllowedPath } from './listener-destination.ts'
import type { Destination } from './listener-destination.ts'

const MAX_BODY_BYTES = 4_194_304

/** Requests of all pages together: each page has a notification stream and some calls open. */
const MAX_IN_PROGRESS = 16

/** A target may have to be started, or even downloaded, before it responds. */
const HEAD_TIMEOUT_MS = 120_000

/** The gateway sends something on every stream well within this time. */
const IDLE_TIMEOUT_MS = 120_000

/** Headers of an MCP client in addition to `mcp-…`. Other headers of the browser, such as cookies, are not forwarded. */
const FORWARDED_HEADERS = [
  ...['content-type', 'accept', 'authorization', 'last-event-id'],
  TRACE_TOKEN_HEADER,
]
const RETURNED_HEADERS = ['www-authenticate', 'mcp-session-id', 'mcp-protocol-version', 'allow']

/** A browser must never show the response of a server as a page of the admin interface. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
}

type ListLocations = () => readonly McpLocation[]

export class PlaygroundRelay {
  readonly #locations: ListLocations
  #inProgress = 0

  /** `locations`: of the configuration in force. */
  constructor(locations: ListLocations) {
    this.#locations = locations
  }

  async serve(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const key = url.searchParams.get('backend') ?? ''
    const path = url.searchParams.get('path') ?? ''
    const location = this.#locations().find(({ backend }) => backend.key === key)
    if (location === undefined) return refuse(response, 404, 'no such MCP backend')
    if (!isAllowedPath(location, path))
      return refuse(response, 403, 'this path is not that of the backend')
    const refusal = checkRequest(request)
    if (refusal !== null) return refuse(response, ...refusal)
    if (this.#inProgress >= MAX_IN_PROGRESS)
      return refuse(
        response,
        503,
        `the playground already has ${MAX_IN_PROGRESS} requests in progress`,
      )
    this.#inProgress++
    try {
      await forward(request, response, { ...destinationOf(location), path })
    } finally {
      this.#inProgress--
    }
  }
}

/** A form of another site can post text, but not JSON, without a CORS preflight. */
function checkRequest({ method, headers }: IncomingMessage): readonly [number, string] | null {
  const length = Number(headers['content-length'] ?? 0)
  if (headers['transfer-encoding'] !== undefined) return [411, 'content-length is required']
  if (length > MAX_BODY_BYTES) return [413, `the body has more than ${MAX_BODY_BYTES} bytes`]
  if (method === 'POST' ? !isJson(headers) : length > 0)
    return [415, 'only POST may have a body, and it must be JSON']
  return null
}

async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  to: Destination & { readonly path: string },
): Promise<void> {
  // Read completely first: an early response must not cost the page its connection.
  const body = await buffer(request)
  const createRequest = to.protocol === 'https:' ? requestHttps : requestHttp
  const outgoing = createRequest({
    method: request.method,
    host: to.address,
    port: to.port,
    path: to.path,
    headers: {
      ...pickHeaders(request.headers, FORWARDED_HEADERS),
      ...(body.length === 0 ? {} : { 'content-length': body.length }),
      host: to.authority,
    },
    agent: false,
    // The other end is this process itself, so its certificate is not checked.
    rejectUnauthorized: false,
    ...(to.servername === '' ? {} : { servername: to.servername }),
  })
  // When the page disconnects, the request to the listener ends too.
  response.once('close', () => outgoing.destroy())
  try {
    outgoing.end(body)
    await sendResponse(await waitForResponse(outgoing), response)
  } catch (error) {
    outgoing.destroy()
    if (response.headersSent) return void response.destroy()
    refuse(response, 502, `the listener does not respond: ${errorMessageOf(error)}`)
  }
}

function waitForResponse(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const onTimeout = (): void => void outgoing.destroy(new Error('timeout'))
    const timer = setTimeout(onTimeout, HEAD_TIMEOUT_MS)
    outgoing.once('response', resolve).once('error', reject)
    outgoing.once('close', () => reject(new Error('it closed the connection')))
    outgoing.once('response', () => clearTimeout(timer)).once('close', () => clearTimeout(timer))
  })
}

async function sendResponse(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  incoming.setTimeout(IDLE_TIMEOUT_MS, () => incoming.destroy())
  const { 'content-type': type = 'text/plain' } = incoming.headers
  const safeType = isEventStream(type) || /^application\/json\b/i.test(type) ? type : 'text/plain'
  response.writeHead(incoming.statusCode ?? 502, {
    ...pickHeaders(incoming.headers, RETURNED_HEADERS),
    ...SECURITY_HEADERS,
    'content-type': safeType,
  })
  response.flushHeaders()
  await pipeline(incoming, response)
}

function pickHeaders(
  headers: IncomingMessage['headers'],
  names: readonly string[],
): Record<string, string> {
  const found = Object.entries(headers).filter(
    ([name, value]) =>
      typeof value === 'string' && (names.includes(name) || name.startsWith('mcp-')),
  )
  return Object.fromEntries(found) as Record<string, string>
}

/** Sends a response that the playground itself makes. */
export function reply(response: ServerResponse, status: number, value: unknown): void {
  const text = JSON.stringify(value)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(text)
}

export function refuse(response: ServerResponse, status: number, error: string): void {
  reply(response, status, { error } satisfies ApiProblem)
}

export function isJson(headers: IncomingHttpHeaders): boolean {
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';')
  return type.trim() === 'application/json'
}
