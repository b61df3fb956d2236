// The writing half of an HTTP/1 connection: a head and the body after it, in as few writes as possible, each in the tick
// in which its bytes arrived.

import { bytesInFlight } from '../core/byte-budgets.ts'
import { MAX_REPLAY_BYTES, MAX_STRING_WRITE_BYTES } from '../core/bounds.ts'
import type { Body, Outcome, Sink } from '../core/types.ts'
import type { HeaderFields } from '../core/head.ts'
import { spareBuffers, isSharedBuffer } from './llhttp.ts'
import { copyBuffer } from './transport-socket.ts'
import type { TransportSocket } from './transport-socket.ts'

/** `none`: head only. `encode`: content is sent chunked. `wire`/`content`: as received. */
export type BodyWriteMode = 'none' | 'wire' | 'content' | 'encode'

export interface Http1WriterOwner {
  /** Head and body are written. */
  sent(): void
  /** The body's source failed before its end; `unsent` is the head, if it was not sent. */
  sendCut(outcome: Outcome, unsent: string): void
  /** The peer takes no more for now; `drained` follows. */
  stalled(): void
}

export class Http1Writer implements Sink {
  readonly #owner: Http1WriterOwner
  #wire!: TransportSocket
  #body: Body | null = null
  #mode: BodyWriteMode = 'none'
  /** A head that waits for the first bytes of the body, within one tick. */
  #head = ''
  /** What was written, for a retry on another connection; null if it is not recorded or grew too long. */
  #recording: (string | Buffer)[] | null = null
  #recordedBytes = 0
  /** The recorded bytes that are counted: large parts, which would otherwise be freed. */
  #countedBytes = 0
  #written = 0

  constructor(owner: Http1WriterOwner) {
    this.#owner = owner
  }

  attach(wire: TransportSocket): void {
    this.#wire = wire
  }

  /** Bytes of the body written so far, including chunk framing if it was forwarded. */
  get bytesWritten(): number {
    return this.#written
  }

  /** Records what is written, up to MAX_REPLAY_BYTES. */
  startRecording(): void {
    this.dropRecording()
    this.#recording = []
    this.#recordedBytes = 0
  }

  /** The whole message as written, if it was recorded. */
  takeRecording(): readonly (string | Buffer)[] | null {
    const recording = this.#recording
    this.dropRecording()
    return this.#body === null ? recording : null
  }

  dropRecording(): void {
    this.#recording = null
    if (this.#countedBytes === 0) return
    bytesInFlight.retained -= this.#countedBytes
    this.#countedBytes = 0
  }

  /** The next message starts: none of it is written. */
  startMessage(): void {
    this.#written = 0
  }

  send(head: string, body: Body, mode: BodyWriteMode): void {
    this.#written = 0
    if (mode === 'none') {
      this.#put(head)
      return this.#owner.sent()
    }
    this.#head = head
    this.#body = body
    this.#mode = mode
    body.start(this, mode === 'wire' ? 'wire' : 'content')
    if (this.#head === '') return
    this.#head = ''
    this.#reportIfStalled(this.#put(head))
  }

  /** Writes the parts of a message that was sent on another connection before. */
  resend(parts: readonly (string | Buffer)[]): void {
    for (const part of parts) this.#put(part)
    this.#owner.sent()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    // After an abort the source may still write.
    if (this.#body === null) return true
    this.#written += to - from
    let text = this.#head
    this.#head = ''
    if (this.#mode === 'encode') text += (to - from).toString(16) + '\r\n'
    const tail = this.#mode === 'encode' ? '\r\n' : ''
    if (to - from <= MAX_STRING_WRITE_BYTES)
      return this.#reportIfStalled(this.#put(text + bytes.latin1Slice(from, to) + tail))
    if (text !== '') this.#put(text)
    const part = bytes.subarray(from, to)
    const ok = isSharedBuffer(bytes) ? this.#putCopy(part) : this.#put(part)
    return this.#reportIfStalled(tail === '' ? ok : this.#put(tail))
  }

  end(trailers: HeaderFields | null): void {
    if (this.#body === null) return
    let text = this.#head
    this.#head = ''
    this.#body = null
    if (this.#mode === 'encode') text += '0\r\n' + (trailers?.fieldsText() ?? '') + '\r\n'
    if (text !== '') this.#put(text)
    this.#owner.sent()
  }

  cut(outcome: Outcome): void {
    if (this.#body === null) return
    const unsent = this.#head
    this.abort()
    this.#owner.sendCut(outcome, unsent)
  }

  /** Drops what was not written; the caller cancels the body. */
  abort(): void {
    this.#head = ''
    this.#body = null
    this.dropRecording()
  }

  drained(): void {
    this.#body?.resume()
  }

  #record(part: string | Buffer): void {
    this.#recording?.push(part)
    if (typeof part === 'string') return
    bytesInFlight.retained += part.length
    this.#countedBytes += part.length
  }

  #reportIfStalled(ok: boolean): boolean {
    if (!ok) this.#owner.stalled()
    return ok
  }

  #putCopy(part: Buffer): boolean {
    // A recorded part may be written again, so its copy cannot be a spare buffer.
    if (this.#recording !== null) return this.#put(copyBuffer(part))
    const { copy, done } = spareBuffers.lendCopy(part)
    return this.#wire.write(copy, done)
  }

  #put(part: string | Buffer): boolean {
    if (this.#recording !== null) {
      this.#recordedBytes += part.length
      if (this.#recordedBytes > MAX_REPLAY_BYTES) this.dropRecording()
      else this.#record(part)
    }
    return this.#wire.write(part)
  }
}
