// One reader of an event stream, however it is reached.

import type { ServerResponse } from 'node:http'

/** Of the head in front of it. */
export const EVENT_STREAM_HEADERS: readonly (readonly [name: string, value: string])[] = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-cache'],
  ['x-content-type-options', 'nosniff'],
]

export interface EventWriter {
  /** It does not take more just now: what is written all the same is kept, so do not. */
  readonly isFull: boolean
  write(text: string): void
  /** Calls back each time it has room again. */
  onDrain(act: () => void): void
  /** Nothing comes after this. */
  end(): void
  /** The reader is given up. */
  destroy(): void
}

// A reader of an event stream that is looked after: comments show it that the stream lives, and one that takes nothing is
// given up.

export interface KeepAliveTiming {
  /** Without an event for so long, a comment shows that the stream lives. */
  readonly keepAliveMs: number
  /** A reader that takes nothing for so long is gone. */
  readonly maxStallMs: number
}

/** What those who read may expect of every one. */
export const DEFAULT_KEEP_ALIVE_TIMING: KeepAliveTiming = {
  keepAliveMs: 15_000,
  maxStallMs: 30_000,
}

/** Of what is written although the reader is full. */
export const MAX_OVERFLOW_LENGTH = 1_048_576

const COMMENT = ': keepalive\n\n'

export class KeepAliveWriter implements EventWriter {
  readonly #out: EventWriter
  readonly #pace: KeepAliveTiming
  readonly #timer: NodeJS.Timeout
  #acts: (() => void)[] = []
  /** `ended`: all is written, and only its close is waited for. */
  #state: 'open' | 'ended' | 'closed' = 'open'
  /** Since when the reader has taken nothing, counted by the timer. */
  #stalledMs = 0
  #overflow = 0

  constructor(out: EventWriter, pace: KeepAliveTiming) {
    this.#out = out
    this.#pace = pace
    this.#timer = setTimeout(() => this.#look(), pace.keepAliveMs).unref()
    out.onDrain(() => this.#hasRoom())
  }

  get isFull(): boolean {
    return this.#out.isFull
  }

  write(text: string): void {
    if (this.#state !== 'open') return
    if (this.isFull) this.#overflow += text.length
    if (this.#overflow > MAX_OVERFLOW_LENGTH) return this.destroy()
    this.#out.write(text)
    this.#timer.refresh()
  }

  onDrain(act: () => void): void {
    this.#acts.push(act)
  }

  end(): void {
    if (this.#state !== 'open') return
    this.#state = 'ended'
    this.#stalledMs = 0
    this.#out.end()
  }

  destroy(): void {
    if (this.#state === 'closed') return
    this.close()
    this.#out.destroy()
  }

  /** The reader is gone. */
  close(): void {
    clearTimeout(this.#timer)
    this.#state = 'closed'
    this.#acts = []
  }

  #hasRoom(): void {
    this.#stalledMs = 0
    this.#overflow = 0
    for (const act of this.#acts) act()
  }

  #look(): void {
    if (this.#state === 'closed') return
    this.#timer.refresh()
    if (this.#state === 'open' && !this.isFull) {
      this.#stalledMs = 0
      return this.#out.write(COMMENT)
    }
    this.#stalledMs += this.#pace.keepAliveMs
    if (this.#stalledMs >= this.#pace.maxStallMs) this.destroy()
  }
}

// The reader of an event stream behind an answer of node:http.

/** `open` is called when the head is out; what it returns is called when nobody listens any more. */
export function streamEvents(
  response: ServerResponse,
  pace: KeepAliveTiming,
  open: (out: EventWriter) => () => void,
): void {
  response.writeHead(200, Object.fromEntries(EVENT_STREAM_HEADERS))
  // It would wait for the first event, and a browser with it.
  response.flushHeaders()
  const kept = new KeepAliveWriter(new ResponseEventWriter(response), pace)
  let leave = (): void => {}
  response.on('close', () => {
    kept.close()
    leave()
  })
  leave = open(kept)
}

class ResponseEventWriter implements EventWriter {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  get isFull(): boolean {
    return this.#response.writableNeedDrain
  }

  write(text: string): void {
    this.#response.write(text)
  }

  onDrain(act: () => void): void {
    this.#response.on('drain', act)
  }

  end(): void {
    this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }
}
