// A body whose bytes a spec pushes, and a sink that records its calls.

import type { Body, BodyForm, BodyFraming, Outcome, Sink } from '../../../lib/core/types.ts'
import type { HeaderFields } from '../../../lib/core/head.ts'

export class PushedBody implements Body {
  readonly framing: BodyFraming
  readonly length: number
  /** The calls in order. */
  readonly calls: string[] = []
  form: BodyForm | null = null
  sink!: Sink

  constructor(framing: BodyFraming = 'open', length = -1) {
    this.framing = framing
    this.length = length
  }

  start(sink: Sink, form: BodyForm): void {
    this.sink = sink
    this.form = form
  }

  /** From a larger buffer that is overwritten after the call, like the shared read buffer. */
  push(bytes: Buffer): boolean {
    const shared = Buffer.concat([Buffer.from('"usage"\n\n'), bytes, Buffer.from('\n\n"usage":{')])
    const hasRoom = this.sink.write(shared, 9, 9 + bytes.length)
    shared.fill('data: {"usage":{"prompt_tokens":666}}\n\n')
    return hasRoom
  }

  pause(): void {
    this.calls.push('pause')
  }

  resume(): void {
    this.calls.push('resume')
  }

  cancel(): void {
    this.calls.push('cancel')
  }
}

export class RecordingSink implements Sink {
  /** The bytes of each write. */
  readonly writes: Buffer[] = []
  readonly calls: string[] = []
  trailers: HeaderFields | null = null
  room = true

  get text(): string {
    return Buffer.concat(this.writes).toString('latin1')
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    this.writes.push(Buffer.from(bytes.subarray(from, to)))
    return this.room
  }

  end(trailers: HeaderFields | null): void {
    this.trailers = trailers
    this.calls.push('end')
  }

  cut(outcome: Outcome): void {
    this.calls.push(`cut ${outcome}`)
  }
}
