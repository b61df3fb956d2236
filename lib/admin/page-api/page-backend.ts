// The web UI on a gateway's listener, as a backend that this process answers.

import { hostOfAuthority, isLoopback, isOriginOfHost } from '../../core/addresses.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { RequestHead } from '../../core/head.ts'
import { buildReply, buildResponseHead } from '../../core/replies.ts'
import type {
  Attempt,
  Backend,
  Body,
  BodyForm,
  BodyFraming,
  Reply,
  Sink,
} from '../../core/types.ts'
import { UI_ENDPOINT, UI_PATH } from '../../core/well-known-paths.ts'
import {
  DEFAULT_KEEP_ALIVE_TIMING,
  EVENT_STREAM_HEADERS,
  KeepAliveWriter,
} from '../../text/sse-output.ts'
import type { EventWriter, KeepAliveTiming } from '../../text/sse-output.ts'
import { findCrossSiteRefusal } from '../cross-site-guard.ts'
import type { BrowserHeader } from '../cross-site-guard.ts'
import type { UiInterface } from './page-api-types.ts'
import { createErrorResponse } from './page-request.ts'
import type { UiHeaders, UiRequest, UiResponse } from './page-request.ts'

/** Without no-store a browser would keep the redirect forever. */
const REDIRECT_TO_PAGE: UiHeaders = [
  ['location', UI_PATH],
  ['cache-control', 'no-store'],
]

/** The server of the web UI, in this process or another. Null for a path that it does not have. */
export interface UiServer {
  answer(request: UiRequest, via: UiInterface): UiResponse | null | Promise<UiResponse>
}

/** `loopback`: without authentication, a web page could reach the UI by DNS rebinding of its own name. */
export type UiHosts = 'any' | 'loopback'

/** The hosts and origins that may use the UI, in addition to its own pages. */
export interface UiAccess {
  readonly hosts: UiHosts
  /** Origins that the configuration allows to read it. */
  readonly allowsOrigin: (origin: string) => boolean
}

const FOREIGN_HOST_TEXT =
  'forbidden: Host must be a loopback name such as localhost for the web UI, unless ui.policies has a credential with mode: strict or the listener has a hostname'

export class UiBackend implements Backend {
  readonly endpoint = UI_ENDPOINT
  readonly #ui: () => UiServer
  readonly #access: UiAccess

  constructor(ui: () => UiServer, access: UiAccess) {
    this.#ui = ui
    this.#access = access
  }

  call({ request }: Exchange, attempt: Attempt): void {
    const { method, path, query } = request
    const refusal = checkUiRequest(request, this.#access)
    if (refusal !== null) return attempt.answer(createUiReply(createErrorResponse(403, refusal)))
    if (path === '/') return attempt.answer(buildReply(308, REDIRECT_TO_PAGE))
    const ifNoneMatch = request.getAll('if-none-match').join(', ') || undefined
    const acceptEncoding = request.getAll('accept-encoding').join(', ') || undefined
    const uiRequest = {
      method,
      path,
      query: new URLSearchParams(query),
      ifNoneMatch,
      acceptEncoding,
    }
    const answer = this.#ui().answer(uiRequest, 'listener')
    if (answer instanceof Promise)
      void answer.then((response) => attempt.answer(createUiReply(response)))
    else attempt.answer(createUiReply(answer ?? createErrorResponse(404, 'not found')))
  }
}

function checkUiRequest(request: RequestHead, { hosts, allowsOrigin }: UiAccess): string | null {
  const { method, path, authority, receivedAuthority } = request
  if (hosts === 'loopback' && !isLoopback(hostOfAuthority(authority))) return FOREIGN_HOST_TEXT
  const header = (name: BrowserHeader): string | undefined => {
    const all = request.getAll(name)
    return all.length === 0 ? undefined : all.join(', ')
  }
  const origin = header('origin')
  if (origin !== undefined && allowsOrigin(origin)) return null
  return findCrossSiteRefusal({ method, path, header }, 'the web UI', (one) =>
    isOriginOfHost(one, receivedAuthority),
  )
}

function createUiReply(answer: UiResponse): Reply {
  if (answer.kind === 'whole') return buildReply(answer.status, answer.fields, answer.content)
  const head = buildResponseHead(200, [...EVENT_STREAM_HEADERS, ['date', new Date().toUTCString()]])
  return { head, body: new UiEventBody(answer.open, DEFAULT_KEEP_ALIVE_TIMING), tunnel: null }
}

/** `unread`: not started yet. `held`: the client's connection is full. */
type UiEventBodyState = 'unread' | 'flowing' | 'held' | 'over'

/** An event stream on a gateway's listener: text is sent in the same tick, or queued while the client's connection is full. */
export class UiEventBody implements Body, EventWriter {
  readonly framing: BodyFraming = 'open'
  readonly length = -1
  readonly #open: (out: EventWriter) => () => void
  readonly #timing: KeepAliveTiming
  #state: UiEventBodyState = 'unread'
  #input: 'open' | 'ended' = 'open'
  #sink: Sink | null = null
  /** Limited by the `KeepAliveWriter`, which destroys a stream that stalls or overflows. */
  #queue: string[] = []
  #drainCallbacks: (() => void)[] = []
  #keepAlive: KeepAliveWriter | null = null
  #stop: (() => void) | null = null

  /** `open` is called when the body is read, if ever; the function that it returns is called when the client has left. */
  constructor(open: (out: EventWriter) => () => void, timing: KeepAliveTiming) {
    this.#open = open
    this.#timing = timing
  }

  get isFull(): boolean {
    return this.#state === 'held'
  }

  start(sink: Sink, _form: BodyForm): void {
    if (this.#state !== 'unread') return
    this.#sink = sink
    this.#state = 'flowing'
    this.#keepAlive = new KeepAliveWriter(this, this.#timing)
    this.#stop = this.#open(this.#keepAlive)
    // `open` may have ended the stream, or the client may have left.
    if (this.#isOver) this.#release()
  }

  pause(): void {
    if (this.#state === 'flowing') this.#state = 'held'
  }

  resume(): void {
    if (this.#state !== 'held') return
    this.#state = 'flowing'
    this.#flush()
    if (this.#state === 'flowing') for (const callback of this.#drainCallbacks) callback()
  }

  cancel(): void {
    this.#close()
  }

  write(text: string): void {
    if (this.#isOver || this.#input === 'ended') return
    this.#queue.push(text)
    this.#flush()
  }

  onDrain(callback: () => void): void {
    this.#drainCallbacks.push(callback)
  }

  end(): void {
    this.#input = 'ended'
    this.#flush()
  }

  destroy(): void {
    const sink = this.#sink
    this.#close()
    sink?.cut('idle')
  }

  #flush(): void {
    while (this.#state === 'flowing' && this.#queue.length > 0) {
      const bytes = Buffer.from(this.#queue.shift()!)
      if (!this.#sink!.write(bytes, 0, bytes.length)) this.pause()
    }
    if (this.#state !== 'flowing' || this.#input === 'open') return
    const sink = this.#sink!
    this.#close()
    sink.end(null)
  }

  get #isOver(): boolean {
    return this.#state === 'over'
  }

  #close(): void {
    this.#state = 'over'
    this.#sink = null
    this.#queue = []
    this.#drainCallbacks = []
    this.#release()
  }

  #release(): void {
    this.#keepAlive?.close()
    const stop = this.#stop
    this.#stop = null
    stop?.()
  }
}
