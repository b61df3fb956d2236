// The link of one session to a Streamable HTTP target: a POST for each message, answered by JSON or an event stream,
// and one stand-alone stream for messages that belong to no request.

import { listMembers, readJsonString } from '../../../text/json-scan.ts'
import type { Reply } from '../../../core/types.ts'
import type { ResponseHead } from '../../../core/head.ts'
import { RPC_CODES } from '../json-rpc.ts'
import type { RpcCode, RpcMessage } from '../json-rpc.ts'
import { describeInvalidResponse } from '../target-link.ts'
import type {
  TargetLink,
  TargetLinkOwner,
  OutgoingMessage,
  ForwardedHeaders,
} from '../target-link.ts'
import { discardReply } from './remote-response.ts'
import { EventFeed } from './event-feed.ts'
import type { EventFeedOwner } from './event-feed.ts'
import { Handshake, logRemoteProblem, sendToRemoteTarget } from './remote-target.ts'
import { StreamablePost } from './streamable-post.ts'
import type { StreamablePostOwner } from './streamable-post.ts'
import type { RemoteTargetContext } from './remote-target.ts'

/** Open requests of one link, and additional notifications: a cancellation must still get through. */
const MAX_REQUESTS = 1_024
const MAX_NOTIFICATIONS = 256
/** Deadline for the DELETE of the remote session. */
const DELETE_DEADLINE_MS = 5_000
/** Session ids that targets may send: visible ASCII. */
const SESSION_ID_PATTERN = /^[\x21-\x7e]{1,8192}$/
const PROTOCOL_VERSION_PATTERN = /^[\w.-]{1,32}$/

export class StreamableLink implements TargetLink, StreamablePostOwner, EventFeedOwner {
  readonly remote: RemoteTargetContext
  flow: 'running' | 'paused' = 'running'
  session = ''
  readonly #owner: TargetLinkOwner
  readonly #handshake = new Handshake()
  readonly #posts = new Set<StreamablePost>()
  /** Messages that wait until `notifications/initialized` has arrived. */
  #queued: OutgoingMessage[] = []
  #initializedPost: StreamablePost | null = null
  #version = ''
  /** The latest client headers; the DELETE of the session may need them. */
  #fields: ForwardedHeaders = []
  /** Headers for the stand-alone stream, once the client has opened one. */
  #serverStreamHeaders: ForwardedHeaders | null = null
  #serverStream: EventFeed | null = null
  #state: 'open' | 'closed' = 'open'

  constructor(remote: RemoteTargetContext, owner: TargetLinkOwner) {
    this.remote = remote
    this.#owner = owner
  }

  send(message: OutgoingMessage): void {
    if (this.#state === 'closed') return
    const { number } = message
    const maxMessages = number === 0 ? MAX_REQUESTS + MAX_NOTIFICATIONS : MAX_REQUESTS
    if (this.#posts.size + this.#queued.length >= maxMessages)
      return queueMicrotask(() => this.#refuse(number))
    this.#fields = message.fields
    if (this.#handshake.isNotifying) this.#queued.push(message)
    else this.#post(message)
  }

  forgetRequest(number: number): void {
    this.#queued = this.#queued.filter((message) => message.number !== number)
    for (const post of this.#posts) {
      if (post.number !== number) continue
      post.cancel()
      this.postEnded(post)
    }
  }

  listen(fields: ForwardedHeaders): void {
    if (this.#state === 'closed') return
    this.#serverStreamHeaders = fields
    if (this.#handshake.isDone) this.#openServerStream()
  }

  pause(): void {
    this.flow = 'paused'
    for (const post of this.#posts) post.pause()
    this.#serverStream?.pause()
  }

  resume(): void {
    this.flow = 'running'
    // Buffered data is delivered at once, which must not happen inside this call.
    queueMicrotask(() => this.#resumeReaders())
  }

  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    for (const post of this.#posts) post.cancel()
    this.#posts.clear()
    this.#queued = []
    this.#serverStream?.cancel()
    this.#serverStream = null
    this.#deleteSession()
    queueMicrotask(() => this.#owner.closed(`the link to ${this.#name} was closed`))
  }

  get fields(): ForwardedHeaders {
    return this.#serverStreamHeaders ?? []
  }

  sessionFields(): ForwardedHeaders {
    const fields: [string, string][] = []
    if (this.session !== '') fields.push(['mcp-session-id', this.session])
    if (this.#version !== '') fields.push(['mcp-protocol-version', this.#version])
    return fields
  }

  accepted({ number }: StreamablePost, head: ResponseHead): void {
    const id = head.get('mcp-session-id')
    if (id === undefined || !this.#handshake.isInitialize(number)) return
    if (SESSION_ID_PATTERN.test(id)) this.session = id
    else logRemoteProblem(this.remote, 'mcp target sent an invalid session id', 'malformed')
  }

  received(message: RpcMessage, { number }: StreamablePost): void {
    if (this.#handshake.isInitialize(number) && message.idText === String(number))
      this.#initialized(message)
    this.#owner.received(message, number)
  }

  postEnded(post: StreamablePost): void {
    this.#posts.delete(post)
    if (post === this.#initializedPost) this.#initializedDelivered()
    // Still the unanswered `initialize`, so it failed.
    if (this.#handshake.isInitialize(post.number)) this.#handshake.reset()
  }

  failed({ number }: StreamablePost, reason: string, reply: Reply | null, code?: RpcCode): void {
    if (number !== 0) return this.#owner.failed(number, reason, reply, code)
    if (reply !== null) discardReply(reply)
    logRemoteProblem(this.remote, 'message to mcp target failed', reason)
  }

  expired({ number, session, outgoing }: StreamablePost): void {
    // The next request reports the expiry to the owner.
    if (number === 0)
      return logRemoteProblem(this.remote, 'message to mcp target failed', 'no session')
    // A new session has started since: send the message there.
    if (session !== this.session && this.#handshake.hasBegun) return this.send(outgoing)
    const queued = session === this.session ? this.#resetSession() : []
    this.#owner.expired(number)
    for (const message of queued) if (message.number !== 0) this.#owner.expired(message.number)
  }

  messageReceived(message: RpcMessage): void {
    this.#owner.received(message, 0)
  }

  invalidAnswerReceived(number: number, why: string): void {
    this.forgetRequest(number)
    const reason = describeInvalidResponse(this.remote.target.name, why)
    this.#owner.failed(number, reason, null, RPC_CODES.internal)
  }

  feedEnded(reason: string): void {
    this.#serverStream = null
    logRemoteProblem(this.remote, 'stand-alone stream of mcp target ended', reason)
  }

  #post(message: OutgoingMessage): void {
    const role = this.#handshake.classifyOutgoing(message.number)
    const post = new StreamablePost(this, message)
    this.#posts.add(post)
    if (role === 'initialized') this.#initializedPost = post
  }

  #initialized({ bytes, result }: RpcMessage): void {
    if (result === null) {
      this.session = ''
      return this.#handshake.reset()
    }
    const version = listMembers(bytes, result).find(({ key }) => key === 'protocolVersion')
    const text = version === undefined ? undefined : readJsonString(bytes, version)
    // The version becomes a header value.
    this.#version = text !== undefined && PROTOCOL_VERSION_PATTERN.test(text) ? text : ''
    this.#handshake.answered()
  }

  #initializedDelivered(): void {
    this.#initializedPost = null
    this.#handshake.notified()
    const queued = this.#queued
    this.#queued = []
    for (const message of queued) this.#post(message)
    this.#openServerStream()
  }

  /** Forgets a session that the target does not know any more; returns the messages that were not sent. */
  #resetSession(): OutgoingMessage[] {
    this.session = ''
    this.#version = ''
    this.#initializedPost = null
    this.#handshake.reset()
    this.#serverStream?.cancel()
    this.#serverStream = null
    const queued = this.#queued
    this.#queued = []
    return queued
  }

  #openServerStream(): void {
    if (this.#serverStreamHeaders === null || this.#serverStream !== null) return
    this.#serverStream = new EventFeed(this, 'standalone')
    this.#serverStream.open()
  }

  #resumeReaders(): void {
    const readers =
      this.#serverStream === null ? [...this.#posts] : [...this.#posts, this.#serverStream]
    // The owner may pause again before all of them are resumed.
    for (const reader of readers) if (this.flow === 'running') reader.resume()
  }

  #deleteSession(): void {
    if (this.session === '') return
    const request = {
      method: 'DELETE' as const,
      fields: this.#fields,
      own: this.sessionFields(),
      deadline: DELETE_DEADLINE_MS,
    }
    const ended = new Promise<void>((resolve) => {
      const answered = (reply: Reply): void => {
        discardReply(reply)
        resolve()
      }
      sendToRemoteTarget(this.remote, request, { answered, failed: () => resolve() })
    })
    this.remote.leaving(ended)
  }

  #refuse(number: number): void {
    if (this.#state === 'closed') return
    const reason = `${this.#name} has too many messages in flight`
    if (number !== 0) this.#owner.failed(number, reason, null)
    else logRemoteProblem(this.remote, 'message to mcp target failed', reason)
  }

  get #name(): string {
    return `target '${this.remote.target.name}'`
  }
}
