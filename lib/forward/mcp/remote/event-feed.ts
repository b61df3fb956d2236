// Reads an event stream of a remote target and reopens it after a break: the response to one request, or the
// stand-alone stream.

import type { GatewayError } from '../../../core/errors.ts'
import type { Body, CancellableCall, Reply } from '../../../core/types.ts'
import type { ResponseReceiver } from '../../http/internal-request.ts'
import { findAnsweredNumber, RpcMessage } from '../json-rpc.ts'
import type { ForwardedHeaders } from '../target-link.ts'
import {
  classifyTargetContent,
  describeStreamEnd,
  discardReply,
  TargetEventStream,
} from './remote-response.ts'
import type { TargetEventStreamOwner, TargetStreamEnd } from './remote-response.ts'
import { sendToRemoteTarget, logRemoteProblem } from './remote-target.ts'
import type { RemoteTargetContext } from './remote-target.ts'

/** Consecutive attempts without a message. */
const MAX_REOPENS = 32
/** The first delay before the stream is reopened; doubled with every attempt unless the target sent `retry`. */
const FIRST_DELAY_MS = 1_000
const MIN_DELAY_MS = 100
const MAX_DELAY_MS = 30_000
/** A stream that was open this long resets the attempt count. */
const STEADY_MS = 5_000
/** How long a stream may stay open after the answer. */
const ENDING_MS = 1_000
/** From the request to the response head. */
const OPEN_DEADLINE_MS = 30_000
/** Event ids that are valid as a header value. */
const SENDABLE_EVENT_ID = /^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/
/** Statuses below 500 after which another attempt may succeed. */
const RETRYABLE_STREAM_STATUSES = new Set([408, 409, 425, 429])

/** `waiting`: for the next attempt. `ending`: the answer was received, only the end of the stream is awaited. */
type EventFeedState = 'idle' | 'requesting' | 'reading' | 'waiting' | 'ending' | 'over'

const EVENT_FEED_TRANSITIONS: Record<EventFeedState, readonly EventFeedState[]> = {
  idle: ['requesting', 'reading', 'over'],
  requesting: ['reading', 'waiting', 'over'],
  reading: ['waiting', 'ending', 'over'],
  waiting: ['requesting', 'over'],
  ending: ['over'],
  over: [],
}

/** An `answer` is reopened only after an event with an id, a `standalone` stream always. */
export type EventFeedKind = 'answer' | 'standalone'

export interface EventFeedOwner {
  readonly remote: RemoteTargetContext
  readonly flow: 'running' | 'paused'
  /** Client headers. */
  readonly fields: ForwardedHeaders
  /** Session id and protocol version headers. */
  sessionFields(): ForwardedHeaders
  messageReceived(message: RpcMessage): void
  /** The answer to the request with this number is not a JSON-RPC response. */
  invalidAnswerReceived(number: number, why: string): void
  /** The stream will not be reopened. Called once, as the last event, unless the owner cancelled. */
  feedEnded(reason: string): void
}

export class EventFeed implements ResponseReceiver, TargetEventStreamOwner {
  readonly #owner: EventFeedOwner
  readonly #kind: EventFeedKind
  #state: EventFeedState = 'idle'
  #call: CancellableCall | null = null
  #events: TargetEventStream | null = null
  #timer: NodeJS.Timeout | null = null
  #lastEventId = ''
  #retryDelay = -1
  #attempts = 0
  #openedAt = 0

  constructor(owner: EventFeedOwner, kind: EventFeedKind) {
    this.#owner = owner
    this.#kind = kind
  }

  /** Requests the stream. */
  open(): void {
    this.#move('requesting')
    this.#timer = null
    const { remote, fields } = this.#owner
    const own: [string, string][] = [['accept', 'text/event-stream']]
    if (this.#lastEventId !== '') own.push(['last-event-id', this.#lastEventId])
    const request = {
      method: 'GET' as const,
      fields,
      own: [...own, ...this.#owner.sessionFields()],
      deadline: OPEN_DEADLINE_MS,
    }
    this.#call = sendToRemoteTarget(remote, request, this)
  }

  /** Reads a stream whose response head has been received. */
  read(body: Body): void {
    this.#move('reading')
    this.#openedAt = performance.now()
    this.#events = new TargetEventStream(body, this, this.#owner.remote.limits.maxMessageBytes)
    this.#events.start(this.#owner.flow)
  }

  /** The answer was received: the stream should end by itself and is ended after a grace. */
  finish(): void {
    if (this.#state !== 'reading') return
    this.#move('ending')
    this.#timer = setTimeout(() => this.#endFeed('answered'), ENDING_MS)
  }

  pause(): void {
    this.#events?.pause()
  }

  resume(): void {
    this.#events?.resume()
  }

  cancel(): void {
    if (this.#state === 'over') return
    this.#move('over')
    this.#release()
  }

  answered(reply: Reply): void {
    const { head, body } = reply
    const { status } = head
    if (status === 200 && classifyTargetContent(head) === 'events') return this.read(body)
    discardReply(reply)
    const reason = `${this.#name} answered ${status} to a request for its event stream`
    if (status >= 500 || RETRYABLE_STREAM_STATUSES.has(status)) this.#reopenLater(reason)
    else this.#endFeed(reason)
  }

  failed(error: GatewayError): void {
    this.#reopenLater(`${this.#name} failed: ${error.message}`)
  }

  event(name: string, data: Buffer, id: string | null): void {
    if (id !== null) this.#lastEventId = SENDABLE_EVENT_ID.test(id) ? id : ''
    // The first event of a stream may carry only an id.
    if (data.length === 0 || (name !== '' && name !== 'message')) return
    const message = RpcMessage.parse(data)
    if (typeof message === 'string') {
      logRemoteProblem(this.#owner.remote, 'mcp target sent an invalid message', message)
      const number = findAnsweredNumber(data)
      if (number !== 0) this.#owner.invalidAnswerReceived(number, message)
      return
    }
    this.#attempts = 0
    this.#owner.messageReceived(message)
  }

  retryAfter(ms: number): void {
    this.#retryDelay = ms
  }

  streamEnded(how: TargetStreamEnd): void {
    this.#events = null
    if (this.#state === 'ending') return this.#endFeed('answered')
    if (performance.now() - this.#openedAt > STEADY_MS) this.#attempts = 0
    // A resume would bring the same oversized event again.
    if (how === 'too long') this.#lastEventId = ''
    this.#reopenLater(describeStreamEnd(this.#owner.remote, how))
  }

  get #name(): string {
    return `target '${this.#owner.remote.target.name}'`
  }

  #reopenLater(reason: string): void {
    const isResumable = this.#kind === 'standalone' || this.#lastEventId !== ''
    if (!isResumable || this.#attempts >= MAX_REOPENS) return this.#endFeed(reason)
    this.#move('waiting')
    const requested =
      this.#retryDelay >= 0 ? this.#retryDelay : FIRST_DELAY_MS * 2 ** this.#attempts
    this.#attempts++
    const delay = Math.min(MAX_DELAY_MS, Math.max(MIN_DELAY_MS, requested))
    this.#timer = setTimeout(() => this.open(), delay)
  }

  #endFeed(reason: string): void {
    this.#move('over')
    this.#release()
    this.#owner.feedEnded(reason)
  }

  #release(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#call?.cancel()
    this.#call = null
    this.#events?.cancel()
    this.#events = null
  }

  #move(to: EventFeedState): void {
    if (!EVENT_FEED_TRANSITIONS[this.#state].includes(to))
      throw new Error(`mcp feed: ${this.#state} → ${to}`)
    this.#state = to
  }
}
