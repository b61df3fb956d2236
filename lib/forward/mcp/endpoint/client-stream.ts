// An event stream towards a client: messages leave in the tick they come, or wait in a bounded queue while the client
// is slow. The owner watches the queue; the stream itself never drops anything.

import { bytesInFlight } from '../../../core/byte-budgets.ts'
import type { Body, BodyForm, BodyFraming, Outcome, Sink } from '../../../core/types.ts'

export interface ClientEventStreamOwner {
  /** The client left, or its connection was cut. */
  clientLeft(stream: ClientEventStream): void
  /** What had piled up is out. */
  queueDrained(stream: ClientEventStream): void
}

/** `unread`: nobody has asked for it yet. `held`: the client takes no more for now. */
type ClientEventStreamState = 'unread' | 'flowing' | 'held' | 'over'

const KEEP_ALIVE_COMMENT = Buffer.from(': keep-alive\n\n')

export class ClientEventStream implements Body {
  readonly framing: BodyFraming = 'open'
  readonly length = -1
  readonly #owner: ClientEventStreamOwner
  #state: ClientEventStreamState = 'unread'
  #sink: Sink | null = null
  #queue: Buffer[] = []
  #queued = 0
  /** What of that is counted. */
  #weight = 0
  /** What the client's connection has taken over and not got rid of yet. */
  #inConnection = 0
  #rest: 'open' | 'last' = 'open'
  /** When the last byte was handed on, on the clock of `performance.now()`. */
  #wrote = performance.now()

  constructor(owner: ClientEventStreamOwner) {
    this.#owner = owner
  }

  /** Bytes that wait for the client here. */
  get queued(): number {
    return this.#queued
  }

  /** The same, with those that wait on its connection. */
  get unsent(): number {
    return this.#queued + this.#inConnection
  }

  send(event: Buffer): void {
    if (this.#state === 'over') return
    this.#queue.push(event)
    this.#queued += event.length
    this.#flush()
  }

  /** A comment, if nothing was sent for so long. */
  keepAlive(now: number, silence: number): void {
    if (now - this.#wrote >= silence && this.unsent === 0) this.send(KEEP_ALIVE_COMMENT)
  }

  isSilent(now: number, silence: number): boolean {
    return now - this.#wrote >= silence
  }

  /** Nothing follows behind what was sent. */
  end(): void {
    if (this.#rest === 'last') return
    this.#rest = 'last'
    this.#flush()
  }

  /** The client is told that this was not the end. */
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
    if (this.#state === 'flowing') this.#state = 'held'
  }

  resume(): void {
    if (this.#state !== 'held') return
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
      this.#wrote = performance.now()
      if (this.#sink!.write(event, 0, event.length)) continue
      this.pause()
      this.#inConnection = event.length
    }
    this.#weigh()
    if (this.unsent > 0 || this.#state === 'over') return
    if (this.#rest === 'last' && this.#state === 'flowing') this.#finish()
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
    this.#weigh()
    return true
  }

  #weigh(): void {
    bytesInFlight.unsent += this.#queued - this.#weight
    this.#weight = this.#queued
  }
}
