// A session's link to a target of the HTTP+SSE transport (2024-11-05): one event stream brings everything, and names
// the address to which messages are sent.

import type { GatewayError } from '../../../core/errors.ts'
import type { CancellableCall, Reply } from '../../../core/types.ts'
import type { ResponseReceiver } from '../../http/internal-request.ts'
import { RpcMessage } from '../json-rpc.ts'
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

/** Messages that wait for the address, or for the end of the handshake. */
const MAX_QUEUED_MESSAGES = 1_024
/** Messages whose POST was not answered yet. */
const MAX_OPEN_POSTS = 1_024
/** A POST is answered at once: what it brings about comes on the stream. */
const POST_DEADLINE_MS = 30_000

/** `opening`: the stream is asked for. `waiting`: it is there, its address is not. */
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
  /** Path and query to send to. */
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

  /** What belongs to no call comes on the same stream. */
  listen(): void {}

  pause(): void {
    this.#flow = 'paused'
    this.#events?.pause()
  }

  resume(): void {
    this.#flow = 'running'
    // What waits to be read is delivered at once, and that must not be from within this call.
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
      return this.#giveUp(`${this.#name} answered with no event stream`)
    }
    this.#move('waiting')
    this.#events = new TargetEventStream(body, this, this.#remote.limits.maxMessageBytes)
    this.#events.start(this.#flow)
  }

  failed(error: GatewayError): void {
    this.#giveUp(`${this.#name} cannot be asked: ${error.message}`)
  }

  event(name: string, data: Buffer): void {
    if (name === 'endpoint') return this.#sendTo(data.toString())
    if (name !== '' && name !== 'message') return
    const message = RpcMessage.parse(data)
    if (typeof message === 'string')
      return logRemoteProblem(this.#remote, 'mcp target sent an event that is no message', message)
    if (message.kind === 'response' && this.#handshake.isInitialize(Number(message.idText))) {
      if (message.result === null) this.#handshake.reset()
      else this.#handshake.answered()
    }
    this.#owner.received(message, 0)
  }

  retryAfter(): void {}

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
      // Until its answer to `initialize` is there, the owner has a deadline.
      deadline: 0,
      traced,
    }
    this.#call = sendToRemoteTarget(this.#remote, request, this)
  }

  #sendTo(endpoint: string): void {
    if (this.#state !== 'waiting') return
    const path = resolveMessageEndpoint(this.#remote, endpoint)
    if (path === null) return this.#giveUp(`${this.#name} names an endpoint that is not its own`)
    this.#endpoint = path
    this.#move('open')
    this.#sendHeld()
  }

  #sendHeld(): void {
    const held = this.#queued
    this.#queued = []
    for (const message of held) this.send(message)
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
    const asker: ResponseReceiver = {
      answered: (reply) => this.#posted(message, reply),
      failed: (error) => {
        this.#postOver(message)
        this.#fail(message, `${this.#name} cannot be asked: ${error.message}`, null)
      },
    }
    this.#posts.set(message, sendToRemoteTarget(this.#remote, request, asker))
  }

  #posted(message: OutgoingMessage, reply: Reply): void {
    const { status } = reply.head
    this.#postOver(message)
    if (status < 200 || status > 299)
      return this.#fail(message, `${this.#name} answered ${status}`, reply)
    discardReply(reply)
  }

  #postOver(message: OutgoingMessage): void {
    this.#posts.delete(message)
    if (message !== this.#initializedMessage) return
    this.#initializedMessage = null
    this.#handshake.notified()
    this.#sendHeld()
  }

  #refuse(message: OutgoingMessage): void {
    queueMicrotask(() => {
      if (this.#state !== 'closed')
        this.#fail(message, `${this.#name} has too many messages under way`, null)
    })
  }

  #fail({ number }: OutgoingMessage, reason: string, reply: Reply | null): void {
    if (number !== 0) {
      if (this.#handshake.isInitialize(number)) this.#handshake.reset()
      return this.#owner.failed(number, reason, reply)
    }
    if (reply !== null) discardReply(reply)
    logRemoteProblem(this.#remote, 'mcp target did not take a message', reason)
  }

  /** Without its stream there is no link. Whoever waits first hears what the target said. */
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

// Where a target of the HTTP+SSE transport wants messages sent: somewhere on its own origin, or nowhere.

const MAX_LENGTH = 8_192

/** Path and query; null for an address that is none, or another origin's, which might be anybody's. */
function resolveMessageEndpoint(
  { target, pool }: RemoteTargetContext,
  text: string,
): string | null {
  if (text.length > MAX_LENGTH) return null
  const scheme = target.tls === null ? 'http' : 'https'
  const own = new URL(`${scheme}://${pool.origin.label}${target.path}`)
  if (!URL.canParse(text, own.href)) return null
  const named = new URL(text, own)
  return named.origin === own.origin ? named.pathname + named.search : null
}
