// Who waits to see a request, in the order they came; each sees one.

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
  /** Which request it waits for; null for any. */
  readonly wanted: Expression | null
}

export class TraceWatchers {
  readonly #terms: () => TraceSettings
  readonly #waiting: WaitingWatcher[] = []
  readonly #most: number
  readonly #refusals: RefusalCounter | null

  constructor(
    terms: () => TraceSettings,
    most = MAX_TRACE_WATCHERS,
    refusals: RefusalCounter | null = null,
  ) {
    this.#terms = terms
    this.#most = most
    this.#refusals = refusals
  }

  get count(): number {
    return this.#waiting.length
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#most
  }

  /** What one more is told where there are too many. */
  refuse(): string {
    this.#refusals?.count('maxWatchers', this.#most)
    return `too many watchers: ${this.#most} wait already (config.trace.maxWatchers)`
  }

  /** What takes it back; null when there are too many already. */
  add(reader: TraceReader, wanted: Expression | null): (() => void) | null {
    if (this.isFull) return null
    const waiting = { reader, wanted }
    this.#waiting.push(waiting)
    return () => {
      const at = this.#waiting.indexOf(waiting)
      if (at >= 0) this.#waiting.splice(at, 1)
    }
  }

  /** For the first who waits for such a request; called only when somebody does. */
  attachTrace(exchange: Exchange): void {
    const at = this.#waiting.findIndex(
      ({ wanted }) => wanted === null || wanted.holds(new ExpressionView(exchange)),
    )
    if (at < 0) return
    const [{ reader }] = this.#waiting.splice(at, 1) as [WaitingWatcher]
    const trace = new TraceRecorder(exchange, reader, this.#terms())
    exchange.trace = trace
    trace.start()
  }
}

// Somebody wants to see a request: whether that can be had, and its stream when it can.

export type WatchDecision =
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string }
  /** What it returns ends the watch. */
  | { readonly kind: 'granted'; readonly open: (out: EventWriter) => () => void }

/** Who asks to see a request; `source` as below. */
export type DecideWatch = (source: string | null) => WatchDecision

/** `source` is an expression that picks the request; null for the next one, whichever it is. */
export function decideWatch(watchers: TraceWatchers, source: string | null): WatchDecision {
  try {
    const wanted = source === null ? null : compileExpression(source, 'trace')
    if (watchers.isFull) return refuseWatch(503, watchers.refuse())
    const open = (out: EventWriter): (() => void) => {
      const stream = new TraceStream(out)
      const leave = watchers.add(stream, wanted)
      // Others came between the question and its answer.
      if (leave === null) out.end()
      return () => {
        leave?.()
        stream.close()
      }
    }
    return { kind: 'granted', open }
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    return refuseWatch(400, `invalid expression: ${error.message}`)
  }
}

function refuseWatch(status: number, reason: string): WatchDecision {
  return { kind: 'refused', status, reason }
}

// One request, told event by event to a reader that may be slow: what waits is bounded, and what is dropped is counted.

/** What waits for a slow watcher; what comes above that is dropped, counted, and told. */
export const MAX_QUEUED_TRACE_EVENTS = 1_024
export const MAX_QUEUED_TRACE_BYTES = 16_777_216

/** A text, or a body that becomes one when it is written: off the way of the request it was copied from. */
interface QueuedEvent {
  readonly event: TraceEvent | string
  readonly weight: number
}

export class TraceStream implements TraceReader {
  readonly #out: EventWriter
  #queue: QueuedEvent[] = []
  #weight = 0
  #dropped = 0
  /** `ending`: all is in the queue. */
  #state: 'open' | 'ending' | 'over' = 'open'
  #pumping: 'idle' | 'soon' | 'full' = 'idle'

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
    if (this.#dropped > 0) this.#tellDropped(event)
    this.#push(event)
  }

  onFinished(): void {
    if (this.#state !== 'open') return
    this.#state = 'ending'
    this.#soon()
  }

  /** The watcher is gone. */
  close(): void {
    this.#state = 'over'
    this.#queue = []
  }

  #isFull(weight: number): boolean {
    if (this.#queue.length >= MAX_QUEUED_TRACE_EVENTS) return true
    // A body that is larger than that all alone was wished for so large.
    return this.#queue.length > 0 && this.#weight + weight > MAX_QUEUED_TRACE_BYTES
  }

  #tellDropped(event: TraceEvent): void {
    const count = this.#dropped
    this.#dropped = 0
    this.#push({ ...event, severity: 'warn', message: { type: 'eventsDropped', count } })
  }

  #push(event: TraceEvent): void {
    const { message } = event
    const queued =
      message.type === 'bodySnapshot'
        ? { event, weight: message.encodedLength }
        : queueAsText(event)
    this.#queue.push(queued)
    this.#weight += queued.weight
    this.#soon()
  }

  /** Not at once: the request goes first. */
  #soon(): void {
    if (this.#pumping !== 'idle') return
    this.#pumping = 'soon'
    setImmediate(() => this.#pump())
  }

  #pump(): void {
    this.#pumping = 'idle'
    if (this.#state === 'over') return
    while (this.#queue.length > 0) {
      if (this.#out.isFull) {
        this.#pumping = 'full'
        return
      }
      const { event, weight } = this.#queue.shift()!
      this.#weight -= weight
      this.#out.write(typeof event === 'string' ? sseDataOf(event) : formatBodyEvent(event))
    }
    if (this.#state === 'ending') this.#out.end()
  }
}

function queueAsText(event: TraceEvent): QueuedEvent {
  const text = formatTraceEvent(event)
  return { event: text, weight: text.length }
}

function sseDataOf(text: string): string {
  return `data: ${text}\n\n`
}

/** A body that cannot be shown, for one that is too long for a text, is told without it. */
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
    const told = sseDataOf(formatTraceEvent(dropped))
    if (message.type !== 'bodySnapshot') return told
    const empty = new BodySnapshot(message.stage, Buffer.alloc(0), message.bytes)
    return sseDataOf(formatTraceEvent({ ...event, message: empty })) + told
  }
}
