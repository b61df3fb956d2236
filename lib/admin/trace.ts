// /debug/trace: the next request that passes, told step by step as an event stream. Which request it is is decided when it is
// accepted: an expression reads `request` and `source` then, and whatever is learnt later (`jwt`, `response`) is not there yet.

import type { ServerResponse } from 'node:http'
import { compile } from '../base/cel/compile.ts'
import type { Expression } from '../base/cel/compile.ts'
import { CelError } from '../base/cel/errors.ts'
import { BodySnapshot } from '../base/trace/body-copy.ts'
import { eventText } from '../base/trace/event-text.ts'
import type { TraceEvent } from '../base/trace/events.ts'
import type { TraceReader } from '../base/trace/trace.ts'
import type { Watchers } from '../base/trace/watchers.ts'
import { answer } from './server.ts'
import type { Endpoints, Handler } from './server.ts'

/** Without an event for so long, a comment shows that the stream lives. */
const KEEPALIVE_MS = 1_000

/** What waits for a slow watcher; what comes above that is dropped, counted, and told. */
export const MAX_QUEUED_EVENTS = 1_024
export const MAX_QUEUED_BYTES = 16_777_216

/** A watcher that takes nothing for so long is gone. */
const MAX_STALL_MS = 30_000

interface Pace {
  readonly keepAliveMs: number
  readonly maxStallMs: number
}

const PACE: Pace = { keepAliveMs: KEEPALIVE_MS, maxStallMs: MAX_STALL_MS }

export function traceEndpoints(watchers: Watchers): Endpoints {
  const watch: Handler = (request, response, url) => {
    request.resume()
    let wanted: Expression | null
    try {
      wanted = wantedOf(url)
    } catch (error) {
      if (!(error instanceof CelError)) throw error
      return answer(response, 400, `invalid expression: ${error.message}`)
    }
    const stream = new TraceStream(response)
    const leave = watchers.add(stream, wanted)
    if (leave === null)
      return answer(response, 503, `too many watchers: ${watchers.count} wait already`)
    response.on('close', () => {
      leave()
      stream.close()
    })
    stream.open()
  }
  return { '/debug/trace': { POST: watch, GET: watch } }
}

function wantedOf({ searchParams }: URL): Expression | null {
  const source = searchParams.get('expression')
  return source === null ? null : compile(source, 'trace')
}

/** A text, or a body that becomes one when it is written: off the way of the request it was copied from. */
interface Queued {
  readonly event: TraceEvent | string
  readonly weight: number
}

export class TraceStream implements TraceReader {
  readonly #response: ServerResponse
  readonly #timer: NodeJS.Timeout
  #queue: Queued[] = []
  #weight = 0
  #dropped = 0
  /** `ending`: all is in the queue. */
  #state: 'open' | 'ending' | 'over' = 'open'
  #pumping: 'idle' | 'soon' | 'full' = 'idle'
  /** Since when the watcher has taken nothing, counted by the timer. */
  #stalledMs = 0
  readonly #pace: Pace

  constructor(response: ServerResponse, pace = PACE) {
    this.#response = response
    this.#pace = pace
    this.#timer = setTimeout(() => this.#keepAlive(), pace.keepAliveMs).unref()
  }

  open(): void {
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
    })
    this.#response.on('drain', () => {
      this.#stalledMs = 0
      this.#pump()
    })
    this.#response.write(': ready\n\n')
  }

  event(event: TraceEvent): void {
    if (this.#state !== 'open') return
    const { message } = event
    const isLast = message.type === 'requestFinished'
    if (!isLast && this.#isFull(message.type === 'bodySnapshot' ? message.weight : 0)) {
      this.#dropped++
      return
    }
    if (this.#dropped > 0) this.#tellDropped(event)
    this.#push(event)
  }

  finished(): void {
    if (this.#state !== 'open') return
    this.#state = 'ending'
    this.#soon()
  }

  /** The watcher is gone. */
  close(): void {
    clearTimeout(this.#timer)
    this.#state = 'over'
    this.#queue = []
  }

  #isFull(weight: number): boolean {
    if (this.#queue.length >= MAX_QUEUED_EVENTS) return true
    // A body that is larger than that all alone was wished for so large.
    return this.#queue.length > 0 && this.#weight + weight > MAX_QUEUED_BYTES
  }

  #tellDropped(event: TraceEvent): void {
    const count = this.#dropped
    this.#dropped = 0
    this.#push({ ...event, severity: 'warn', message: { type: 'eventsDropped', count } })
  }

  #push(event: TraceEvent): void {
    const { message } = event
    const queued =
      message.type === 'bodySnapshot' ? { event, weight: message.weight } : written(event)
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
      if (this.#response.writableNeedDrain) {
        this.#pumping = 'full'
        return
      }
      const { event, weight } = this.#queue.shift()!
      this.#weight -= weight
      this.#response.write(typeof event === 'string' ? dataOf(event) : shownData(event))
      this.#timer.refresh()
    }
    if (this.#state === 'ending') this.#response.end()
  }

  #keepAlive(): void {
    if (this.#state === 'over') return
    this.#timer.refresh()
    const { writableNeedDrain, writableEnded } = this.#response
    // Behind the end of it only its close is waited for.
    if (!writableNeedDrain && !writableEnded) {
      this.#stalledMs = 0
      this.#response.write(': keepalive\n\n')
      return
    }
    this.#stalledMs += this.#pace.keepAliveMs
    if (this.#stalledMs < this.#pace.maxStallMs) return
    this.close()
    this.#response.destroy()
  }
}

function written(event: TraceEvent): Queued {
  const text = eventText(event)
  return { event: text, weight: text.length }
}

function dataOf(text: string): string {
  return `data: ${text}\n\n`
}

/** A body that cannot be shown, for one that is too long for a text, is told without it. */
function shownData(event: TraceEvent): string {
  try {
    return dataOf(eventText(event))
  } catch {
    const { message } = event
    const dropped = {
      ...event,
      severity: 'warn',
      message: { type: 'eventsDropped', count: 1 },
    } as const
    const told = dataOf(eventText(dropped))
    if (message.type !== 'bodySnapshot') return told
    const empty = new BodySnapshot(message.stage, Buffer.alloc(0), message.bytes)
    return dataOf(eventText({ ...event, message: empty })) + told
  }
}
