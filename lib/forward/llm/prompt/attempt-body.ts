// The request body of one attempt: the bytes of the client with the edits of the attempt, and its own framing.

import assert from 'node:assert'
import type { Body, BodyForm, BodyFraming, Outcome, Sink } from '../../../core/types.ts'
import type { HeaderFields } from '../../../core/head.ts'
import type { PromptRewrite } from './prompt-rewrite.ts'

export interface AttemptBodySource {
  /** Starts to push bytes. */
  begin(body: AttemptBody): void
  pause(body: AttemptBody): void
  resume(body: AttemptBody): void
  cancel(body: AttemptBody): void
}

/** White space after the closing brace is legal JSON; it fills up a body that became shorter than its content-length. */
const PADDING = Buffer.alloc(4_096, ' ')

export class AttemptBody implements Body {
  readonly framing: BodyFraming
  readonly length: number
  readonly #source: AttemptBodySource
  /** null if the bytes are not changed. */
  readonly #rewrite: PromptRewrite | null
  #sink: Sink | null = null
  #sent = 0
  #flow: 'running' | 'full' = 'running'
  #end: 'pending' | 'sent' = 'pending'

  constructor(
    source: AttemptBodySource,
    rewrite: PromptRewrite | null,
    framing: BodyFraming,
    length: number,
  ) {
    this.#source = source
    this.#rewrite = rewrite
    this.framing = framing
    this.length = length
  }

  /** The body asks for usage, which the client did not do. */
  get asksForUsage(): boolean {
    return this.#rewrite?.asksForUsage ?? false
  }

  /** The body asks for usage, or may do so when more of it is read. */
  get mayAskForUsage(): boolean {
    return this.#rewrite?.mayAskForUsage ?? false
  }

  /** The whole body was sent. */
  get isSent(): boolean {
    return this.#end === 'sent'
  }

  get isFull(): boolean {
    return this.#flow === 'full'
  }

  start(sink: Sink, _form: BodyForm): void {
    this.#sink = sink
    this.#source.begin(this)
  }

  pause(): void {
    this.#source.pause(this)
  }

  resume(): void {
    this.#flow = 'running'
    this.#source.resume(this)
  }

  cancel(): void {
    this.#source.cancel(this)
  }

  /** Sends the next bytes of the client. */
  push(bytes: Buffer, from: number, to: number): void {
    if (this.#rewrite === null) return this.#write(bytes, from, to)
    const piece = this.#rewrite.rewrite(bytes, from, to)
    this.#write(piece, 0, piece.length)
  }

  /** Sends the end of the body. */
  finish(trailers: HeaderFields | null): void {
    const rest = this.#rewrite?.flush()
    if (rest !== undefined) this.#write(rest, 0, rest.length)
    // The attempt may be given up during a write, which detaches the sink.
    while (this.#sink !== null && this.#sent < this.length)
      this.#write(PADDING, 0, Math.min(PADDING.length, this.length - this.#sent))
    const sink = this.detachSink()
    if (sink === null) return
    this.#end = 'sent'
    sink.end(trailers)
  }

  cut(outcome: Outcome): void {
    this.detachSink()?.cut(outcome)
  }

  /** The caller must end or cut the sink, unless its owner does. */
  detachSink(): Sink | null {
    const sink = this.#sink
    this.#sink = null
    this.#rewrite?.release()
    return sink
  }

  #write(bytes: Buffer, from: number, to: number): void {
    if (to === from || this.#sink === null) return
    this.#sent += to - from
    assert(this.length < 0 || this.#sent <= this.length, 'a body keeps the length it promised')
    this.#flow = this.#sink.write(bytes, from, to) ? 'running' : 'full'
  }
}
