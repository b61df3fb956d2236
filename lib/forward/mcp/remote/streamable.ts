// A session's link to a Streamable HTTP target: a POST for each message, whose answer is JSON or an event stream,
// and one stream for what belongs to no request.

import { membersOf, stringAt } from '../../../base/json/scan.ts'
import type { Reply } from '../../../base/types.ts'
import type { ResponseHead } from '../../../base/wire/head.ts'
import type { Message } from '../message.ts'
import type { Link, LinkOwner, Outgoing, SentFields } from '../types.ts'
import { dismiss } from './dismiss.ts'
import { Feed } from './feed.ts'
import type { FeedOwner } from './feed.ts'
import { Handshake } from './handshake.ts'
import { Post } from './post.ts'
import type { PostOwner } from './post.ts'
import { askRemote, note } from './remote.ts'
import type { Remote } from './remote.ts'

/** Requests under way on one link, and beside them what is no request: a cancellation must still get through. */
const MAX_REQUESTS = 1_024
const MAX_OTHERS = 256
/** How long a target may take to hear that its session is over. */
const DELETE_DEADLINE_MS = 5_000
/** A session's id as targets may give it: visible ASCII. */
const SESSION_ID = /^[\x21-\x7e]{1,8192}$/
const VERSION = /^[\w.-]{1,32}$/

export class StreamableLink implements Link, PostOwner, FeedOwner {
  readonly remote: Remote
  flow: 'running' | 'paused' = 'running'
  session = ''
  readonly #owner: LinkOwner
  readonly #handshake = new Handshake()
  readonly #posts = new Set<Post>()
  /** They wait for `notifications/initialized` to arrive. */
  #held: Outgoing[] = []
  #telling: Post | null = null
  #version = ''
  /** The client's, as it sent them last: saying goodbye may need them. */
  #fields: SentFields = []
  /** Those to listen with, once somebody wants to. */
  #ear: SentFields | null = null
  #feed: Feed | null = null
  #state: 'open' | 'closed' = 'open'

  constructor(remote: Remote, owner: LinkOwner) {
    this.remote = remote
    this.#owner = owner
  }

  send(message: Outgoing): void {
    if (this.#state === 'closed') return
    const { number } = message
    const most = number === 0 ? MAX_REQUESTS + MAX_OTHERS : MAX_REQUESTS
    if (this.#posts.size + this.#held.length >= most)
      return queueMicrotask(() => this.#refuse(number))
    this.#fields = message.fields
    if (this.#handshake.isTelling) this.#held.push(message)
    else this.#post(message)
  }

  forget(number: number): void {
    this.#held = this.#held.filter((message) => message.number !== number)
    for (const post of this.#posts) {
      if (post.number !== number) continue
      post.cancel()
      this.postOver(post)
    }
  }

  listen(fields: SentFields): void {
    if (this.#state === 'closed') return
    this.#ear = fields
    if (this.#handshake.isDone) this.#listen()
  }

  pause(): void {
    this.flow = 'paused'
    for (const post of this.#posts) post.pause()
    this.#feed?.pause()
  }

  resume(): void {
    this.flow = 'running'
    // What waits to be read is delivered at once, and that must not be from within this call.
    queueMicrotask(() => this.#resume())
  }

  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    for (const post of this.#posts) post.cancel()
    this.#posts.clear()
    this.#held = []
    this.#feed?.cancel()
    this.#feed = null
    this.#leave()
    queueMicrotask(() => this.#owner.closed(`the link to ${this.#name} was closed`))
  }

  get fields(): SentFields {
    return this.#ear ?? []
  }

  sessionFields(): SentFields {
    const fields: [string, string][] = []
    if (this.session !== '') fields.push(['mcp-session-id', this.session])
    if (this.#version !== '') fields.push(['mcp-protocol-version', this.#version])
    return fields
  }

  accepted({ number }: Post, head: ResponseHead): void {
    const id = head.get('mcp-session-id')
    if (id === undefined || !this.#handshake.isInitialize(number)) return
    if (SESSION_ID.test(id)) this.session = id
    else note(this.remote, 'mcp target gave a session id that cannot be used', 'malformed')
  }

  received(message: Message, { number }: Post): void {
    if (this.#handshake.isInitialize(number) && message.idText === String(number))
      this.#initialized(message)
    this.#owner.received(message, number)
  }

  postOver(post: Post): void {
    this.#posts.delete(post)
    if (post === this.#telling) this.#told()
    // It was not answered, or that would be known by now.
    if (this.#handshake.isInitialize(post.number)) this.#handshake.reset()
  }

  failed({ number }: Post, reason: string, reply: Reply | null): void {
    if (number !== 0) return this.#owner.failed(number, reason, reply)
    if (reply !== null) dismiss(reply)
    note(this.remote, 'mcp target did not take a message', reason)
  }

  expired({ number, session, outgoing }: Post): void {
    // The next request will tell the owner.
    if (number === 0) return note(this.remote, 'mcp target did not take a message', 'no session')
    // Another session has begun since.
    if (session !== this.session && this.#handshake.hasBegun) return this.send(outgoing)
    const held = session === this.session ? this.#startOver() : []
    this.#owner.expired(number)
    for (const message of held) if (message.number !== 0) this.#owner.expired(message.number)
  }

  heard(message: Message): void {
    this.#owner.received(message, 0)
  }

  feedOver(reason: string): void {
    this.#feed = null
    note(this.remote, 'mcp target brings nothing unasked', reason)
  }

  #post(message: Outgoing): void {
    const role = this.#handshake.sending(message.number)
    const post = new Post(this, message)
    this.#posts.add(post)
    if (role === 'initialized') this.#telling = post
  }

  #initialized({ bytes, result }: Message): void {
    if (result === null) {
      this.session = ''
      return this.#handshake.reset()
    }
    const version = membersOf(bytes, result).find(({ key }) => key === 'protocolVersion')
    const text = version === undefined ? undefined : stringAt(bytes, version)
    // It becomes a header's value.
    this.#version = text !== undefined && VERSION.test(text) ? text : ''
    this.#handshake.answered()
  }

  #told(): void {
    this.#telling = null
    this.#handshake.told()
    const held = this.#held
    this.#held = []
    for (const message of held) this.#post(message)
    this.#listen()
  }

  /** Forgets a session that the target does not know any more; what was held for it was not sent. */
  #startOver(): Outgoing[] {
    this.session = ''
    this.#version = ''
    this.#telling = null
    this.#handshake.reset()
    this.#feed?.cancel()
    this.#feed = null
    const held = this.#held
    this.#held = []
    return held
  }

  #listen(): void {
    if (this.#ear === null || this.#feed !== null) return
    this.#feed = new Feed(this, 'unasked')
    this.#feed.open()
  }

  #resume(): void {
    const readers = this.#feed === null ? [...this.#posts] : [...this.#posts, this.#feed]
    // The owner may have enough again before all of them are read.
    for (const reader of readers) if (this.flow === 'running') reader.resume()
  }

  #leave(): void {
    if (this.session === '') return
    const request = {
      method: 'DELETE' as const,
      fields: this.#fields,
      own: this.sessionFields(),
      deadline: DELETE_DEADLINE_MS,
    }
    const over = new Promise<void>((resolve) => {
      const answered = (reply: Reply): void => {
        dismiss(reply)
        resolve()
      }
      askRemote(this.remote, request, { answered, failed: () => resolve() })
    })
    this.remote.leaving(over)
  }

  #refuse(number: number): void {
    if (this.#state === 'closed') return
    const reason = `${this.#name} has too many messages under way`
    if (number !== 0) this.#owner.failed(number, reason, null)
    else note(this.remote, 'mcp target did not take a message', reason)
  }

  get #name(): string {
    return `target '${this.remote.target.name}'`
  }
}
