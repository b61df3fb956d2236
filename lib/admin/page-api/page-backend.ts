// The page on a gateway's listener: answered in this process, like a backend that is always there.

import { hostOfAuthority, isLoopback } from '../../core/addresses.ts'
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
import { findCrossSiteRefusal } from '../other-sites.ts'
import type { BrowserHeader } from '../other-sites.ts'
import type { UiPlace } from './page-api-types.ts'
import { createErrorResponse } from './page-request.ts'
import type { UiHeaders, UiRequest, UiResponse } from './page-request.ts'

/** A browser would keep it for good otherwise. */
const REDIRECT_TO_PAGE: UiHeaders = [
  ['location', UI_PATH],
  ['cache-control', 'no-store'],
]

/** The page's server, here or in another process. Null for a path that is not one of its own. */
export interface UiServer {
  answer(ask: UiRequest, place: UiPlace): UiResponse | null | Promise<UiResponse>
}

/** `loopback`: a web page could reach it by a name of its own that it points there, and nobody is asked who they are. */
export type UiHosts = 'any' | 'loopback'

/** Which pages may ask, besides its own. */
export interface UiAccess {
  readonly hosts: UiHosts
  /** Origins that the configuration lets read it. */
  readonly allowsOrigin: (origin: string) => boolean
}

const FOREIGN_HOST_TEXT =
  'forbidden: the web UI answers to loopback names only here, as long as there is no credential with mode: strict in ui.policies and no hostname of the listener'

export class UiBackend implements Backend {
  readonly endpoint = UI_ENDPOINT
  readonly #ui: () => UiServer
  readonly #access: UiAccess

  constructor(ui: () => UiServer, door: UiAccess) {
    this.#ui = ui
    this.#access = door
  }

  call({ request }: Exchange, attempt: Attempt): void {
    const { method, path, query } = request
    const refusal = checkUiRequest(request, this.#access)
    if (refusal !== null) return attempt.answer(createUiReply(createErrorResponse(403, refusal)))
    if (path === '/') return attempt.answer(buildReply(308, REDIRECT_TO_PAGE))
    const ifNoneMatch = request.getAll('if-none-match').join(', ') || undefined
    const acceptEncoding = request.getAll('accept-encoding').join(', ') || undefined
    const ask = { method, path, query: new URLSearchParams(query), ifNoneMatch, acceptEncoding }
    const answer = this.#ui().answer(ask, 'listener')
    if (answer instanceof Promise) void answer.then((told) => attempt.answer(createUiReply(told)))
    else attempt.answer(createUiReply(answer ?? createErrorResponse(404, 'not found')))
  }
}

function checkUiRequest(request: RequestHead, { hosts, allowsOrigin }: UiAccess): string | null {
  const { method, path, authority } = request
  if (hosts === 'loopback' && !isLoopback(hostOfAuthority(authority))) return FOREIGN_HOST_TEXT
  const field = (name: BrowserHeader): string | undefined => {
    const all = request.getAll(name)
    return all.length === 0 ? undefined : all.join(', ')
  }
  const origin = field('origin')
  if (origin !== undefined && allowsOrigin(origin)) return null
  return findCrossSiteRefusal({ method, path, header: field }, 'the web UI', (one) =>
    isSameHost(one, authority),
  )
}

/** Whatever their schemes: somebody in front may speak TLS for the listener. */
function isSameHost(origin: string, authority: string): boolean {
  if (!URL.canParse(origin)) return false
  const { protocol, host } = new URL(origin)
  const own = `${protocol}//${authority}`
  return host !== '' && URL.canParse(own) && new URL(own).host === host
}

function createUiReply(answer: UiResponse): Reply {
  if (answer.kind === 'whole') return buildReply(answer.status, answer.fields, answer.content)
  const head = buildResponseHead(200, [...EVENT_STREAM_HEADERS, ['date', new Date().toUTCString()]])
  return { head, body: new UiEventBody(answer.open, DEFAULT_KEEP_ALIVE_TIMING), tunnel: null }
}

// An event stream on a gateway's listener: what is written leaves in the same tick, or waits while the client takes no
// more.

/** `unread`: nobody has asked for it yet. `held`: the client takes no more for now. */
type UiEventBodyState = 'unread' | 'flowing' | 'held' | 'over'

export class UiEventBody implements Body, EventWriter {
  readonly framing: BodyFraming = 'open'
  readonly length = -1
  readonly #open: (out: EventWriter) => () => void
  readonly #pace: KeepAliveTiming
  #state: UiEventBodyState = 'unread'
  #rest: 'open' | 'last' = 'open'
  #sink: Sink | null = null
  /** Bounded by whoever looks after it. */
  #queue: string[] = []
  #roomCallbacks: (() => void)[] = []
  #kept: KeepAliveWriter | null = null
  #leave: (() => void) | null = null

  /** `open` is called when it is read, or never; what that returns is called once nobody reads it any more. */
  constructor(open: (out: EventWriter) => () => void, pace: KeepAliveTiming) {
    this.#open = open
    this.#pace = pace
  }

  get isFull(): boolean {
    return this.#state === 'held'
  }

  start(sink: Sink, _form: BodyForm): void {
    if (this.#state !== 'unread') return
    this.#sink = sink
    this.#state = 'flowing'
    this.#kept = new KeepAliveWriter(this, this.#pace)
    this.#leave = this.#open(this.#kept)
    // The client may have left, or the source ended, in the meantime.
    if (this.#isOver) this.#part()
  }

  pause(): void {
    if (this.#state === 'flowing') this.#state = 'held'
  }

  resume(): void {
    if (this.#state !== 'held') return
    this.#state = 'flowing'
    this.#flush()
    if (this.#state === 'flowing') for (const act of this.#roomCallbacks) act()
  }

  cancel(): void {
    this.#close()
  }

  write(text: string): void {
    if (this.#isOver || this.#rest === 'last') return
    this.#queue.push(text)
    this.#flush()
  }

  onDrain(act: () => void): void {
    this.#roomCallbacks.push(act)
  }

  end(): void {
    this.#rest = 'last'
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
    if (this.#state !== 'flowing' || this.#rest === 'open') return
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
    this.#roomCallbacks = []
    this.#part()
  }

  #part(): void {
    this.#kept?.close()
    const leave = this.#leave
    this.#leave = null
    leave?.()
  }
}
