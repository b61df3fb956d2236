// Reads the responses of remote targets: a JSON body, an event stream, or a body that is discarded.

import type { ResponseHead } from '../../../core/head.ts'
import type { Body, Outcome, Reply, Sink } from '../../../core/types.ts'
import { ByteBuffer } from '../../../text/byte-buffer.ts'
import { describeInvalidJson, findJsonValue, listItems } from '../../../text/json-scan.ts'
import { EventReader } from '../../../text/sse-reader.ts'
import { RpcMessage } from '../json-rpc.ts'
import { describeTooLongMessage } from './remote-target.ts'
import type { RemoteTargetContext } from './remote-target.ts'

/** `unreadable`: content-encoded without being requested, or of another type. */
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

/** Parses one message or a batch; returns the reason if the bytes are invalid. */
export function parseTargetMessages(bytes: Buffer): RpcMessage[] | string {
  const whole = findJsonValue(bytes)
  if (whole === null) return describeInvalidJson(bytes)
  const spans = bytes[whole.from] === OPEN_BRACKET ? listItems(bytes, whole) : [whole]
  const messages: RpcMessage[] = []
  for (const span of spans) {
    const message = RpcMessage.parseAt(bytes, span)
    if (typeof message === 'string') return message
    messages.push(message)
  }
  return messages
}

/** One of the three methods is called, once, unless the owner cancelled. */
export interface TargetBodyOwner {
  bodyComplete(bytes: Buffer): void
  bodyTooLong(): void
  bodyBroken(): void
}

/** Reads a response body to its end, within a bound. */
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

const MAX_DISCARDED_BYTES = 65_536
const MAX_DISCARD_MS = 1_000

/** Reads a short unwanted response to its end, so that the connection can be reused; cancels a longer one. */
export function discardReply({ head, body }: Reply): void {
  if (body.framing === 'none') return
  if (body.length > MAX_DISCARDED_BYTES || classifyTargetContent(head) === 'events')
    return body.cancel()
  body.start(new DiscardingSink(body), 'content')
}

class DiscardingSink implements Sink {
  readonly #body: Body
  readonly #timer: NodeJS.Timeout
  #remaining = MAX_DISCARDED_BYTES

  constructor(body: Body) {
    this.#body = body
    this.#timer = setTimeout(() => body.cancel(), MAX_DISCARD_MS)
  }

  write(_bytes: Buffer, from: number, to: number): boolean {
    const before = this.#remaining
    this.#remaining -= to - from
    if (before >= 0 && this.#remaining < 0) {
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

/** `silent`: no data for too long. `too long`: the stream was cancelled because an event was above the bound. */
export type TargetStreamEnd = 'ended' | 'cut' | 'silent' | 'too long'

export interface TargetEventStreamOwner {
  /** The owner may keep the data; `id` is that of the last event that had one. */
  event(name: string, data: Buffer, id: string | null): void
  /** The target sent the delay before its stream is reopened. */
  retryAfter(ms: number): void
  /** Called once, as the last event, unless the owner cancelled. */
  streamEnded(how: TargetStreamEnd): void
}

/** Reads a response body as an event stream. */
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
          // An earlier event of the same chunk may have ended the stream.
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
