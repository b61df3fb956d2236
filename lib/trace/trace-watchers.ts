// Clients that wait for a trace, in the order of their requests; each gets one traced request as a stream of events.

import { MAX_TRACE_WATCHERS } from '../core/bounds.ts'
import type { Exchange } from '../core/exchange.ts'
import type { RefusalCounter } from '../core/refusal-counter.ts'
import { formatTraceEvent } from '../core/trace-events.ts'
import type { TraceEvent } from '../core/trace-events.ts'
import { compileExpression } from '../expressions/compile.ts'
import type { Expression } from '../expressions/compile.ts'
import { ExpressionView } from '../expressions/exchange-view.ts'
import { CelError } from '../expressions/expression-errors.ts'
import type { RequestHead } from '../core/head.ts'
import type { EventWriter } from '../text/sse-output.ts'
import { TRACE_TOKEN_HEADER } from '../trace-view/trace-token.ts'
import { BodySnapshot } from './trace-bodies.ts'
import { TraceRecorder } from './trace-recorder.ts'
import type { TraceReader } from './trace-recorder.ts'
import type { TraceSettings } from './trace-request.ts'

/** What selects the request of a trace. */
export interface TraceSelector {
  /** A CEL expression about the request; null for the next one. */
  readonly expression: string | null
  /** Only the request with this token in its header is traced; null for any. */
  readonly token: string | null
}

export function readTraceSelector(query: URLSearchParams): TraceSelector {
  return { expression: query.get('expression'), token: query.get('token') }
}

/** The query that `readTraceSelector` reads, with its question mark; '' if it would be empty. */
export function formatTraceSelector({ expression, token }: TraceSelector): string {
  const query = new URLSearchParams()
  if (expression !== null) query.set('expression', expression)
  if (token !== null) query.set('token', token)
  return query.size === 0 ? '' : `?${query.toString()}`
}

interface WaitingWatcher {
  readonly reader: TraceReader
  /** Selects the request; null for the next one. */
  readonly filter: Expression | null
  readonly token: string | null
}

/** A shorter token could be guessed. */
const TOKEN = /^[\w-]{32,128}$/

/** How long the header of a used token is still removed: curl sends it again after a redirect. */
const SPENT_TOKEN_MS = 60_000
/** The number of used tokens that are remembered. */
const MAX_SPENT_TOKENS = 64

export class TraceWatchers {
  readonly #settings: () => TraceSettings
  readonly #waiting: WaitingWatcher[] = []
  readonly #maxWatchers: number
  readonly #refusals: RefusalCounter | null
  /** Used and abandoned tokens, and when each is forgotten, on the clock of `performance.now()`. */
  readonly #spentTokens = new Map<string, number>()

  constructor(
    settings: () => TraceSettings,
    maxWatchers = MAX_TRACE_WATCHERS,
    refusals: RefusalCounter | null = null,
  ) {
    this.#settings = settings
    this.#maxWatchers = maxWatchers
    this.#refusals = refusals
  }

  get count(): number {
    return this.#waiting.length
  }

  /** Whether no request needs to be looked at. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#spentTokens.size === 0
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#maxWatchers
  }

  /** Counts a refusal and returns its reason. */
  refuse(): string {
    this.#refusals?.count('maxWatchers', this.#maxWatchers)
    return `too many watchers: ${this.#maxWatchers} wait already (config.trace.maxWatchers)`
  }

  /** Returns a function that removes the watcher; null if there are too many. */
  add(
    reader: TraceReader,
    filter: Expression | null,
    token: string | null = null,
  ): (() => void) | null {
    if (this.isFull) return null
    const waiting = { reader, filter, token }
    this.#waiting.push(waiting)
    return () => {
      const at = this.#waiting.indexOf(waiting)
      if (at >= 0) this.#remove(at)
    }
  }

  /** Traces the exchange for the first watcher that waits for such a request; not called while `isIdle`. */
  attachTrace(exchange: Exchange): void {
    const marked = this.#takeToken(exchange.request)
    const at = this.#waiting.findIndex(
      ({ filter, token }) =>
        token === marked && (filter === null || filter.holds(new ExpressionView(exchange))),
    )
    if (at < 0) return
    const { reader } = this.#remove(at)
    const trace = new TraceRecorder(exchange, reader, this.#settings())
    exchange.trace = trace
    trace.start()
  }

  /** Removes the watcher; a token is for one trace only. */
  #remove(at: number): WaitingWatcher {
    const [waiting] = this.#waiting.splice(at, 1) as [WaitingWatcher]
    if (waiting.token === null) return waiting
    this.#spentTokens.set(waiting.token, performance.now() + SPENT_TOKEN_MS)
    for (const [token] of this.#spentTokens)
      if (this.#spentTokens.size > MAX_SPENT_TOKENS) this.#spentTokens.delete(token)
    return waiting
  }

  /** Removes a known token from the request and returns it while a watcher waits for it; otherwise null. */
  #takeToken(request: RequestHead): string | null {
    for (const [token, until] of this.#spentTokens)
      if (until < performance.now()) this.#spentTokens.delete(token)
    const token = request.get(TRACE_TOKEN_HEADER)
    if (token === undefined) return null
    const isAwaited = this.#waiting.some((waiting) => waiting.token === token)
    if (!isAwaited && !this.#spentTokens.has(token)) return null
    request.remove(TRACE_TOKEN_HEADER)
    return isAwaited ? token : null
  }
}

export type WatchDecision =
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string }
  /** The function that `open` returns ends the watch. */
  | { readonly kind: 'granted'; readonly open: (out: EventWriter) => () => void }

/** Decides on a request to watch. */
export type StartTrace = (selector: TraceSelector) => WatchDecision

export function startTrace(watchers: TraceWatchers, selector: TraceSelector): WatchDecision {
  const { token } = selector
  try {
    const filter = checkTraceSelector(selector)
    if (watchers.isFull) return refuseWatch(503, watchers.refuse())
    const open = (out: EventWriter): (() => void) => {
      const stream = new TraceStream(out)
      const remove = watchers.add(stream, filter, token)
      // Other watchers were added between the decision and the stream.
      if (remove === null) out.end()
      return () => {
        remove?.()
        stream.close()
      }
    }
    return { kind: 'granted', open }
  } catch (error) {
    if (!(error instanceof InvalidSelector)) throw error
    return refuseWatch(400, error.message)
  }
}

/** The message says what is wrong with a selector. */
export class InvalidSelector extends Error {}

/** Returns the compiled expression; throws `InvalidSelector`. */
export function checkTraceSelector({ expression, token }: TraceSelector): Expression | null {
  if (token !== null && !TOKEN.test(token))
    throw new InvalidSelector('invalid token: expected 32 to 128 letters, digits, - or _')
  try {
    return expression === null ? null : compileExpression(expression, 'trace')
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    throw new InvalidSelector(`invalid expression: ${error.message}`, { cause: error })
  }
}

export function refuseWatch(status: number, reason: string): WatchDecision {
  return { kind: 'refused', status, reason }
}

/** Events and bytes queued for a slow watcher; further events are dropped and counted. */
export const MAX_QUEUED_TRACE_EVENTS = 1_024
export const MAX_QUEUED_TRACE_BYTES = 16_777_216

/** A formatted event, or one with a body that is formatted when it is sent: not while the request is served. */
interface QueuedEvent {
  readonly event: TraceEvent | string
  readonly size: number
}

/** Sends the events of one request to a reader that may be slow: the queue is bounded, and dropped events are counted. */
export class TraceStream implements TraceReader {
  readonly #out: EventWriter
  #queue: QueuedEvent[] = []
  #queuedBytes = 0
  #dropped = 0
  /** `ending`: all events are in the queue. */
  #state: 'open' | 'ending' | 'closed' = 'open'
  #pumping: 'idle' | 'scheduled' | 'full' = 'idle'

  constructor(out: EventWriter) {
    this.#out = out
    out.onDrain(() => this.#pump())
    out.write(': ready\n\n')
  }

  onEvent(event: TraceEvent): void {
    if (this.#state !== 'open') return
    const { message } = event
    const isLast = message.type === 'requestFinished'
    if (!isLast && this.#isFull(message.type === 'bodySnapshot' ? message.encodedLength : 0)) {
      this.#dropped++
      return
    }
    if (this.#dropped > 0) this.#pushDropped(event)
    this.#push(event)
  }

  onFinished(): void {
    if (this.#state !== 'open') return
    this.#state = 'ending'
    this.#schedulePump()
  }

  /** The watcher has disconnected. */
  close(): void {
    this.#state = 'closed'
    this.#queue = []
  }

  #isFull(size: number): boolean {
    if (this.#queue.length >= MAX_QUEUED_TRACE_EVENTS) return true
    // A single body over the bound is accepted: its size was configured.
    return this.#queue.length > 0 && this.#queuedBytes + size > MAX_QUEUED_TRACE_BYTES
  }

  #pushDropped(event: TraceEvent): void {
    const count = this.#dropped
    this.#dropped = 0
    this.#push({ ...event, severity: 'warn', message: { type: 'eventsDropped', count } })
  }

  #push(event: TraceEvent): void {
    const { message } = event
    const queued =
      message.type === 'bodySnapshot' ? { event, size: message.encodedLength } : queueAsText(event)
    this.#queue.push(queued)
    this.#queuedBytes += queued.size
    this.#schedulePump()
  }

  /** Not at once: the request has priority. */
  #schedulePump(): void {
    if (this.#pumping !== 'idle') return
    this.#pumping = 'scheduled'
    setImmediate(() => this.#pump())
  }

  #pump(): void {
    this.#pumping = 'idle'
    if (this.#state === 'closed') return
    while (this.#queue.length > 0) {
      if (this.#out.isFull) {
        this.#pumping = 'full'
        return
      }
      const { event, size } = this.#queue.shift()!
      this.#queuedBytes -= size
      this.#out.write(typeof event === 'string' ? sseDataOf(event) : formatBodyEvent(event))
    }
    if (this.#state === 'ending') this.#out.end()
  }
}

function queueAsText(event: TraceEvent): QueuedEvent {
  const text = formatTraceEvent(event)
  return { event: text, size: text.length }
}

function sseDataOf(text: string): string {
  return `data: ${text}\n\n`
}

/** A body that cannot be formatted because it is too long is reported without its content. */
function formatBodyEvent(event: TraceEvent): string {
  try {
    return sseDataOf(formatTraceEvent(event))
  } catch {
    const { message } = event
    const dropped = {
      ...event,
      severity: 'warn',
      message: { type: 'eventsDropped', count: 1 },
    } as const
    const notice = sseDataOf(formatTraceEvent(dropped))
    if (message.type !== 'bodySnapshot') return notice
    const empty = new BodySnapshot(message.stage, Buffer.alloc(0), message.bytes)
    return sseDataOf(formatTraceEvent({ ...event, message: empty })) + notice
  }
}
