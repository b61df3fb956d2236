// An event stream of a target's that is opened again where it broke off: the answer to one request, or what a
// target says unasked.

import type { GatewayError } from '../../../core/errors.ts'
import type { Body, CancellableCall, Reply } from '../../../core/types.ts'
import type { ResponseReceiver } from '../../http/internal-request.ts'
import { RpcMessage } from '../json-rpc.ts'
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

/** Openings in a row that brought no message. */
const MAX_REOPENS = 32
/** The first wait before it is opened again, doubled with every try, unless the target names one of its own. */
const FIRST_DELAY_MS = 1_000
const MIN_DELAY_MS = 100
const MAX_DELAY_MS = 30_000
/** A stream that was open this long did well: the next try counts as the first. */
const STEADY_MS = 5_000
/** Behind an answer: how long its stream may take to end by itself. */
const ENDING_MS = 1_000
/** From the request for a stream to the head of the answer. */
const OPEN_DEADLINE_MS = 30_000
/** Ids of events that can be told in a header. */
const SENDABLE_EVENT_ID = /^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/
/** Statuses after which another try may do better. */
const RETRYABLE_STREAM_STATUSES = new Set([408, 409, 425, 429])

/** `ending`: what was wanted is here, and nothing more is. */
type EventFeedState = 'idle' | 'asking' | 'reading' | 'waiting' | 'ending' | 'over'

const EVENT_FEED_TRANSITIONS: Record<EventFeedState, readonly EventFeedState[]> = {
  idle: ['asking', 'reading', 'over'],
  asking: ['reading', 'waiting', 'over'],
  reading: ['waiting', 'ending', 'over'],
  waiting: ['asking', 'over'],
  ending: ['over'],
  over: [],
}

/** `answer`: opened again only where an event's id tells from where. `unasked`: always. */
export type EventFeedKind = 'answer' | 'unasked'

export interface EventFeedOwner {
  readonly remote: RemoteTargetContext
  readonly flow: 'running' | 'paused'
  /** The client's headers, and the session's. */
  readonly fields: ForwardedHeaders
  sessionFields(): ForwardedHeaders
  messageReceived(message: RpcMessage): void
  /** It brings no more. Comes once, last, unless the owner cancelled. */
  feedEnded(reason: string): void
}

export class EventFeed implements ResponseReceiver, TargetEventStreamOwner {
  readonly #owner: EventFeedOwner
  readonly #kind: EventFeedKind
  #state: EventFeedState = 'idle'
  #call: CancellableCall | null = null
  #events: TargetEventStream | null = null
  #timer: NodeJS.Timeout | null = null
  #lastId = ''
  #retry = -1
  #tries = 0
  #openedAt = 0

  constructor(owner: EventFeedOwner, kind: EventFeedKind) {
    this.#owner = owner
    this.#kind = kind
  }

  /** Asks for the stream. */
  open(): void {
    this.#move('asking')
    this.#timer = null
    const { remote, fields } = this.#owner
    const own: [string, string][] = [['accept', 'text/event-stream']]
    if (this.#lastId !== '') own.push(['last-event-id', this.#lastId])
    const request = {
      method: 'GET' as const,
      fields,
      own: [...own, ...this.#owner.sessionFields()],
      deadline: OPEN_DEADLINE_MS,
    }
    this.#call = sendToRemoteTarget(remote, request, this)
  }

  /** Reads a stream that is there already. */
  read(body: Body): void {
    this.#move('reading')
    this.#openedAt = performance.now()
    this.#events = new TargetEventStream(body, this, this.#owner.remote.limits.maxMessageBytes)
    this.#events.start(this.#owner.flow)
  }

  /** What was wanted has come: the stream should end now, and does so in any case. */
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
    this.#reopenLater(`${this.#name}: ${error.message}`)
  }

  event(name: string, data: Buffer, id: string | null): void {
    if (id !== null) this.#lastId = SENDABLE_EVENT_ID.test(id) ? id : ''
    // The first event of a stream may bring no more than an id.
    if (data.length === 0 || (name !== '' && name !== 'message')) return
    const message = RpcMessage.parse(data)
    if (typeof message === 'string')
      return logRemoteProblem(
        this.#owner.remote,
        'mcp target sent an event that is no message',
        message,
      )
    this.#tries = 0
    this.#owner.messageReceived(message)
  }

  retryAfter(ms: number): void {
    this.#retry = ms
  }

  streamEnded(how: TargetStreamEnd): void {
    this.#events = null
    if (this.#state === 'ending') return this.#endFeed('answered')
    if (performance.now() - this.#openedAt > STEADY_MS) this.#tries = 0
    // From there on the same event would come again.
    if (how === 'too long') this.#lastId = ''
    this.#reopenLater(describeStreamEnd(this.#owner.remote, how))
  }

  get #name(): string {
    return `target '${this.#owner.remote.target.name}'`
  }

  #reopenLater(reason: string): void {
    const isResumable = this.#kind === 'unasked' || this.#lastId !== ''
    if (!isResumable || this.#tries >= MAX_REOPENS) return this.#endFeed(reason)
    this.#move('waiting')
    const wanted = this.#retry >= 0 ? this.#retry : FIRST_DELAY_MS * 2 ** this.#tries
    this.#tries++
    const delay = Math.min(MAX_DELAY_MS, Math.max(MIN_DELAY_MS, wanted))
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
