// One request, told event by event to a reader that may be slow: what waits is bounded, and what is dropped is counted.

import type { EventOut } from '../sse/event-out.ts'
import { BodySnapshot } from './body-copy.ts'
import { eventText } from './event-text.ts'
import type { TraceEvent } from './events.ts'
import type { TraceReader } from './trace.ts'

/** What waits for a slow watcher; what comes above that is dropped, counted, and told. */
export const MAX_QUEUED_EVENTS = 1_024
export const MAX_QUEUED_BYTES = 16_777_216

/** A text, or a body that becomes one when it is written: off the way of the request it was copied from. */
interface Queued {
  readonly event: TraceEvent | string
  readonly weight: number
}

export class TraceStream implements TraceReader {
  readonly #out: EventOut
  #queue: Queued[] = []
  #weight = 0
  #dropped = 0
  /** `ending`: all is in the queue. */
  #state: 'open' | 'ending' | 'over' = 'open'
  #pumping: 'idle' | 'soon' | 'full' = 'idle'

  constructor(out: EventOut) {
    this.#out = out
    out.onRoom(() => this.#pump())
    out.write(': ready\n\n')
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
      if (this.#out.isFull) {
        this.#pumping = 'full'
        return
      }
      const { event, weight } = this.#queue.shift()!
      this.#weight -= weight
      this.#out.write(typeof event === 'string' ? dataOf(event) : shownData(event))
    }
    if (this.#state === 'ending') this.#out.end()
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
