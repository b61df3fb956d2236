// One message on its way to a Streamable HTTP target, and the answer to it, however that comes.

import type { GatewayError } from '../../../base/errors.ts'
import type { Call, Reply } from '../../../base/types.ts'
import type { ResponseHead } from '../../../base/wire/head.ts'
import type { Asker } from '../../http/ask.ts'
import type { Message } from '../message.ts'
import type { Outgoing, SentFields } from '../types.ts'
import { contentOf, messagesIn } from './content.ts'
import { dismiss } from './dismiss.ts'
import { Feed } from './feed.ts'
import type { FeedOwner } from './feed.ts'
import { askRemote, tooLong } from './remote.ts'
import type { Remote } from './remote.ts'
import { Whole } from './whole.ts'
import type { WholeOwner } from './whole.ts'

/** What is no request is taken at once or not at all. */
const TELL_DEADLINE_MS = 30_000

const POST_FIELDS: SentFields = [
  ['content-type', 'application/json'],
  ['accept', 'application/json, text/event-stream'],
]

export interface PostOwner {
  readonly remote: Remote
  readonly flow: 'running' | 'paused'
  /** '' when there is none. */
  readonly session: string
  sessionFields(): SentFields
  /** The target takes the message. */
  accepted(post: Post, head: ResponseHead): void
  received(message: Message, post: Post): void
  /** Nothing more will come of it; `failed` or `expired` may follow. */
  postOver(post: Post): void
  failed(post: Post, reason: string, reply: Reply | null): void
  expired(post: Post): void
}

/** `answered`: only the end of its stream is awaited. */
type State = 'open' | 'answered' | 'over'

export class Post implements Asker, FeedOwner, WholeOwner {
  readonly outgoing: Outgoing
  /** That it was sent with. */
  readonly session: string
  readonly #owner: PostOwner
  readonly #call: Call
  #state: State = 'open'
  #reading: Feed | Whole | null = null

  constructor(owner: PostOwner, outgoing: Outgoing) {
    this.#owner = owner
    this.outgoing = outgoing
    this.session = owner.session
    const request = {
      method: 'POST' as const,
      fields: outgoing.fields,
      own: [...POST_FIELDS, ...owner.sessionFields()],
      body: outgoing.bytes,
      deadline: outgoing.number === 0 ? TELL_DEADLINE_MS : 0,
      traced: outgoing.traced,
    }
    this.#call = askRemote(owner.remote, request, this)
  }

  get number(): number {
    return this.outgoing.number
  }

  get remote(): Remote {
    return this.#owner.remote
  }

  get flow(): 'running' | 'paused' {
    return this.#owner.flow
  }

  get fields(): SentFields {
    return this.outgoing.fields
  }

  sessionFields(): SentFields {
    return this.#owner.sessionFields()
  }

  pause(): void {
    this.#reading?.pause()
  }

  resume(): void {
    this.#reading?.resume()
  }

  /** The owner hears no more of it. */
  cancel(): void {
    this.#state = 'over'
    this.#call.cancel()
    this.#reading?.cancel()
  }

  answered(reply: Reply): void {
    const { status } = reply.head
    if (status === 404 && this.session !== '') {
      dismiss(reply)
      this.#over()
      return this.#owner.expired(this)
    }
    if (status < 200 || status > 299) return this.#fail(`answered ${status}`, reply)
    this.#owner.accepted(this, reply.head)
    if (this.number !== 0) return this.#read(reply)
    dismiss(reply)
    this.#over()
  }

  failed(error: GatewayError): void {
    this.#fail(`cannot be asked: ${error.message}`)
  }

  heard(message: Message): void {
    if (this.#state === 'over') return
    const isAnswer = message.kind === 'response' && message.idText === String(this.number)
    if (isAnswer && this.#state === 'open') {
      this.#state = 'answered'
      if (this.#reading instanceof Feed) this.#reading.finish()
    }
    this.#owner.received(message, this)
  }

  feedOver(reason: string): void {
    this.#give(reason, null)
  }

  whole(bytes: Buffer): void {
    const messages = messagesIn(bytes)
    if (typeof messages === 'string') return this.#fail(`sent what is ${messages}`)
    for (const message of messages) this.heard(message)
    this.#fail('sent no answer to the request')
  }

  tooLong(): void {
    this.#give(tooLong(this.remote), null)
  }

  broken(): void {
    this.#fail('closed the connection in the middle of its answer')
  }

  #read(reply: Reply): void {
    const { head, body } = reply
    switch (contentOf(head)) {
      case 'events':
        this.#reading = new Feed(this, 'answer')
        return this.#reading.read(body)
      case 'json':
        this.#reading = new Whole(body, this, this.remote.limits.maxMessageBytes)
        return this.#reading.start(this.flow)
      case 'unreadable':
        dismiss(reply)
        this.#fail(`answered ${head.status} with neither plain JSON nor an event stream`)
    }
  }

  #fail(what: string, reply: Reply | null = null): void {
    this.#give(`target '${this.remote.target.name}' ${what}`, reply)
  }

  /** It is over; as a failure, unless the answer was there before. */
  #give(reason: string, reply: Reply | null): void {
    const wasOpen = this.#state === 'open'
    if (this.#state !== 'over') this.#over()
    if (wasOpen) this.#owner.failed(this, reason, reply)
  }

  #over(): void {
    this.#state = 'over'
    this.#owner.postOver(this)
  }
}
