// The body of one try: what the client sent, as the try's edits have it, framed by itself.

import assert from 'node:assert'
import type { Body, BodyForm, BodyFraming, Outcome, Sink } from '../../../core/types.ts'
import type { HeaderFields } from '../../../core/head.ts'
import type { PromptRewrite } from './prompt-rewrite.ts'

/** Where it comes from. */
export interface AttemptBodySource {
  /** From now on bytes are pushed. */
  begin(body: AttemptBody): void
  pause(body: AttemptBody): void
  resume(body: AttemptBody): void
  cancel(body: AttemptBody): void
}

/** White space behind the closing brace is legal JSON, and makes up for a length that was promised too high. */
const PADDING = Buffer.alloc(4_096, ' ')

export class AttemptBody implements Body {
  readonly framing: BodyFraming
  readonly length: number
  readonly #source: AttemptBodySource
  /** null: the bytes pass as they come. */
  readonly #rewrite: PromptRewrite | null
  #sink: Sink | null = null
  #sent = 0
  #flow: 'running' | 'full' = 'running'
  #end: 'ahead' | 'sent' = 'ahead'

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

  /** It asks for usage on the client's behalf. */
  get asksForUsage(): boolean {
    return this.#rewrite?.asksForUsage ?? false
  }

  /** It does, or may do so yet. */
  get mayAskForUsage(): boolean {
    return this.#rewrite?.mayAskForUsage ?? false
  }

  /** All of it went out. */
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

  /** What came next. */
  push(bytes: Buffer, from: number, to: number): void {
    if (this.#rewrite === null) return this.#write(bytes, from, to)
    const piece = this.#rewrite.rewrite(bytes, from, to)
    this.#write(piece, 0, piece.length)
  }

  /** Nothing more comes. */
  finish(trailers: HeaderFields | null): void {
    const rest = this.#rewrite?.flush()
    if (rest !== undefined) this.#write(rest, 0, rest.length)
    // Whoever reads may give up in the middle of it.
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

  /** Whoever takes it must end or cut it, or know that somebody else does. */
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
