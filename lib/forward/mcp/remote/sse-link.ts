// The link of one session to a target of the HTTP+SSE transport (2024-11-05): one event stream carries all messages of
// the target and names the endpoint for POSTs.

import type { GatewayError } from '../../../core/errors.ts'
import type { CancellableCall, Reply } from '../../../core/types.ts'
import type { ResponseReceiver } from '../../http/internal-request.ts'
import { findAnsweredNumber, RPC_CODES, RpcMessage } from '../json-rpc.ts'
import { describeInvalidResponse } from '../target-link.ts'
import type { OutgoingMessage, TargetLink, TargetLinkOwner } from '../target-link.ts'
import {
  classifyTargetContent,
  describeStreamEnd,
  discardReply,
  TargetEventStream,
} from './remote-response.ts'
import type { TargetEventStreamOwner, TargetStreamEnd } from './remote-response.ts'
import { Handshake, logRemoteProblem, sendToRemoteTarget } from './remote-target.ts'
import type { RemoteTargetContext } from './remote-target.ts'

/** Messages that wait for the endpoint or for the end of the handshake. */
const MAX_QUEUED_MESSAGES = 1_024
/** Messages whose POST is not answered yet. */
const MAX_OPEN_POSTS = 1_024
/** A POST is answered at once; its result comes on the stream. */
const POST_DEADLINE_MS = 30_000

/** `opening`: the stream is requested. `waiting`: for the endpoint event. */
type SseLinkState = 'fresh' | 'opening' | 'waiting' | 'open' | 'closed'

const SSE_LINK_TRANSITIONS: Record<SseLinkState, readonly SseLinkState[]> = {
  fresh: ['opening', 'closed'],
  opening: ['waiting', 'closed'],
  waiting: ['open', 'closed'],
  open: ['closed'],
  closed: [],
}

export class SseLink implements TargetLink, ResponseReceiver, TargetEventStreamOwner {
  readonly #remote: RemoteTargetContext
  readonly #owner: TargetLinkOwner
  readonly #handshake = new Handshake()
  readonly #posts = new Map<OutgoingMessage, CancellableCall>()
  #queued: OutgoingMessage[] = []
  #initializedMessage: OutgoingMessage | null = null
  #state: SseLinkState = 'fresh'
  #flow: 'running' | 'paused' = 'running'
  #call: CancellableCall | null = null
  #events: TargetEventStream | null = null
  /** Path and query for POSTs. */
  #endpoint = ''

  constructor(remote: RemoteTargetContext, owner: TargetLinkOwner) {
    this.#remote = remote
    this.#owner = owner
  }

  send(message: OutgoingMessage): void {
    if (this.#state === 'closed') return
    if (this.#state === 'open' && !this.#handshake.isNotifying) return this.#post(message)
    if (this.#queued.length >= MAX_QUEUED_MESSAGES) return this.#refuse(message)
    this.#queued.push(message)
    if (this.#state === 'fresh') this.#open(message)
  }

  forgetRequest(number: number): void {
    this.#queued = this.#queued.filter((message) => message.number !== number)
    if (this.#handshake.isInitialize(number)) this.#handshake.reset()
    for (const [message, call] of this.#posts) {
      if (message.number !== number) continue
      call.cancel()
      this.#posts.delete(message)
    }
  }

  /** Messages that belong to no request come on the same stream. */
  listen(): void {}

  pause(): void {
    this.#flow = 'paused'
    this.#events?.pause()
  }

  resume(): void {
    this.#flow = 'running'
    // Buffered data is delivered at once, which must not happen inside this call.
    queueMicrotask(() => {
      if (this.#flow === 'running') this.#events?.resume()
    })
  }

  close(): void {
    if (this.#state === 'closed') return
    this.#release()
    queueMicrotask(() => this.#owner.closed(`the link to ${this.#name} was closed`))
  }

  answered(reply: Reply): void {
    const { head, body } = reply
    if (head.status !== 200) return this.#giveUp(`${this.#name} answered ${head.status}`, reply)
    if (classifyTargetContent(head) !== 'events') {
      discardReply(reply)
      return this.#giveUp(`${this.#name} did not answer with an event stream`)
    }
    this.#move('waiting')
    this.#events = new TargetEventStream(body, this, this.#remote.limits.maxMessageBytes)
    this.#events.start(this.#flow)
  }

  failed(error: GatewayError): void {
    this.#giveUp(`${this.#name} failed: ${error.message}`)
  }

  event(name: string, data: Buffer): void {
    if (name === 'endpoint') return this.#setEndpoint(data.toString())
    if (name !== '' && name !== 'message') return
    const message = RpcMessage.parse(data)
    if (typeof message === 'string') return this.#rejectMessage(data, message)
    if (message.kind === 'response' && this.#handshake.isInitialize(Number(message.idText))) {
      if (message.result === null) this.#handshake.reset()
      else this.#handshake.answered()
    }
    this.#owner.received(message, 0)
  }

  retryAfter(): void {}

  /** Ends the call that an invalid message answers: no other answer will come. */
  #rejectMessage(data: Buffer, why: string): void {
    logRemoteProblem(this.#remote, 'mcp target sent an invalid message', why)
    const number = findAnsweredNumber(data)
    if (number === 0) return
    if (this.#handshake.isInitialize(number)) this.#handshake.reset()
    const reason = describeInvalidResponse(this.#remote.target.name, why)
    this.#owner.failed(number, reason, null, RPC_CODES.internal)
  }

  streamEnded(how: TargetStreamEnd): void {
    this.#events = null
    this.#giveUp(describeStreamEnd(this.#remote, how))
  }

  #open({ fields, traced }: OutgoingMessage): void {
    this.#move('opening')
    const request = {
      method: 'GET' as const,
      fields,
      own: [['accept', 'text/event-stream']] as const,
      // The owner has a deadline for the answer to `initialize`.
      deadline: 0,
      traced,
    }
    this.#call = sendToRemoteTarget(this.#remote, request, this)
  }

  #setEndpoint(endpoint: string): void {
    if (this.#state !== 'waiting') return
    const path = resolveMessageEndpoint(this.#remote, endpoint)
    if (path === null)
      return this.#giveUp(`${this.#name} sent an endpoint that is not on its origin`)
    this.#endpoint = path
    this.#move('open')
    this.#sendQueued()
  }

  #sendQueued(): void {
    const queued = this.#queued
    this.#queued = []
    for (const message of queued) this.send(message)
  }

  #post(message: OutgoingMessage): void {
    if (this.#posts.size >= MAX_OPEN_POSTS) return this.#refuse(message)
    const role = this.#handshake.classifyOutgoing(message.number)
    if (role === 'initialized') this.#initializedMessage = message
    const request = {
      method: 'POST' as const,
      path: this.#endpoint,
      fields: message.fields,
      own: [['content-type', 'application/json']] as const,
      body: message.bytes,
      deadline: POST_DEADLINE_MS,
      traced: message.traced,
    }
    const receiver: ResponseReceiver = {
      answered: (reply) => this.#postAnswered(message, reply),
      failed: (error) => {
        this.#endPost(message)
        this.#fail(message, `${this.#name} failed: ${error.message}`, null)
      },
    }
    this.#posts.set(message, sendToRemoteTarget(this.#remote, request, receiver))
  }

  #postAnswered(message: OutgoingMessage, reply: Reply): void {
    const { status } = reply.head
    this.#endPost(message)
    if (status < 200 || status > 299)
      return this.#fail(message, `${this.#name} answered ${status}`, reply)
    discardReply(reply)
  }

  #endPost(message: OutgoingMessage): void {
    this.#posts.delete(message)
    if (message !== this.#initializedMessage) return
    this.#initializedMessage = null
    this.#handshake.notified()
    this.#sendQueued()
  }

  #refuse(message: OutgoingMessage): void {
    queueMicrotask(() => {
      if (this.#state !== 'closed')
        this.#fail(message, `${this.#name} has too many messages in flight`, null)
    })
  }

  #fail({ number }: OutgoingMessage, reason: string, reply: Reply | null): void {
    if (number !== 0) {
      if (this.#handshake.isInitialize(number)) this.#handshake.reset()
      return this.#owner.failed(number, reason, reply)
    }
    if (reply !== null) discardReply(reply)
    logRemoteProblem(this.#remote, 'message to mcp target failed', reason)
  }

  /** The stream failed, which closes the link. The first waiting request gets the HTTP reply of the target. */
  #giveUp(reason: string, reply: Reply | null = null): void {
    const first = this.#queued.find(({ number }) => number !== 0)
    this.#release()
    if (reply !== null) {
      if (first === undefined) discardReply(reply)
      else this.#owner.failed(first.number, reason, reply)
    }
    this.#owner.closed(reason)
  }

  #release(): void {
    this.#move('closed')
    this.#queued = []
    this.#call?.cancel()
    this.#events?.cancel()
    this.#events = null
    for (const call of this.#posts.values()) call.cancel()
    this.#posts.clear()
  }

  get #name(): string {
    return `target '${this.#remote.target.name}'`
  }

  #move(to: SseLinkState): void {
    if (!SSE_LINK_TRANSITIONS[this.#state].includes(to))
      throw new Error(`mcp legacy link: ${this.#state} → ${to}`)
    this.#state = to
  }
}

const MAX_ENDPOINT_LENGTH = 8_192

/** Returns path and query of the endpoint; null if it is invalid or on another origin, which is not trusted. */
function resolveMessageEndpoint(
  { target, pool }: RemoteTargetContext,
  text: string,
): string | null {
  if (text.length > MAX_ENDPOINT_LENGTH) return null
  const scheme = target.tls === null ? 'http' : 'https'
  const own = new URL(`${scheme}://${pool.origin.label}${target.path}`)
  if (!URL.canParse(text, own.href)) return null
  const endpoint = new URL(text, own)
  return endpoint.origin === own.origin ? endpoint.pathname + endpoint.search : null
}
