// Writers of event streams: an interface, a writer that sends keep-alive comments, and one over node:http.

import type { ServerResponse } from 'node:http'

/** The response headers of an event stream. */
export const EVENT_STREAM_HEADERS: readonly (readonly [name: string, value: string])[] = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-cache'],
  ['x-content-type-options', 'nosniff'],
]

export interface EventWriter {
  /** The reader takes no more now; text written anyway is buffered. */
  readonly isFull: boolean
  write(text: string): void
  /** `callback` is called each time the stream can take more. */
  onDrain(callback: () => void): void
  /** Ends the stream after what was written. */
  end(): void
  /** Closes the connection to the reader. */
  destroy(): void
}

export interface KeepAliveTiming {
  /** After so long without an event, a comment is sent to keep the connection open. */
  readonly keepAliveMs: number
  /** A reader that takes nothing for so long is disconnected. */
  readonly maxStallMs: number
}

/** The timing of every event stream of the gateway itself. */
export const DEFAULT_KEEP_ALIVE_TIMING: KeepAliveTiming = {
  keepAliveMs: 15_000,
  maxStallMs: 30_000,
}

/** Characters that may be written while the reader is full. */
export const MAX_OVERFLOW_LENGTH = 1_048_576

const COMMENT = ': keepalive\n\n'

/** Sends a comment when the stream is silent, and disconnects a reader that takes nothing. */
export class KeepAliveWriter implements EventWriter {
  readonly #out: EventWriter
  readonly #timing: KeepAliveTiming
  readonly #timer: NodeJS.Timeout
  #drainCallbacks: (() => void)[] = []
  /** `ended`: everything is written, and the stream has yet to close. */
  #state: 'open' | 'ended' | 'closed' = 'open'
  /** How long the reader has taken nothing, counted by the timer. */
  #stalledMs = 0
  #overflow = 0

  constructor(out: EventWriter, timing: KeepAliveTiming) {
    this.#out = out
    this.#timing = timing
    this.#timer = setTimeout(() => this.#check(), timing.keepAliveMs).unref()
    out.onDrain(() => this.#onRoom())
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

  onDrain(callback: () => void): void {
    this.#drainCallbacks.push(callback)
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

  /** The connection to the reader is closed. */
  close(): void {
    clearTimeout(this.#timer)
    this.#state = 'closed'
    this.#drainCallbacks = []
  }

  #onRoom(): void {
    this.#stalledMs = 0
    this.#overflow = 0
    for (const callback of this.#drainCallbacks) callback()
  }

  #check(): void {
    if (this.#state === 'closed') return
    this.#timer.refresh()
    if (this.#state === 'open' && !this.isFull) {
      this.#stalledMs = 0
      return this.#out.write(COMMENT)
    }
    this.#stalledMs += this.#timing.keepAliveMs
    if (this.#stalledMs >= this.#timing.maxStallMs) this.destroy()
  }
}

/** Sends the head and calls `open`; the function that `open` returns is called when the client has disconnected. */
export function streamEvents(
  response: ServerResponse,
  timing: KeepAliveTiming,
  open: (out: EventWriter) => () => void,
): void {
  response.writeHead(200, Object.fromEntries(EVENT_STREAM_HEADERS))
  // Without this, the head waits for the first event, and the browser with it.
  response.flushHeaders()
  const writer = new KeepAliveWriter(new ResponseEventWriter(response), timing)
  let onClose = (): void => {}
  response.on('close', () => {
    writer.close()
    onClose()
  })
  onClose = open(writer)
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

  onDrain(callback: () => void): void {
    this.#response.on('drain', callback)
  }

  end(): void {
    this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }
}
