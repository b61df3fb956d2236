// One POST to a Streamable HTTP target and its response, as JSON or as an event stream.

import type { GatewayError } from '../../../core/errors.ts'
import type { CancellableCall, Reply } from '../../../core/types.ts'
import type { ResponseHead } from '../../../core/head.ts'
import type { ResponseReceiver } from '../../http/internal-request.ts'
import { RPC_CODES } from '../json-rpc.ts'
import type { RpcCode, RpcMessage } from '../json-rpc.ts'
import { describeInvalidResponse } from '../target-link.ts'
import type { OutgoingMessage, ForwardedHeaders } from '../target-link.ts'
import {
  classifyTargetContent,
  discardReply,
  parseTargetMessages,
  TargetBodyReader,
} from './remote-response.ts'
import { EventFeed } from './event-feed.ts'
import type { EventFeedOwner } from './event-feed.ts'
import { sendToRemoteTarget, describeTooLongMessage } from './remote-target.ts'
import type { RemoteTargetContext } from './remote-target.ts'
import type { TargetBodyOwner } from './remote-response.ts'

/** A notification is accepted at once or not at all. */
const NOTIFICATION_DEADLINE_MS = 30_000

const POST_FIELDS: ForwardedHeaders = [
  ['content-type', 'application/json'],
  ['accept', 'application/json, text/event-stream'],
]

export interface StreamablePostOwner {
  readonly remote: RemoteTargetContext
  readonly flow: 'running' | 'paused'
  /** Session id; empty if there is none. */
  readonly session: string
  sessionFields(): ForwardedHeaders
  /** The target answered with a success status. */
  accepted(post: StreamablePost, head: ResponseHead): void
  received(message: RpcMessage, post: StreamablePost): void
  /** No more messages will come; `failed` or `expired` may follow. */
  postEnded(post: StreamablePost): void
  failed(post: StreamablePost, reason: string, reply: Reply | null, code?: RpcCode): void
  expired(post: StreamablePost): void
}

/** `answered`: only the end of the stream is awaited. */
type StreamablePostState = 'open' | 'answered' | 'over'

export class StreamablePost implements ResponseReceiver, EventFeedOwner, TargetBodyOwner {
  readonly outgoing: OutgoingMessage
  /** The session id that it was sent with. */
  readonly session: string
  readonly #owner: StreamablePostOwner
  readonly #call: CancellableCall
  #state: StreamablePostState = 'open'
  #bodyReader: EventFeed | TargetBodyReader | null = null

  constructor(owner: StreamablePostOwner, outgoing: OutgoingMessage) {
    this.#owner = owner
    this.outgoing = outgoing
    this.session = owner.session
    const request = {
      method: 'POST' as const,
      fields: outgoing.fields,
      own: [...POST_FIELDS, ...owner.sessionFields()],
      body: outgoing.bytes,
      deadline: outgoing.number === 0 ? NOTIFICATION_DEADLINE_MS : 0,
      traced: outgoing.traced,
    }
    this.#call = sendToRemoteTarget(owner.remote, request, this)
  }

  get number(): number {
    return this.outgoing.number
  }

  get remote(): RemoteTargetContext {
    return this.#owner.remote
  }

  get flow(): 'running' | 'paused' {
    return this.#owner.flow
  }

  get fields(): ForwardedHeaders {
    return this.outgoing.fields
  }

  sessionFields(): ForwardedHeaders {
    return this.#owner.sessionFields()
  }

  pause(): void {
    this.#bodyReader?.pause()
  }

  resume(): void {
    this.#bodyReader?.resume()
  }

  /** Stops the POST without further calls to the owner. */
  cancel(): void {
    this.#state = 'over'
    this.#call.cancel()
    this.#bodyReader?.cancel()
  }

  answered(reply: Reply): void {
    const { status } = reply.head
    if (status === 404 && this.session !== '') {
      discardReply(reply)
      this.#endPost()
      return this.#owner.expired(this)
    }
    if (status < 200 || status > 299) return this.#fail(`answered ${status}`, reply)
    this.#owner.accepted(this, reply.head)
    if (this.number !== 0) return this.#read(reply)
    discardReply(reply)
    this.#endPost()
  }

  failed(error: GatewayError): void {
    this.#fail(`failed: ${error.message}`)
  }

  messageReceived(message: RpcMessage): void {
    if (this.#state === 'over') return
    const isAnswer = message.kind === 'response' && message.idText === String(this.number)
    if (isAnswer && this.#state === 'open') {
      this.#state = 'answered'
      if (this.#bodyReader instanceof EventFeed) this.#bodyReader.finish()
    }
    this.#owner.received(message, this)
  }

  invalidAnswerReceived(number: number, why: string): void {
    if (number !== this.number || this.#state !== 'open') return
    this.#bodyReader?.cancel()
    this.#failAsInvalid(why)
  }

  feedEnded(reason: string): void {
    this.#endAsFailure(reason, null)
  }

  bodyComplete(bytes: Buffer): void {
    const messages = parseTargetMessages(bytes)
    if (typeof messages === 'string') return this.#failAsInvalid(messages)
    for (const message of messages) this.messageReceived(message)
    this.#fail('sent no answer to the request')
  }

  bodyTooLong(): void {
    this.#endAsFailure(describeTooLongMessage(this.remote), null)
  }

  bodyBroken(): void {
    this.#fail('closed the connection in the middle of its answer')
  }

  #read(reply: Reply): void {
    const { head, body } = reply
    switch (classifyTargetContent(head)) {
      case 'events':
        this.#bodyReader = new EventFeed(this, 'answer')
        return this.#bodyReader.read(body)
      case 'json':
        this.#bodyReader = new TargetBodyReader(body, this, this.remote.limits.maxMessageBytes)
        return this.#bodyReader.start(this.flow)
      case 'unreadable':
        discardReply(reply)
        this.#fail(`answered ${head.status} with neither plain JSON nor an event stream`)
    }
  }

  #fail(problem: string, reply: Reply | null = null): void {
    this.#endAsFailure(`target '${this.remote.target.name}' ${problem}`, reply)
  }

  #failAsInvalid(why: string): void {
    const reason = describeInvalidResponse(this.remote.target.name, why)
    this.#endAsFailure(reason, null, RPC_CODES.internal)
  }

  /** Ends the POST; reports a failure unless the answer was received before. */
  #endAsFailure(reason: string, reply: Reply | null, code?: RpcCode): void {
    const wasOpen = this.#state === 'open'
    if (this.#state !== 'over') this.#endPost()
    if (wasOpen) this.#owner.failed(this, reason, reply, code)
  }

  #endPost(): void {
    this.#state = 'over'
    this.#owner.postEnded(this)
  }
}
