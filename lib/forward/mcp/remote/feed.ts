// An event stream of a target's that is opened again where it broke off: the answer to one request, or what a
// target says unasked.

import type { GatewayError } from '../../../base/errors.ts'
import type { Body, Call, Reply } from '../../../base/types.ts'
import type { Asker } from '../../http/ask.ts'
import { Message } from '../message.ts'
import type { SentFields } from '../types.ts'
import { contentOf } from './content.ts'
import { dismiss } from './dismiss.ts'
import { Events, reasonOf } from './events.ts'
import type { EventsOwner, StreamEnd } from './events.ts'
import { askRemote, note } from './remote.ts'
import type { Remote } from './remote.ts'

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
const TELLABLE_ID = /^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/
/** Statuses after which another try may do better. */
const PASSING = new Set([408, 409, 425, 429])

/** `ending`: what was wanted is here, and nothing more is. */
type State = 'idle' | 'asking' | 'reading' | 'waiting' | 'ending' | 'over'

const MOVES: Record<State, readonly State[]> = {
  idle: ['asking', 'reading', 'over'],
  asking: ['reading', 'waiting', 'over'],
  reading: ['waiting', 'ending', 'over'],
  waiting: ['asking', 'over'],
  ending: ['over'],
  over: [],
}

/** `answer`: opened again only where an event's id tells from where. `unasked`: always. */
export type FeedKind = 'answer' | 'unasked'

export interface FeedOwner {
  readonly remote: Remote
  readonly flow: 'running' | 'paused'
  /** The client's headers, and the session's. */
  readonly fields: SentFields
  sessionFields(): SentFields
  heard(message: Message): void
  /** It brings no more. Comes once, last, unless the owner cancelled. */
  feedOver(reason: string): void
}

export class Feed implements Asker, EventsOwner {
  readonly #owner: FeedOwner
  readonly #kind: FeedKind
  #state: State = 'idle'
  #call: Call | null = null
  #events: Events | null = null
  #timer: NodeJS.Timeout | null = null
  #lastId = ''
  #retry = -1
  #tries = 0
  #openedAt = 0

  constructor(owner: FeedOwner, kind: FeedKind) {
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
    this.#call = askRemote(remote, request, this)
  }

  /** Reads a stream that is there already. */
  read(body: Body): void {
    this.#move('reading')
    this.#openedAt = performance.now()
    this.#events = new Events(body, this, this.#owner.remote.limits.maxMessageBytes)
    this.#events.start(this.#owner.flow)
  }

  /** What was wanted has come: the stream should end now, and does so in any case. */
  finish(): void {
    if (this.#state !== 'reading') return
    this.#move('ending')
    this.#timer = setTimeout(() => this.#over('answered'), ENDING_MS)
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
    if (status === 200 && contentOf(head) === 'events') return this.read(body)
    dismiss(reply)
    const reason = `${this.#name} answered ${status} to a request for its event stream`
    if (status >= 500 || PASSING.has(status)) this.#again(reason)
    else this.#over(reason)
  }

  failed(error: GatewayError): void {
    this.#again(`${this.#name}: ${error.message}`)
  }

  event(name: string, data: Buffer, id: string | null): void {
    if (id !== null) this.#lastId = TELLABLE_ID.test(id) ? id : ''
    // The first event of a stream may bring no more than an id.
    if (data.length === 0 || (name !== '' && name !== 'message')) return
    const message = Message.from(data)
    if (typeof message === 'string')
      return note(this.#owner.remote, 'mcp target sent an event that is no message', message)
    this.#tries = 0
    this.#owner.heard(message)
  }

  retry(ms: number): void {
    this.#retry = ms
  }

  streamOver(how: StreamEnd): void {
    this.#events = null
    if (this.#state === 'ending') return this.#over('answered')
    if (performance.now() - this.#openedAt > STEADY_MS) this.#tries = 0
    // From there on the same event would come again.
    if (how === 'too long') this.#lastId = ''
    this.#again(reasonOf(this.#owner.remote, how))
  }

  get #name(): string {
    return `target '${this.#owner.remote.target.name}'`
  }

  #again(reason: string): void {
    const isResumable = this.#kind === 'unasked' || this.#lastId !== ''
    if (!isResumable || this.#tries >= MAX_REOPENS) return this.#over(reason)
    this.#move('waiting')
    const wanted = this.#retry >= 0 ? this.#retry : FIRST_DELAY_MS * 2 ** this.#tries
    this.#tries++
    const delay = Math.min(MAX_DELAY_MS, Math.max(MIN_DELAY_MS, wanted))
    this.#timer = setTimeout(() => this.open(), delay)
  }

  #over(reason: string): void {
    this.#move('over')
    this.#release()
    this.#owner.feedOver(reason)
  }

  #release(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#call?.cancel()
    this.#call = null
    this.#events?.cancel()
    this.#events = null
  }

  #move(to: State): void {
    if (!MOVES[this.#state].includes(to)) throw new Error(`mcp feed: ${this.#state} → ${to}`)
    this.#state = to
  }
}
