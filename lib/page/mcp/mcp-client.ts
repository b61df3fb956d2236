// The playground's MCP client: the client of the MCP SDK, with the gateway's own errors, bounds and a new session when the
// server has forgotten the old one. The page loads this file when the first session is opened.

import './zod-without-eval.ts'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ErrorCode, McpError, ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type { JSONRPCMessage, Progress } from '@modelcontextprotocol/sdk/types.js'
import type {
  jsonSchemaValidator,
  JsonSchemaValidatorResult,
} from '@modelcontextprotocol/sdk/validation/types.js'
import { ZodError } from 'zod/v4'
import { TRACE_TOKEN_HEADER } from '../../trace-view/trace-token.ts'
import { HttpError, membersOf, RpcError, textOf } from './mcp-errors.ts'
import type { Members } from './mcp-errors.ts'

export type HttpMethod = 'POST' | 'GET' | 'DELETE'

export interface HttpMessage {
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** How a request reaches the server: by the relay of the admin interface, or directly. */
export type SendHttp = (method: HttpMethod, message: HttpMessage) => Promise<Response>

export interface CallProgress {
  readonly progress: number
  readonly total: number | null
  readonly message: string
}

export interface RequestOptions {
  /** Cancels the request, also at the server. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: CallProgress) => void
  /** Marks the POST of this request for a trace. */
  readonly traceToken?: string | undefined
}

export interface ClientOptions {
  readonly send: SendHttp
  /** '' for none. `Bearer` unless it names another scheme. */
  readonly token: string
  /** Called with notifications, and with requests of the server, which are refused. */
  readonly onNotification: (method: string, params: Members) => void
  /** Called when the session was lost and a new one was opened. */
  readonly onRestart: () => void
}

/** The transport wants a URL; `send` decides where requests go. */
const UNUSED_URL = new URL('http://playground.invalid/')
const CLIENT = { name: 'gateway-playground', title: 'Playground of the gateway', version: '1' }
const ACCEPT = 'application/json, text/event-stream'

/** The user decides how long to wait, so the SDK's own deadline of a minute does not apply. */
const REQUEST_TIMEOUT = 86_400_000
/** A target may have to be started first; the relay waits for 2 minutes. */
const CONNECT_TIMEOUT = 150_000

/** A response stream that stays open after the result would hold one of the browser's few connections. */
const STREAM_END_MS = 2_000

/** Of one JSON response, or one event of a stream. */
const MAX_MESSAGE_BYTES = 16_777_216
/** Of the text of a refusal, which is only shown. */
const MAX_REFUSAL_LENGTH = 2_000

/** A server that closes the notification stream again and again is not asked for ever. */
const RECONNECTION = {
  initialReconnectionDelay: 2_000,
  maxReconnectionDelay: 10_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 5,
}

/** A request in progress, by its JSON-RPC id. */
interface OpenRequest {
  readonly controller: AbortController
  readonly headers: Readonly<Record<string, string>>
  readonly fail: (error: Error) => void
}

/** Tells which id the SDK gave to the latest request. */
class NumberedTransport extends StreamableHTTPClientTransport {
  latestId: string | number = -1

  override send(
    message: JSONRPCMessage,
    options?: Parameters<StreamableHTTPClientTransport['send']>[1],
  ): Promise<void> {
    if ('method' in message && 'id' in message) this.latestId = message.id
    return super.send(message, options)
  }
}

export class McpClient {
  readonly #options: ClientOptions
  readonly #open = new Map<string | number, OpenRequest>()
  #client = newClient()
  #transport: NumberedTransport | null = null
  #state: 'new' | 'open' | 'closed' = 'new'

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** '' where the server has none. */
  get session(): string {
    return this.#transport?.sessionId ?? ''
  }

  /** The headers of a request without the credential, for a copy of it as a command. */
  get headers(): Readonly<Record<string, string>> {
    const version = this.#transport?.protocolVersion ?? ''
    return {
      'content-type': 'application/json',
      accept: ACCEPT,
      ...(this.session === '' ? {} : { 'mcp-session-id': this.session }),
      ...(version === '' ? {} : { 'mcp-protocol-version': version }),
    }
  }

  /** The server's result of `initialize`. Throws an RpcError, an HttpError or what `send` throws. */
  async connect(): Promise<Members> {
    await this.#start()
    this.#state = 'open'
    return {
      serverInfo: this.#client.getServerVersion(),
      capabilities: this.#client.getServerCapabilities(),
      instructions: this.#client.getInstructions(),
      protocolVersion: this.#transport?.protocolVersion,
    }
  }

  async request(
    method: string,
    params: Members = {},
    options: RequestOptions = {},
  ): Promise<Members> {
    try {
      return await this.#request(method, params, options)
    } catch (error) {
      const isLost = error instanceof HttpError && error.status === 404 && this.session !== ''
      if (!isLost || this.#state !== 'open') throw error
    }
    // MCP asks a client to open a new session when the server answers 404.
    await this.#start()
    this.#options.onRestart()
    return this.#request(method, params, options)
  }

  /** Ends the session. Sends at once, since the page may be about to close. */
  close(): void {
    const hadSession = this.#state === 'open' && this.session !== ''
    this.#state = 'closed'
    if (hadSession)
      this.#options
        .send('DELETE', { headers: { ...this.headers, ...this.#authorization } })
        .catch(() => {})
    void this.#client.close()
  }

  get #authorization(): Readonly<Record<string, string>> {
    const { token } = this.#options
    if (token === '') return {}
    return { authorization: /^[\w-]+ \S/.test(token) ? token : `Bearer ${token}` }
  }

  async #start(): Promise<void> {
    await this.#client.close()
    const client = newClient()
    client.fallbackNotificationHandler = async ({ method, params }) =>
      this.#options.onNotification(method, (params ?? {}) as Members)
    client.fallbackRequestHandler = async ({ method }) => {
      this.#options.onNotification(method, { note: 'the server asked for this; refused' })
      throw new McpError(ErrorCode.MethodNotFound, 'the playground does not support this')
    }
    const transport = new NumberedTransport(UNUSED_URL, {
      requestInit: { headers: this.#authorization },
      fetch: (_url, init) => this.#fetch(init ?? {}),
      reconnectionOptions: RECONNECTION,
    })
    this.#client = client
    this.#transport = transport
    try {
      await client.connect(transport, { timeout: CONNECT_TIMEOUT })
    } catch (error) {
      throw ownErrorOf(error)
    }
  }

  async #request(method: string, params: Members, options: RequestOptions): Promise<Members> {
    const { signal, onProgress, traceToken } = options
    signal?.throwIfAborted()
    const asked = this.#client.request({ method, params: { ...params } }, ResultSchema, {
      timeout: REQUEST_TIMEOUT,
      ...(signal === undefined ? {} : { signal }),
      ...(onProgress === undefined ? {} : { onprogress: (one) => onProgress(progressOf(one)) }),
    })
    const id = this.#transport?.latestId ?? -1
    const controller = new AbortController()
    const headers = traceToken === undefined ? {} : { [TRACE_TOKEN_HEADER]: traceToken }
    const failed = new Promise<never>(
      (_resolve, fail) => void this.#open.set(id, { controller, headers, fail }),
    )
    try {
      return await Promise.race([asked, failed])
    } catch (error) {
      throw signal?.aborted === true ? new Error('cancelled') : ownErrorOf(error)
    } finally {
      asked.catch(() => {})
      failed.catch(() => {})
      this.#open.delete(id)
      setTimeout(() => controller.abort(), STREAM_END_MS)
    }
  }

  /** The `fetch` of the transport. Refusals become errors of ours, and each POST can be ended alone. */
  async #fetch(init: RequestInit): Promise<Response> {
    const method = init.method as HttpMethod
    const body = typeof init.body === 'string' ? init.body : undefined
    const id = body === undefined ? undefined : idIn(body)
    const request = id === undefined ? undefined : this.#open.get(id)
    const signals = [init.signal, request?.controller.signal].filter((one) => one != null)
    const response = await this.#options.send(method, {
      headers: { ...Object.fromEntries(new Headers(init.headers)), ...request?.headers },
      ...(body === undefined ? {} : { body }),
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
    })
    if (method !== 'POST') return response
    if (!response.ok) throw await refusalOf(response)
    if (request === undefined || response.body === null) return response
    const { status, headers } = response
    return new Response(response.body.pipeThrough(boundedBody(response, request.fail)), {
      status,
      headers,
    })
  }
}

/** The SDK's usual validator is not part of the bundle. Results are shown without a check against the tool's schema. */
function newClient(): Client {
  const accept = <T>(value: unknown): JsonSchemaValidatorResult<T> => ({
    valid: true,
    data: value as T,
    errorMessage: undefined,
  })
  const jsonSchemaValidator: jsonSchemaValidator = { getValidator: () => accept }
  return new Client(CLIENT, { jsonSchemaValidator })
}

function progressOf(one: Progress): CallProgress {
  return { progress: one.progress, total: one.total ?? null, message: one.message ?? '' }
}

/** Of a request; undefined for a notification, a response and `initialize`, which has no other request next to it. */
function idIn(body: string): string | number | undefined {
  const { id, method } = JSON.parse(body) as { id?: string | number; method?: string }
  return method === undefined ? undefined : id
}

/** Fails the request when its response ends without a result, or has a message that is too long. */
function boundedBody(
  { status, headers }: Response,
  fail: (error: Error) => void,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  const isStream = /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')
  let size = 0
  let isLineStart = false
  return new TransformStream({
    transform: (chunk, controller) => {
      for (const byte of chunk) {
        size = isStream && byte === 10 && isLineStart ? 0 : size + 1
        isLineStart = byte === 10 || (byte === 13 && isLineStart)
      }
      if (size <= MAX_MESSAGE_BYTES) return controller.enqueue(chunk)
      const error = new RangeError('the response is too long')
      fail(error)
      controller.error(error)
    },
    flush: () => {
      // The last event is still on its way through the SDK's own streams.
      if (isStream)
        setTimeout(() => fail(new HttpError(status, 'the stream ended before the response')))
    },
  })
}

/** A refusal may be a JSON-RPC error, or text of the gateway or of a policy. */
async function refusalOf(response: Response): Promise<Error> {
  const { status } = response
  const text = (await response.text().catch(() => '')).slice(0, MAX_REFUSAL_LENGTH).trim()
  const { error, error_description: more } = membersOf(valueIn(text)) ?? {}
  if (typeof error === 'string')
    return new HttpError(status, [error, textOf(more)].filter((one) => one !== '').join(': '))
  const members = membersOf(error)
  if (members === null) return new HttpError(status, text)
  const message = textOf(members['message'])
  if (status === 404 || typeof members['code'] !== 'number') return new HttpError(status, message)
  return new RpcError(members['code'], message, members['data'])
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The SDK puts the code in front of the server's message, and reports an invalid message as a list of issues. */
function ownErrorOf(error: unknown): unknown {
  if (error instanceof McpError) {
    const { code, message, data } = error
    return new RpcError(code, message.replace(`MCP error ${code}: `, ''), data)
  }
  if (!(error instanceof ZodError)) return error
  const [issue] = error.issues
  const path = issue?.path.map(String).join('.') ?? ''
  return new Error(`the server sent an invalid message: ${path}: ${issue?.message ?? ''}`)
}
