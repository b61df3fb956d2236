// What a target's answer is made of, and the messages in it.

import type { ResponseHead } from '../../../core/head.ts'
import type { Body, Outcome, Reply, Sink } from '../../../core/types.ts'
import { ByteBuffer } from '../../../text/byte-buffer.ts'
import { findJsonValue, listItems } from '../../../text/json-scan.ts'
import { EventReader } from '../../../text/sse-reader.ts'
import { RpcMessage } from '../json-rpc.ts'
import { describeTooLongMessage } from './remote-target.ts'
import type { RemoteTargetContext } from './remote-target.ts'

/** `unreadable`: encoded, which nobody asked for, or of another type. */
export type TargetContentType = 'json' | 'events' | 'unreadable'

const OPEN_BRACKET = 0x5b

export function classifyTargetContent(head: ResponseHead): TargetContentType {
  const coding = head.get('content-encoding')?.toLowerCase() ?? 'identity'
  if (coding !== 'identity') return 'unreadable'
  const [type = ''] = (head.get('content-type') ?? '').split(';')
  switch (type.trim().toLowerCase()) {
    case 'application/json':
      return 'json'
    case 'text/event-stream':
      return 'events'
    default:
      return 'unreadable'
  }
}

/** One message or a batch of them, or what is wrong with the bytes. */
export function parseTargetMessages(bytes: Buffer): RpcMessage[] | string {
  const whole = findJsonValue(bytes)
  if (whole === null) return 'not valid JSON'
  const spans = bytes[whole.from] === OPEN_BRACKET ? listItems(bytes, whole) : [whole]
  const messages: RpcMessage[] = []
  for (const span of spans) {
    const message = RpcMessage.parseAt(bytes, span)
    if (typeof message === 'string') return message
    messages.push(message)
  }
  return messages
}

// An answer's content gathered to its end, within a bound.

/** Hears one of the three, once, unless it cancelled. */
export interface TargetBodyOwner {
  bodyComplete(bytes: Buffer): void
  bodyTooLong(): void
  bodyBroken(): void
}

export class TargetBodyReader implements Sink {
  readonly #body: Body
  readonly #owner: TargetBodyOwner
  readonly #maxBytes: number
  readonly #buffer = new ByteBuffer()
  #state: 'open' | 'over' = 'open'

  constructor(body: Body, owner: TargetBodyOwner, maxBytes: number) {
    this.#body = body
    this.#owner = owner
    this.#maxBytes = maxBytes
  }

  start(flow: 'running' | 'paused'): void {
    if (this.#body.length > this.#maxBytes) return this.#overflow()
    if (flow === 'paused') this.#body.pause()
    this.#body.start(this, 'content')
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state === 'over') return true
    if (this.#buffer.length + to - from > this.#maxBytes) this.#overflow()
    else this.#buffer.append(bytes, from, to)
    return true
  }

  end(): void {
    if (this.#finish()) this.#owner.bodyComplete(this.#buffer.take())
  }

  cut(): void {
    if (this.#finish()) this.#owner.bodyBroken()
  }

  pause(): void {
    if (this.#state === 'open') this.#body.pause()
  }

  resume(): void {
    if (this.#state === 'open') this.#body.resume()
  }

  cancel(): void {
    if (this.#finish()) this.#body.cancel()
  }

  #overflow(): void {
    this.cancel()
    this.#owner.bodyTooLong()
  }

  #finish(): boolean {
    if (this.#state === 'over') return false
    this.#state = 'over'
    return true
  }
}

// Answers whose content nobody wants: read to their end when that is near, so that the connection can be used again.

const MAX_BYTES = 65_536
const MAX_MS = 1_000

export function discardReply({ head, body }: Reply): void {
  if (body.framing === 'none') return
  if (body.length > MAX_BYTES || classifyTargetContent(head) === 'events') return body.cancel()
  body.start(new DiscardingSink(body), 'content')
}

class DiscardingSink implements Sink {
  readonly #body: Body
  readonly #timer: NodeJS.Timeout
  #left = MAX_BYTES

  constructor(body: Body) {
    this.#body = body
    this.#timer = setTimeout(() => body.cancel(), MAX_MS)
  }

  write(_bytes: Buffer, from: number, to: number): boolean {
    const had = this.#left
    this.#left -= to - from
    if (had >= 0 && this.#left < 0) {
      this.end()
      this.#body.cancel()
    }
    return true
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  cut(): void {
    this.end()
  }
}

// One answer of a target's, read as an event stream.

/** `silent`: nothing came for too long. `too long`: an event was above the bound, and the stream was given up for it. */
export type TargetStreamEnd = 'ended' | 'cut' | 'silent' | 'too long'

export interface TargetEventStreamOwner {
  /** The data is the receiver's to keep; `id` is that of the last event that had one. */
  event(name: string, data: Buffer, id: string | null): void
  /** The target says how long to wait before its stream is opened again. */
  retryAfter(ms: number): void
  /** Comes once, last, unless the owner cancelled. */
  streamEnded(how: TargetStreamEnd): void
}

export class TargetEventStream implements Sink {
  readonly #body: Body
  readonly #owner: TargetEventStreamOwner
  readonly #reader: EventReader
  #state: 'open' | 'over' = 'open'

  constructor(body: Body, owner: TargetEventStreamOwner, maxBytes: number) {
    this.#body = body
    this.#owner = owner
    this.#reader = new EventReader(
      {
        event: (name, data, id) => {
          // What ended the stream may have been in the same chunk.
          if (this.#state === 'open') owner.event(name, data, id)
        },
        retry: (ms) => owner.retryAfter(ms),
        tooLong: () => this.#overflow(),
      },
      maxBytes,
    )
  }

  start(flow: 'running' | 'paused'): void {
    if (flow === 'paused') this.#body.pause()
    this.#body.start(this, 'content')
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state === 'open') this.#reader.write(bytes, from, to)
    return true
  }

  end(): void {
    if (this.#finish()) this.#owner.streamEnded('ended')
  }

  cut(outcome: Outcome): void {
    if (this.#finish()) this.#owner.streamEnded(outcome === 'backend_timeout' ? 'silent' : 'cut')
  }

  pause(): void {
    if (this.#state === 'open') this.#body.pause()
  }

  resume(): void {
    if (this.#state === 'open') this.#body.resume()
  }

  cancel(): void {
    if (this.#finish()) this.#body.cancel()
  }

  #overflow(): void {
    if (this.#state === 'over') return
    this.cancel()
    this.#owner.streamEnded('too long')
  }

  #finish(): boolean {
    if (this.#state === 'over') return false
    this.#state = 'over'
    return true
  }
}

export function describeStreamEnd(remote: RemoteTargetContext, how: TargetStreamEnd): string {
  const name = `target '${remote.target.name}'`
  switch (how) {
    case 'ended':
      return `${name} ended its event stream`
    case 'cut':
      return `${name} lost the connection of its event stream`
    case 'silent':
      return `${name} was silent on its event stream for too long (config.backend.bodyIdleTimeout)`
    case 'too long':
      return describeTooLongMessage(remote)
  }
}
