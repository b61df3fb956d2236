// An event stream to a client: events are written at once, or queued while the client is slow. The owner bounds the
// queue; the stream itself never drops an event.

import { bytesInFlight } from '../../../core/byte-budgets.ts'
import type { Body, BodyForm, BodyFraming, Outcome, Sink } from '../../../core/types.ts'

export interface ClientEventStreamOwner {
  /** The client disconnected. */
  clientLeft(stream: ClientEventStream): void
  /** All queued bytes were taken. */
  queueDrained(stream: ClientEventStream): void
}

/** `unstarted`: the body is not read yet. `paused`: the client takes no more for now. */
type ClientEventStreamState = 'unstarted' | 'flowing' | 'paused' | 'over'

const KEEP_ALIVE_COMMENT = Buffer.from(': keep-alive\n\n')

export class ClientEventStream implements Body {
  readonly framing: BodyFraming = 'open'
  readonly length = -1
  readonly #owner: ClientEventStreamOwner
  #state: ClientEventStreamState = 'unstarted'
  #sink: Sink | null = null
  #queue: Buffer[] = []
  #queued = 0
  /** Queued bytes that are counted in `bytesInFlight`. */
  #countedBytes = 0
  /** Bytes that the client's connection has accepted but not sent yet. */
  #inConnection = 0
  #input: 'open' | 'ended' = 'open'
  /** Time of the last write, from `performance.now()`. */
  #lastWrite = performance.now()

  constructor(owner: ClientEventStreamOwner) {
    this.#owner = owner
  }

  /** Bytes in the queue of this stream. */
  get queued(): number {
    return this.#queued
  }

  /** Bytes in the queue and on the connection. */
  get unsent(): number {
    return this.#queued + this.#inConnection
  }

  send(event: Buffer): void {
    if (this.#state === 'over') return
    this.#queue.push(event)
    this.#queued += event.length
    this.#flush()
  }

  /** Sends a comment after `silence` milliseconds without a write. */
  keepAlive(now: number, silence: number): void {
    if (now - this.#lastWrite >= silence && this.unsent === 0) this.send(KEEP_ALIVE_COMMENT)
  }

  isSilent(now: number, silence: number): boolean {
    return now - this.#lastWrite >= silence
  }

  /** Ends the stream after the queued events. */
  end(): void {
    if (this.#input === 'ended') return
    this.#input = 'ended'
    this.#flush()
  }

  /** Aborts the stream, so that the client sees an incomplete response. */
  cut(outcome: Outcome): void {
    const sink = this.#sink
    if (!this.#close()) return
    sink?.cut(outcome)
  }

  start(sink: Sink, _form: BodyForm): void {
    if (this.#state === 'over') return
    this.#sink = sink
    this.#state = 'flowing'
    this.#flush()
  }

  pause(): void {
    if (this.#state === 'flowing') this.#state = 'paused'
  }

  resume(): void {
    if (this.#state !== 'paused') return
    this.#state = 'flowing'
    this.#flush()
  }

  cancel(): void {
    if (this.#close()) this.#owner.clientLeft(this)
  }

  #flush(): void {
    const before = this.unsent
    if (this.#state === 'flowing') this.#inConnection = 0
    while (this.#state === 'flowing' && this.#queue.length > 0) {
      const event = this.#queue.shift()!
      this.#queued -= event.length
      this.#lastWrite = performance.now()
      if (this.#sink!.write(event, 0, event.length)) continue
      this.pause()
      this.#inConnection = event.length
    }
    this.#countQueued()
    if (this.unsent > 0 || this.#state === 'over') return
    if (this.#input === 'ended' && this.#state === 'flowing') this.#finish()
    if (before > 0) this.#owner.queueDrained(this)
  }

  #finish(): void {
    const sink = this.#sink!
    this.#close()
    sink.end(null)
  }

  #close(): boolean {
    if (this.#state === 'over') return false
    this.#state = 'over'
    this.#queue = []
    this.#queued = 0
    this.#inConnection = 0
    this.#sink = null
    this.#countQueued()
    return true
  }

  #countQueued(): void {
    bytesInFlight.unsent += this.#queued - this.#countedBytes
    this.#countedBytes = this.#queued
  }
}
