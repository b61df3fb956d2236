// One way to the client: the stream that answers a POST, or the stand-alone one of a GET. It outlives its connection:
// a client that comes back with Last-Event-ID goes on where it was.

import assert from 'node:assert'
import { headOf } from '../../../base/reply.ts'
import type { Attempt, Reply } from '../../../base/types.ts'
import type { ResponseHead } from '../../../base/wire/head.ts'
import { MAX_QUEUED_BYTES } from '../bounds.ts'
import { EventStream } from '../endpoint/event-stream.ts'
import type { StreamOwner } from '../endpoint/event-stream.ts'
import type { History } from './history.ts'

export interface ChannelOwner {
  readonly history: History
  /** Protocol versions from 2025-11-25 on know events without data. */
  readonly knowsPriming: boolean
  /** Its client is gone: it may come back if it has seen an event's id. */
  parted(channel: Channel): void
  /** Its reader is too slow for what is sent, or has caught up. */
  pressed(channel: Channel): void
  relieved(channel: Channel): void
}

/** `waiting`: the answer's head is not out. `parted`: nobody reads. */
type State = 'waiting' | 'open' | 'parted' | 'over'

const MOVES: Record<State, readonly State[]> = {
  waiting: ['open', 'parted', 'over'],
  open: ['parted', 'over'],
  parted: ['waiting', 'open', 'over'],
  over: [],
}

type MoreFields = readonly (readonly [string, string])[]

/** The stand-alone channel of every session. */
export const ALONE = 0

export class Channel implements StreamOwner {
  readonly number: number
  readonly #owner: ChannelOwner
  /** Calls it still has to answer. */
  holds = 0
  /** Headers of the answer beside the usual ones. */
  fields: MoreFields = []
  /** `cut`: its reader can ask for the rest again, and calls of the session must not wait for it. */
  whenSlow: 'press' | 'cut' = 'press'
  /** Whether its events have ids, by which a client could ask for them again. */
  memory: 'kept' | 'none' = 'kept'
  #state: State = 'parted'
  #attempt: Attempt | null = null
  #headBy = 0
  #stream: EventStream | null = null
  /** Events so far, and how many of them some stream was given. */
  #count = 0
  #given = 0
  #pressure: 'none' | 'told' = 'none'

  constructor(number: number, owner: ChannelOwner) {
    this.number = number
    this.#owner = owner
  }

  get state(): State {
    return this.#state
  }

  /** A client that has seen an event can name it, and come back. */
  get isResumable(): boolean {
    return this.#given > 0
  }

  /** Bytes that its reader has not taken. */
  get unsent(): number {
    return this.#stream?.unsent ?? 0
  }

  /** Whether there was an event of this order. */
  hasSent(order: number): boolean {
    return order <= this.#count
  }

  /** A request waits for this channel's first message; its head leaves without one after `patience`. */
  await(attempt: Attempt, patience: number): void {
    this.#move('waiting')
    this.#attempt = attempt
    this.#headBy = performance.now() + patience
  }

  /** Another answer than an event stream, as long as none has begun. */
  refuse(reply: Reply): boolean {
    if (this.#state !== 'waiting') return false
    const attempt = this.#attempt!
    this.#attempt = null
    this.#move('over')
    attempt.answer(reply)
    return true
  }

  /**
   * A reader takes over, from behind event `seen`; whoever read before is let go.
   * Tells how many events it missed that are gone.
   */
  resume(attempt: Attempt, seen: number): number {
    const before = this.#stream
    this.#stream = null
    this.#relieve()
    before?.end()
    if (this.#state === 'open') this.#move('parted')
    const events = this.#owner.history.after(this.number, seen)
    this.#attempt = attempt
    this.#move('waiting')
    const stream = this.#open()
    for (const event of events) stream.send(event)
    this.#given = this.#count
    return Math.max(0, this.#count - seen - events.length)
  }

  /** A reader without memory: it gets what nobody was given yet. */
  attach(attempt: Attempt): number {
    return this.resume(attempt, this.#given)
  }

  /** The client left before the answer's head. */
  abandon(): void {
    if (this.#state !== 'waiting') return
    this.#attempt = null
    this.#move('parted')
    this.#owner.parted(this)
  }

  /** An event of the transport's own, for whoever reads now. */
  say(event: string): void {
    this.#stream?.send(Buffer.from(event))
  }

  post(message: Buffer): void {
    if (this.#state === 'over') return
    if (this.memory === 'none') return this.#send(Buffer.concat([ONLY, message, END]))
    const event = this.#event(message)
    this.#owner.history.add(this.number, this.#count, event)
    this.#send(event)
  }

  /** The last message. One that is also the first has no id and is not kept: nobody could ask for it again. */
  finish(message: Buffer | null): void {
    if (this.#state === 'over') return
    if (message !== null && this.#count > 0) this.post(message)
    else if (message !== null) this.#send(Buffer.concat([ONLY, message, END]), 'last')
    if (this.#state === 'waiting') this.#open()
    this.close()
  }

  /** Nothing more will be sent. */
  close(): void {
    if (this.#state === 'over') return
    this.#attempt = null
    this.#move('over')
    this.#stream?.end()
    // What its reader has not taken weighs as much as before.
    if (this.unsent === 0) this.#relieve()
  }

  /** Answers the client's wait, and its silence. */
  sweep(now: number, silence: number): void {
    if (this.#state === 'waiting' && now >= this.#headBy) this.#open()
    if (this.#state !== 'open' || silence === 0) return
    const stream = this.#stream!
    const isFirst = this.#count === 0 && this.number !== ALONE
    if (isFirst && this.#owner.knowsPriming && stream.isSilent(now, silence)) this.#prime(stream)
    else stream.keepAlive(now, silence)
  }

  left(stream: EventStream): void {
    if (stream !== this.#stream) return
    this.#stream = null
    this.#relieve()
    if (this.#state !== 'open') return
    this.#move('parted')
    this.#owner.parted(this)
  }

  drained(stream: EventStream): void {
    if (stream === this.#stream) this.#relieve()
  }

  /** With an id and no data: from now on the client can come back (2025-11-25). */
  #prime(stream: EventStream): void {
    const event = Buffer.from(`id: ${this.number}-${++this.#count}\ndata: \n\n`)
    this.#owner.history.add(this.number, this.#count, event)
    this.#given = this.#count
    stream.send(event)
  }

  #event(message: Buffer): Buffer {
    const head = `event: message\nid: ${this.number}-${++this.#count}\ndata: `
    return Buffer.concat([Buffer.from(head, 'latin1'), message, END])
  }

  #send(event: Buffer, place: 'more' | 'last' = 'more'): void {
    if (this.#state === 'parted') return
    if (this.#state === 'waiting') this.#open(event, place)
    else this.#stream!.send(event)
    this.#given = this.#count
    const stream = this.#stream
    if (stream === null) return
    if (this.whenSlow === 'press' && stream.unsent > MAX_QUEUED_BYTES) this.#press()
    if (this.whenSlow === 'cut' && stream.queued > MAX_QUEUED_BYTES) this.#cut(stream)
  }

  #cut(stream: EventStream): void {
    this.#stream = null
    this.#move('parted')
    stream.cut('idle')
    this.#owner.parted(this)
  }

  #press(): void {
    if (this.#pressure === 'told') return
    this.#pressure = 'told'
    this.#owner.pressed(this)
  }

  #relieve(): void {
    if (this.#pressure === 'none') return
    this.#pressure = 'none'
    this.#owner.relieved(this)
  }

  /** The answer's head leaves, together with an event if there is one. */
  #open(event: Buffer | null = null, place: 'more' | 'last' = 'more'): EventStream {
    const attempt = this.#attempt
    assert(attempt !== null, 'somebody waits for the head')
    this.#attempt = null
    const stream = new EventStream(this)
    this.#stream = stream
    this.#move('open')
    if (event !== null) stream.send(event)
    if (place === 'last') stream.end()
    attempt.answer({ head: streamHead(this.fields), body: stream, tunnel: null })
    return stream
  }

  #move(to: State): void {
    if (!MOVES[this.#state].includes(to)) throw new Error(`mcp channel: ${this.#state} → ${to}`)
    this.#state = to
  }
}

const ONLY = Buffer.from('event: message\ndata: ')
const END = Buffer.from('\n\n')

/** Channel and order of an event's id; what is none leads nowhere. */
export function placeOf(lastEventId: string | undefined): [number, number] {
  if (lastEventId === undefined) return [ALONE, 0]
  const [, channel, order] = /^(\d{1,15})-([1-9]\d{0,14})$/.exec(lastEventId) ?? []
  return channel === undefined ? [-1, 0] : [Number(channel), Number(order)]
}

/** The rest of a channel that is over, for a client that missed it. */
export function replay(attempt: Attempt, events: readonly Buffer[]): void {
  const stream = new EventStream(NOBODY)
  for (const event of events) stream.send(event)
  stream.end()
  attempt.answer({ head: streamHead([]), body: stream, tunnel: null })
}

const NOBODY: StreamOwner = { left() {}, drained() {} }

function streamHead(fields: MoreFields): ResponseHead {
  return headOf(200, [
    ['content-type', 'text/event-stream'],
    ['cache-control', 'no-cache'],
    ...fields,
    ['date', new Date().toUTCString()],
  ])
}
