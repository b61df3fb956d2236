// One way to the client: the stream that answers a POST, or the stand-alone one of a GET. It outlives its connection:
// a client that comes back with Last-Event-ID goes on where it was.

import assert from 'node:assert'
import type { ByteBudget } from '../../../core/byte-budgets.ts'
import type { ResponseHead } from '../../../core/head.ts'
import { buildResponseHead } from '../../../core/replies.ts'
import type { Attempt, Reply } from '../../../core/types.ts'
import { ClientEventStream } from '../endpoint/client-stream.ts'
import type { ClientEventStreamOwner } from '../endpoint/client-stream.ts'
import { MAX_HISTORY_BYTES, MAX_HISTORY_EVENTS, MAX_STREAM_QUEUE_BYTES } from '../mcp-bounds.ts'

export interface ClientChannelOwner {
  readonly history: EventHistory
  /** Protocol versions from 2025-11-25 on know events without data. */
  readonly supportsPriming: boolean
  /** Its client is gone: it may come back if it has seen an event's id. */
  readerLeft(channel: ClientChannel): void
  /** Its reader is too slow for what is sent, or has caught up. */
  readerTooSlow(channel: ClientChannel): void
  readerCaughtUp(channel: ClientChannel): void
}

/** `waiting`: the answer's head is not out. `parted`: nobody reads. */
type ClientChannelState = 'waiting' | 'open' | 'parted' | 'over'

const CLIENT_CHANNEL_TRANSITIONS: Record<ClientChannelState, readonly ClientChannelState[]> = {
  waiting: ['open', 'parted', 'over'],
  open: ['parted', 'over'],
  parted: ['waiting', 'open', 'over'],
  over: [],
}

type ExtraHeaders = readonly (readonly [string, string])[]

/** The stand-alone channel of every session. */
export const STANDALONE_CHANNEL = 0

export class ClientChannel implements ClientEventStreamOwner {
  readonly number: number
  readonly #owner: ClientChannelOwner
  /** Calls it still has to answer. */
  openCalls = 0
  /** Headers of the answer beside the usual ones. */
  fields: ExtraHeaders = []
  /** `cut`: its reader can ask for the rest again, and calls of the session must not wait for it. */
  whenSlow: 'press' | 'cut' = 'press'
  /** Whether its events have ids, by which a client could ask for them again. */
  eventIds: 'kept' | 'none' = 'kept'
  #state: ClientChannelState = 'parted'
  #attempt: Attempt | null = null
  #headBy = 0
  #stream: ClientEventStream | null = null
  /** Events so far, and how many of them some stream was given. */
  #count = 0
  #deliveredCount = 0
  #pressure: 'none' | 'told' = 'none'

  constructor(number: number, owner: ClientChannelOwner) {
    this.number = number
    this.#owner = owner
  }

  get state(): ClientChannelState {
    return this.#state
  }

  /** A client that has seen an event can name it, and come back. */
  get isResumable(): boolean {
    return this.#deliveredCount > 0
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
  awaitFirstMessage(attempt: Attempt, patience: number): void {
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
    this.#reportCaughtUp()
    before?.end()
    if (this.#state === 'open') this.#move('parted')
    const events = this.#owner.history.eventsAfter(this.number, seen)
    this.#attempt = attempt
    this.#move('waiting')
    const stream = this.#open()
    for (const event of events) stream.send(event)
    this.#deliveredCount = this.#count
    return Math.max(0, this.#count - seen - events.length)
  }

  /** A reader without memory: it gets what nobody was given yet. */
  attach(attempt: Attempt): number {
    return this.resume(attempt, this.#deliveredCount)
  }

  /** The client left before the answer's head. */
  abandon(): void {
    if (this.#state !== 'waiting') return
    this.#attempt = null
    this.#move('parted')
    this.#owner.readerLeft(this)
  }

  /** An event of the transport's own, for whoever reads now. */
  sendTransportEvent(event: string): void {
    this.#stream?.send(Buffer.from(event))
  }

  sendMessage(message: Buffer): void {
    if (this.#state === 'over') return
    if (this.eventIds === 'none')
      return this.#send(Buffer.concat([MESSAGE_EVENT_START, message, EVENT_END]))
    const event = this.#event(message)
    this.#owner.history.add(this.number, this.#count, event)
    this.#send(event)
  }

  /** The last message. One that is also the first has no id and is not kept: nobody could ask for it again. */
  finish(message: Buffer | null): void {
    if (this.#state === 'over') return
    if (message !== null && this.#count > 0) this.sendMessage(message)
    else if (message !== null)
      this.#send(Buffer.concat([MESSAGE_EVENT_START, message, EVENT_END]), 'last')
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
    if (this.unsent === 0) this.#reportCaughtUp()
  }

  /** Answers the client's wait, and its silence. */
  sweep(now: number, silence: number): void {
    if (this.#state === 'waiting' && now >= this.#headBy) this.#open()
    if (this.#state !== 'open' || silence === 0) return
    const stream = this.#stream!
    const isFirst = this.#count === 0 && this.number !== STANDALONE_CHANNEL
    if (isFirst && this.#owner.supportsPriming && stream.isSilent(now, silence))
      this.#sendPrimingEvent(stream)
    else stream.keepAlive(now, silence)
  }

  clientLeft(stream: ClientEventStream): void {
    if (stream !== this.#stream) return
    this.#stream = null
    this.#reportCaughtUp()
    if (this.#state !== 'open') return
    this.#move('parted')
    this.#owner.readerLeft(this)
  }

  queueDrained(stream: ClientEventStream): void {
    if (stream === this.#stream) this.#reportCaughtUp()
  }

  /** With an id and no data: from now on the client can come back (2025-11-25). */
  #sendPrimingEvent(stream: ClientEventStream): void {
    const event = Buffer.from(`id: ${this.number}-${++this.#count}\ndata: \n\n`)
    this.#owner.history.add(this.number, this.#count, event)
    this.#deliveredCount = this.#count
    stream.send(event)
  }

  #event(message: Buffer): Buffer {
    const head = `event: message\nid: ${this.number}-${++this.#count}\ndata: `
    return Buffer.concat([Buffer.from(head, 'latin1'), message, EVENT_END])
  }

  #send(event: Buffer, place: 'more' | 'last' = 'more'): void {
    if (this.#state === 'parted') return
    if (this.#state === 'waiting') this.#open(event, place)
    else this.#stream!.send(event)
    this.#deliveredCount = this.#count
    const stream = this.#stream
    if (stream === null) return
    if (this.whenSlow === 'press' && stream.unsent > MAX_STREAM_QUEUE_BYTES)
      this.#reportSlowReader()
    if (this.whenSlow === 'cut' && stream.queued > MAX_STREAM_QUEUE_BYTES) this.#cut(stream)
  }

  #cut(stream: ClientEventStream): void {
    this.#stream = null
    this.#move('parted')
    stream.cut('idle')
    this.#owner.readerLeft(this)
  }

  #reportSlowReader(): void {
    if (this.#pressure === 'told') return
    this.#pressure = 'told'
    this.#owner.readerTooSlow(this)
  }

  #reportCaughtUp(): void {
    if (this.#pressure === 'none') return
    this.#pressure = 'none'
    this.#owner.readerCaughtUp(this)
  }

  /** The answer's head leaves, together with an event if there is one. */
  #open(event: Buffer | null = null, place: 'more' | 'last' = 'more'): ClientEventStream {
    const attempt = this.#attempt
    assert(attempt !== null, 'somebody waits for the head')
    this.#attempt = null
    const stream = new ClientEventStream(this)
    this.#stream = stream
    this.#move('open')
    if (event !== null) stream.send(event)
    if (place === 'last') stream.end()
    attempt.answer({ head: streamHead(this.fields), body: stream, tunnel: null })
    return stream
  }

  #move(to: ClientChannelState): void {
    if (!CLIENT_CHANNEL_TRANSITIONS[this.#state].includes(to))
      throw new Error(`mcp channel: ${this.#state} → ${to}`)
    this.#state = to
  }
}

const MESSAGE_EVENT_START = Buffer.from('event: message\ndata: ')
const EVENT_END = Buffer.from('\n\n')

/** Channel and order of an event's id; what is none leads nowhere. */
export function parseEventId(lastEventId: string | undefined): [number, number] {
  if (lastEventId === undefined) return [STANDALONE_CHANNEL, 0]
  const [, channel, order] = /^(\d{1,15})-([1-9]\d{0,14})$/.exec(lastEventId) ?? []
  return channel === undefined ? [-1, 0] : [Number(channel), Number(order)]
}

/** The rest of a channel that is over, for a client that missed it. */
export function replayEvents(attempt: Attempt, events: readonly Buffer[]): void {
  const stream = new ClientEventStream(NO_STREAM_OWNER)
  for (const event of events) stream.send(event)
  stream.end()
  attempt.answer({ head: streamHead([]), body: stream, tunnel: null })
}

const NO_STREAM_OWNER: ClientEventStreamOwner = { clientLeft() {}, queueDrained() {} }

function streamHead(fields: ExtraHeaders): ResponseHead {
  return buildResponseHead(200, [
    ['content-type', 'text/event-stream'],
    ['cache-control', 'no-cache'],
    ...fields,
    ['date', new Date().toUTCString()],
  ])
}

// The latest events of a session, so that a client whose connection broke can have them again (Last-Event-ID).

interface PastEvent {
  readonly channel: number
  readonly order: number
  readonly event: Buffer
}

export class EventHistory {
  readonly #events: PastEvent[] = []
  /** What all sessions may keep together. */
  readonly #budget: ByteBudget
  #bytes = 0
  #state: 'open' | 'closed' = 'open'

  constructor(together: ByteBudget) {
    this.#budget = together
  }

  /** One that is larger than all of it is not kept, nor one for which other sessions leave no room. */
  add(channel: number, order: number, event: Buffer): void {
    if (event.length > MAX_HISTORY_BYTES || this.#state === 'closed') return
    while (!this.#budget.tryReserve(event.length)) if (!this.#drop()) return
    this.#events.push({ channel, order, event })
    this.#bytes += event.length
    while (this.#isFull) this.#drop()
  }

  /** Nobody comes back any more. */
  close(): void {
    this.#state = 'closed'
    while (this.#drop()) continue
  }

  #drop(): boolean {
    const past = this.#events.shift()
    if (past === undefined) return false
    this.#bytes -= past.event.length
    this.#budget.release(past.event.length)
    return true
  }

  /** What is left of what a channel sent behind its event of this order. */
  eventsAfter(channel: number, order: number): Buffer[] {
    const past = this.#events.filter((one) => one.channel === channel && one.order > order)
    return past.map(({ event }) => event)
  }

  get #isFull(): boolean {
    return this.#bytes > MAX_HISTORY_BYTES || this.#events.length > MAX_HISTORY_EVENTS
  }
}
