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
import type { EventWriter } from '../text/sse-output.ts'
import { BodySnapshot } from './trace-bodies.ts'
import { TraceRecorder } from './trace-recorder.ts'
import type { TraceReader } from './trace-recorder.ts'
import type { TraceSettings } from './trace-request.ts'

interface WaitingWatcher {
  readonly reader: TraceReader
  /** Selects the request; null for the next one. */
  readonly filter: Expression | null
}

export class TraceWatchers {
  readonly #settings: () => TraceSettings
  readonly #waiting: WaitingWatcher[] = []
  readonly #maxWatchers: number
  readonly #refusals: RefusalCounter | null

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

  get isFull(): boolean {
    return this.#waiting.length >= this.#maxWatchers
  }

  /** Counts a refusal and returns its reason. */
  refuse(): string {
    this.#refusals?.count('maxWatchers', this.#maxWatchers)
    return `too many watchers: ${this.#maxWatchers} wait already (config.trace.maxWatchers)`
  }

  /** Returns a function that removes the watcher; null if there are too many. */
  add(reader: TraceReader, filter: Expression | null): (() => void) | null {
    if (this.isFull) return null
    const waiting = { reader, filter }
    this.#waiting.push(waiting)
    return () => {
      const at = this.#waiting.indexOf(waiting)
      if (at >= 0) this.#waiting.splice(at, 1)
    }
  }

  /** Traces the exchange for the first watcher whose filter matches; called only while watchers wait. */
  attachTrace(exchange: Exchange): void {
    const at = this.#waiting.findIndex(
      ({ filter }) => filter === null || filter.holds(new ExpressionView(exchange)),
    )
    if (at < 0) return
    const [{ reader }] = this.#waiting.splice(at, 1) as [WaitingWatcher]
    const trace = new TraceRecorder(exchange, reader, this.#settings())
    exchange.trace = trace
    trace.start()
  }
}

export type WatchDecision =
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string }
  /** The function that `open` returns ends the watch. */
  | { readonly kind: 'granted'; readonly open: (out: EventWriter) => () => void }

/** Decides on a request to watch; `source` as below. */
export type StartTrace = (source: string | null) => WatchDecision

/** `source` is an expression that selects the request; null for the next one. */
export function startTrace(watchers: TraceWatchers, source: string | null): WatchDecision {
  try {
    const filter = source === null ? null : compileExpression(source, 'trace')
    if (watchers.isFull) return refuseWatch(503, watchers.refuse())
    const open = (out: EventWriter): (() => void) => {
      const stream = new TraceStream(out)
      const remove = watchers.add(stream, filter)
      // Other watchers were added between the decision and the stream.
      if (remove === null) out.end()
      return () => {
        remove?.()
        stream.close()
      }
    }
    return { kind: 'granted', open }
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    return refuseWatch(400, `invalid expression: ${error.message}`)
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
