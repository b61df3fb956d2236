// A session's link to a target of the HTTP+SSE transport (2024-11-05): one event stream brings everything, and names
// the address to which messages are sent.

import type { GatewayError } from '../../../base/errors.ts'
import type { Call, Reply } from '../../../base/types.ts'
import type { Asker } from '../../http/ask.ts'
import { Message } from '../message.ts'
import type { Link, LinkOwner, Outgoing } from '../types.ts'
import { contentOf } from './content.ts'
import { dismiss } from './dismiss.ts'
import { endpointOf } from './endpoint.ts'
import { Events, reasonOf } from './events.ts'
import type { EventsOwner, StreamEnd } from './events.ts'
import { Handshake } from './handshake.ts'
import { askRemote, note } from './remote.ts'
import type { Remote } from './remote.ts'

/** Messages that wait for the address, or for the end of the handshake. */
const MAX_HELD = 1_024
/** Messages whose POST was not answered yet. */
const MAX_UNDER_WAY = 1_024
/** A POST is answered at once: what it brings about comes on the stream. */
const POST_DEADLINE_MS = 30_000

/** `opening`: the stream is asked for. `waiting`: it is there, its address is not. */
type State = 'fresh' | 'opening' | 'waiting' | 'open' | 'closed'

const MOVES: Record<State, readonly State[]> = {
  fresh: ['opening', 'closed'],
  opening: ['waiting', 'closed'],
  waiting: ['open', 'closed'],
  open: ['closed'],
  closed: [],
}

export class LegacyLink implements Link, Asker, EventsOwner {
  readonly #remote: Remote
  readonly #owner: LinkOwner
  readonly #handshake = new Handshake()
  readonly #posts = new Map<Outgoing, Call>()
  #held: Outgoing[] = []
  #telling: Outgoing | null = null
  #state: State = 'fresh'
  #flow: 'running' | 'paused' = 'running'
  #call: Call | null = null
  #events: Events | null = null
  /** Path and query to send to. */
  #endpoint = ''

  constructor(remote: Remote, owner: LinkOwner) {
    this.#remote = remote
    this.#owner = owner
  }

  send(message: Outgoing): void {
    if (this.#state === 'closed') return
    if (this.#state === 'open' && !this.#handshake.isTelling) return this.#post(message)
    if (this.#held.length >= MAX_HELD) return this.#refuse(message)
    this.#held.push(message)
    if (this.#state === 'fresh') this.#open(message)
  }

  forget(number: number): void {
    this.#held = this.#held.filter((message) => message.number !== number)
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
    if (contentOf(head) !== 'events') {
      dismiss(reply)
      return this.#giveUp(`${this.#name} answered with no event stream`)
    }
    this.#move('waiting')
    this.#events = new Events(body, this, this.#remote.limits.maxMessageBytes)
    this.#events.start(this.#flow)
  }

  failed(error: GatewayError): void {
    this.#giveUp(`${this.#name} cannot be asked: ${error.message}`)
  }

  event(name: string, data: Buffer): void {
    if (name === 'endpoint') return this.#sendTo(data.toString())
    if (name !== '' && name !== 'message') return
    const message = Message.from(data)
    if (typeof message === 'string')
      return note(this.#remote, 'mcp target sent an event that is no message', message)
    if (message.kind === 'response' && this.#handshake.isInitialize(Number(message.idText))) {
      if (message.result === null) this.#handshake.reset()
      else this.#handshake.answered()
    }
    this.#owner.received(message, 0)
  }

  retry(): void {}

  streamOver(how: StreamEnd): void {
    this.#events = null
    this.#giveUp(reasonOf(this.#remote, how))
  }

  #open({ fields, traced }: Outgoing): void {
    this.#move('opening')
    const request = {
      method: 'GET' as const,
      fields,
      own: [['accept', 'text/event-stream']] as const,
      // Until its answer to `initialize` is there, the owner has a deadline.
      deadline: 0,
      traced,
    }
    this.#call = askRemote(this.#remote, request, this)
  }

  #sendTo(endpoint: string): void {
    if (this.#state !== 'waiting') return
    const path = endpointOf(this.#remote, endpoint)
    if (path === null) return this.#giveUp(`${this.#name} names an endpoint that is not its own`)
    this.#endpoint = path
    this.#move('open')
    this.#sendHeld()
  }

  #sendHeld(): void {
    const held = this.#held
    this.#held = []
    for (const message of held) this.send(message)
  }

  #post(message: Outgoing): void {
    if (this.#posts.size >= MAX_UNDER_WAY) return this.#refuse(message)
    const role = this.#handshake.sending(message.number)
    if (role === 'initialized') this.#telling = message
    const request = {
      method: 'POST' as const,
      path: this.#endpoint,
      fields: message.fields,
      own: [['content-type', 'application/json']] as const,
      body: message.bytes,
      deadline: POST_DEADLINE_MS,
      traced: message.traced,
    }
    const asker: Asker = {
      answered: (reply) => this.#posted(message, reply),
      failed: (error) => {
        this.#postOver(message)
        this.#fail(message, `${this.#name} cannot be asked: ${error.message}`, null)
      },
    }
    this.#posts.set(message, askRemote(this.#remote, request, asker))
  }

  #posted(message: Outgoing, reply: Reply): void {
    const { status } = reply.head
    this.#postOver(message)
    if (status < 200 || status > 299)
      return this.#fail(message, `${this.#name} answered ${status}`, reply)
    dismiss(reply)
  }

  #postOver(message: Outgoing): void {
    this.#posts.delete(message)
    if (message !== this.#telling) return
    this.#telling = null
    this.#handshake.told()
    this.#sendHeld()
  }

  #refuse(message: Outgoing): void {
    queueMicrotask(() => {
      if (this.#state !== 'closed')
        this.#fail(message, `${this.#name} has too many messages under way`, null)
    })
  }

  #fail({ number }: Outgoing, reason: string, reply: Reply | null): void {
    if (number !== 0) {
      if (this.#handshake.isInitialize(number)) this.#handshake.reset()
      return this.#owner.failed(number, reason, reply)
    }
    if (reply !== null) dismiss(reply)
    note(this.#remote, 'mcp target did not take a message', reason)
  }

  /** Without its stream there is no link. Whoever waits first hears what the target said. */
  #giveUp(reason: string, reply: Reply | null = null): void {
    const first = this.#held.find(({ number }) => number !== 0)
    this.#release()
    if (reply !== null) {
      if (first === undefined) dismiss(reply)
      else this.#owner.failed(first.number, reason, reply)
    }
    this.#owner.closed(reason)
  }

  #release(): void {
    this.#move('closed')
    this.#held = []
    this.#call?.cancel()
    this.#events?.cancel()
    this.#events = null
    for (const call of this.#posts.values()) call.cancel()
    this.#posts.clear()
  }

  get #name(): string {
    return `target '${this.#remote.target.name}'`
  }

  #move(to: State): void {
    if (!MOVES[this.#state].includes(to)) throw new Error(`mcp legacy link: ${this.#state} → ${to}`)
    this.#state = to
  }
}
