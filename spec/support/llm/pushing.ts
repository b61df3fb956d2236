// A body whose bytes a spec pushes, and a sink that notes what it is told.

import type { Body, Form, Framing, Outcome, Sink } from '../../../lib/base/types.ts'
import type { Fields } from '../../../lib/base/wire/head.ts'

export class PushedBody implements Body {
  readonly framing: Framing
  readonly length: number
  /** What it was told, in order. */
  readonly heard: string[] = []
  form: Form | null = null
  sink!: Sink

  constructor(framing: Framing = 'open', length = -1) {
    this.framing = framing
    this.length = length
  }

  start(sink: Sink, form: Form): void {
    this.sink = sink
    this.form = form
  }

  /** From within a larger buffer, which is overwritten behind the call, as the one of the process is. */
  push(bytes: Buffer): boolean {
    const shared = Buffer.concat([Buffer.from('"usage"\n\n'), bytes, Buffer.from('\n\n"usage":{')])
    const hasRoom = this.sink.write(shared, 9, 9 + bytes.length)
    shared.fill('data: {"usage":{"prompt_tokens":666}}\n\n')
    return hasRoom
  }

  pause(): void {
    this.heard.push('pause')
  }

  resume(): void {
    this.heard.push('resume')
  }

  cancel(): void {
    this.heard.push('cancel')
  }
}

export class NotingSink implements Sink {
  /** The bytes of each write. */
  readonly writes: Buffer[] = []
  readonly told: string[] = []
  trailers: Fields | null = null
  room = true

  get text(): string {
    return Buffer.concat(this.writes).toString('latin1')
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    this.writes.push(Buffer.from(bytes.subarray(from, to)))
    return this.room
  }

  end(trailers: Fields | null): void {
    this.trailers = trailers
    this.told.push('end')
  }

  cut(outcome: Outcome): void {
    this.told.push(`cut ${outcome}`)
  }
}
