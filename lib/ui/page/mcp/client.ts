// A small MCP client over Streamable HTTP: one session, its requests and what is heard beside them. It knows nothing of
// the page; how requests travel it is told.

import { faultOf, passOver, readMessages } from './answer.ts'
import { HttpFault, textOf } from './messages.ts'
import type { Incoming, Members } from './messages.ts'

export type Method = 'POST' | 'GET' | 'DELETE'

export interface Travelling {
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** How a request reaches the server. */
export type Way = (method: Method, travelling: Travelling) => Promise<Response>

export interface Progress {
  readonly progress: number
  readonly total: number | null
  readonly message: string
}

export interface RequestOptions {
  /** Tells the server that nobody waits any more. */
  readonly signal?: AbortSignal
  readonly progress?: (progress: Progress) => void
}

export interface ClientOptions {
  readonly way: Way
  /** '' for none. `Bearer` unless it names another scheme. */
  readonly token: string
  /** What the server says that is no answer. */
  readonly hear: (method: string, params: Members) => void
  /** The session had ended, and another one began. */
  readonly begun: () => void
}

const VERSION = '2025-11-25'
const NAME = { name: 'gateway-playground', title: 'Playground of the gateway', version: '1' }

/** An ear that is closed again and again is not opened again and again. */
const MAX_TRIES = 5
const RETRY_MS = 2_000

const ACCEPT = 'application/json, text/event-stream'
const METHOD_NOT_FOUND = -32601

export class McpClient {
  readonly #options: ClientOptions
  /** Of what is heard unasked, in this session. */
  #ear = new AbortController()
  #session = ''
  #version = ''
  #nextId = 1
  #state: 'new' | 'open' | 'closed' = 'new'

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** '' where the server has none. */
  get session(): string {
    return this.#session
  }

  /** What is sent beside the credential, for those who want to send it by other means. */
  get headers(): Readonly<Record<string, string>> {
    return {
      'content-type': 'application/json',
      accept: ACCEPT,
      ...(this.#session === '' ? {} : { 'mcp-session-id': this.#session }),
      ...(this.#version === '' ? {} : { 'mcp-protocol-version': this.#version }),
    }
  }

  /** The server's answer to `initialize`. Throws an RpcFault, an HttpFault or what `fetch` throws. */
  async connect(signal?: AbortSignal): Promise<Members> {
    const greeting = await this.#begin(signal)
    this.#state = 'open'
    return greeting
  }

  async request(
    method: string,
    params: Members = {},
    options: RequestOptions = {},
  ): Promise<Members> {
    try {
      return await this.#ask(method, params, options)
    } catch (error) {
      const isGone = error instanceof HttpFault && error.status === 404 && this.#session !== ''
      if (!isGone || this.#state !== 'open') throw error
    }
    // The server has forgotten the session: a client begins anew, once.
    await this.#begin(options.signal)
    this.#options.begun()
    return this.#ask(method, params, options)
  }

  async notify(method: string, params: Members = {}): Promise<void> {
    await passOver(await this.#post({ method, params }))
  }

  /** Ends the session; also from a page that is about to go. */
  close(): void {
    const isOpen = this.#state === 'open' && this.#session !== ''
    this.#state = 'closed'
    this.#ear.abort()
    if (!isOpen) return
    this.#options.way('DELETE', { headers: this.#sent }).catch(() => {})
  }

  get #sent(): Readonly<Record<string, string>> {
    const { token } = this.#options
    if (token === '') return this.headers
    const authorization = /^[\w-]+ \S/.test(token) ? token : `Bearer ${token}`
    return { ...this.headers, authorization }
  }

  async #begin(signal?: AbortSignal): Promise<Members> {
    this.#ear.abort()
    this.#session = ''
    this.#version = ''
    const params = { protocolVersion: VERSION, capabilities: {}, clientInfo: NAME }
    const greeting = await this.#ask('initialize', params, signal === undefined ? {} : { signal })
    this.#version = textOf(greeting['protocolVersion'])
    await this.notify('notifications/initialized')
    this.#ear = new AbortController()
    void this.#listen(this.#ear.signal)
    return greeting
  }

  async #ask(method: string, params: Members, options: RequestOptions): Promise<Members> {
    const id = this.#nextId++
    const { signal, progress } = options
    signal?.throwIfAborted()
    const whole = progress === undefined ? params : { ...params, _meta: { progressToken: id } }
    const leaving = new AbortController()
    const leave = (): void => {
      const told = { requestId: id, reason: 'cancelled by the user' }
      const isTold = method === 'initialize' ? Promise.resolve() : this.#cancelled(told)
      void isTold.finally(() => leaving.abort())
    }
    signal?.addEventListener('abort', leave, { once: true })
    const left = signal === undefined ? null : rejectedBy(signal)
    const found = this.#exchange({ id, method, params: whole }, id, leaving.signal, progress)
    try {
      return await (left === null ? found : Promise.race([found, left]))
    } finally {
      // Whoever comes second is heard by nobody.
      found.catch(() => {})
      left?.catch(() => {})
      signal?.removeEventListener('abort', leave)
    }
  }

  async #cancelled(params: Members): Promise<void> {
    await this.notify('notifications/cancelled', params).catch(() => {})
  }

  async #exchange(
    message: Members,
    id: number,
    signal: AbortSignal,
    progress?: RequestOptions['progress'],
  ): Promise<Members> {
    const response = await this.#post(message, signal)
    if (message['method'] === 'initialize')
      this.#session = response.headers.get('mcp-session-id') ?? ''
    let found: Members | Error | null = null
    await readMessages(response, (incoming) => {
      if (incoming.kind === 'answer' && incoming.id === id) found = incoming.result
      else if (incoming.kind === 'fault' && incoming.id === id) found = incoming.fault
      else this.#heard(incoming, (told) => told === id && progress !== undefined, progress)
      return found === null ? 'more' : 'enough'
    })
    if (found === null) throw new HttpFault(response.status, 'the stream ended before the answer')
    if ((found as Members | Error) instanceof Error) throw found as Error
    return found as Members
  }

  #heard(
    incoming: Incoming,
    isMine: (token: unknown) => boolean,
    progress?: RequestOptions['progress'],
  ): void {
    if (incoming.kind === 'request') return void this.#reply(incoming.id, incoming.method)
    if (incoming.kind !== 'notice') return
    const { method, params } = incoming
    if (method === 'notifications/progress' && isMine(params['progressToken'])) {
      const { progress: done, total, message } = params
      return progress?.({
        progress: typeof done === 'number' ? done : 0,
        total: typeof total === 'number' ? total : null,
        message: textOf(message),
      })
    }
    this.#options.hear(method, params)
  }

  /** A server may ask whether somebody is there; for all else this client is too small. */
  async #reply(id: unknown, method: string): Promise<void> {
    const isPing = method === 'ping'
    const error = { code: METHOD_NOT_FOUND, message: 'the playground does not do this' }
    if (!isPing) this.#options.hear(method, { note: 'asked by the server, and refused' })
    const reply = { id, ...(isPing ? { result: {} } : { error }) }
    await this.#post(reply).then(passOver, () => {})
  }

  async #post(message: Members, signal?: AbortSignal): Promise<Response> {
    const response = await this.#options.way('POST', {
      headers: this.#sent,
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      ...(signal === undefined ? {} : { signal }),
    })
    if (!response.ok) throw await faultOf(response)
    return response
  }

  /** What the server says unasked, as long as the session lasts; one that says nothing unasked refuses. */
  async #listen(signal: AbortSignal): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES && !signal.aborted; tries++) {
      try {
        const headers = { ...this.#sent, accept: 'text/event-stream' }
        const response = await this.#options.way('GET', { headers, signal })
        if (!response.ok) return await passOver(response)
        await readMessages(response, (incoming) => {
          tries = 0
          this.#heard(incoming, () => false)
          return 'more'
        })
      } catch {
        // Tried again below.
      }
      await pause(RETRY_MS, signal)
    }
  }
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('cancelled')), { once: true })
  })
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}
