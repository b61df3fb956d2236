// One event channel to the client: the response to a POST, or the stand-alone stream of a GET. It outlives its
// connection: a client that reconnects with Last-Event-ID continues after that event.

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
  /** Protocol versions from 2025-11-25 on allow events without data. */
  readonly supportsPriming: boolean
  /** The client disconnected; it may resume if it has received an event id. */
  readerLeft(channel: ClientChannel): void
  readerTooSlow(channel: ClientChannel): void
  readerCaughtUp(channel: ClientChannel): void
}

/** `waiting`: the response head is not sent yet. `unread`: no client is connected. */
type ClientChannelState = 'waiting' | 'open' | 'unread' | 'over'

const CLIENT_CHANNEL_TRANSITIONS: Record<ClientChannelState, readonly ClientChannelState[]> = {
  waiting: ['open', 'unread', 'over'],
  open: ['unread', 'over'],
  unread: ['waiting', 'open', 'over'],
  over: [],
}

type ExtraHeaders = readonly (readonly [string, string])[]

/** The number of the stand-alone channel in every session. */
export const STANDALONE_CHANNEL = 0

export class ClientChannel implements ClientEventStreamOwner {
  readonly number: number
  readonly #owner: ClientChannelOwner
  /** Calls whose answers this channel still has to carry. */
  openCalls = 0
  /** Additional headers of the response. */
  fields: ExtraHeaders = []
  /** With a slow reader: `pause` the targets, or `cut` the stream, which the reader can resume. */
  whenSlow: 'pause' | 'cut' = 'pause'
  /** Whether events have ids, with which a client can resume. */
  eventIds: 'kept' | 'none' = 'kept'
  #state: ClientChannelState = 'unread'
  #attempt: Attempt | null = null
  #headDeadline = 0
  #stream: ClientEventStream | null = null
  /** Events so far, and how many of them were written to a stream. */
  #count = 0
  #deliveredCount = 0
  #slowReader: 'no' | 'reported' = 'no'

  constructor(number: number, owner: ClientChannelOwner) {
    this.number = number
    this.#owner = owner
  }

  get state(): ClientChannelState {
    return this.#state
  }

  /** A client that has received an event can resume after it. */
  get isResumable(): boolean {
    return this.#deliveredCount > 0
  }

  /** Bytes that the reader has not taken yet. */
  get unsent(): number {
    return this.#stream?.unsent ?? 0
  }

  hasSent(order: number): boolean {
    return order <= this.#count
  }

  /** Holds the response head back until the first message, for at most `headDelay`. */
  awaitFirstMessage(attempt: Attempt, headDelay: number): void {
    this.#move('waiting')
    this.#attempt = attempt
    this.#headDeadline = performance.now() + headDelay
  }

  /** Answers with another reply than an event stream; false if the stream has started. */
  refuse(reply: Reply): boolean {
    if (this.#state !== 'waiting') return false
    const attempt = this.#attempt!
    this.#attempt = null
    this.#move('over')
    attempt.answer(reply)
    return true
  }

  /**
   * Attaches a new reader after event `seen` and ends the stream of the previous reader.
   * Returns how many missed events are no longer kept.
   */
  resume(attempt: Attempt, seen: number): number {
    const previous = this.#stream
    this.#stream = null
    this.#reportCaughtUp()
    previous?.end()
    if (this.#state === 'open') this.#move('unread')
    const events = this.#owner.history.eventsAfter(this.number, seen)
    this.#attempt = attempt
    this.#move('waiting')
    const stream = this.#open()
    for (const event of events) stream.send(event)
    this.#deliveredCount = this.#count
    return Math.max(0, this.#count - seen - events.length)
  }

  /** Attaches a reader without Last-Event-ID: it gets the events that were not written to any stream. */
  attach(attempt: Attempt): number {
    return this.resume(attempt, this.#deliveredCount)
  }

  /** The client disconnected before the response head was sent. */
  abandon(): void {
    if (this.#state !== 'waiting') return
    this.#attempt = null
    this.#move('unread')
    this.#owner.readerLeft(this)
  }

  /** Sends an event of the transport, without id and history, to the current reader. */
  sendTransportEvent(event: string): void {
    this.#stream?.send(Buffer.from(event))
  }

  sendMessage(message: Buffer): void {
    if (this.#state === 'over') return
    if (this.eventIds === 'none')
      return this.#send(Buffer.concat([MESSAGE_EVENT_START, message, EVENT_END]))
    const event = this.#encodeEvent(message)
    this.#owner.history.add(this.number, this.#count, event)
    this.#send(event)
  }

  /** Sends the last message. If it is also the first, it has no id and is not kept: no client could resume. */
  finish(message: Buffer | null): void {
    if (this.#state === 'over') return
    if (message !== null && this.#count > 0) this.sendMessage(message)
    else if (message !== null)
      this.#send(Buffer.concat([MESSAGE_EVENT_START, message, EVENT_END]), 'last')
    if (this.#state === 'waiting') this.#open()
    this.close()
  }

  /** Ends the channel; nothing more is sent. */
  close(): void {
    if (this.#state === 'over') return
    this.#attempt = null
    this.#move('over')
    this.#stream?.end()
    // Unsent bytes still count until the reader takes them.
    if (this.unsent === 0) this.#reportCaughtUp()
  }

  /** Sends a due response head, and a keep-alive after `silence`. */
  sweep(now: number, silence: number): void {
    if (this.#state === 'waiting' && now >= this.#headDeadline) this.#open()
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
    this.#move('unread')
    this.#owner.readerLeft(this)
  }

  queueDrained(stream: ClientEventStream): void {
    if (stream === this.#stream) this.#reportCaughtUp()
  }

  /** Sends an event with an id and no data, from which the client can resume (2025-11-25). */
  #sendPrimingEvent(stream: ClientEventStream): void {
    const event = Buffer.from(`id: ${this.number}-${++this.#count}\ndata: \n\n`)
    this.#owner.history.add(this.number, this.#count, event)
    this.#deliveredCount = this.#count
    stream.send(event)
  }

  #encodeEvent(message: Buffer): Buffer {
    const head = `event: message\nid: ${this.number}-${++this.#count}\ndata: `
    return Buffer.concat([Buffer.from(head, 'latin1'), message, EVENT_END])
  }

  #send(event: Buffer, position: 'more' | 'last' = 'more'): void {
    if (this.#state === 'unread') return
    if (this.#state === 'waiting') this.#open(event, position)
    else this.#stream!.send(event)
    this.#deliveredCount = this.#count
    const stream = this.#stream
    if (stream === null) return
    if (this.whenSlow === 'pause' && stream.unsent > MAX_STREAM_QUEUE_BYTES)
      this.#reportSlowReader()
    if (this.whenSlow === 'cut' && stream.queued > MAX_STREAM_QUEUE_BYTES) this.#cut(stream)
  }

  #cut(stream: ClientEventStream): void {
    this.#stream = null
    this.#move('unread')
    stream.cut('idle')
    this.#owner.readerLeft(this)
  }

  #reportSlowReader(): void {
    if (this.#slowReader === 'reported') return
    this.#slowReader = 'reported'
    this.#owner.readerTooSlow(this)
  }

  #reportCaughtUp(): void {
    if (this.#slowReader === 'no') return
    this.#slowReader = 'no'
    this.#owner.readerCaughtUp(this)
  }

  /** Sends the response head, together with the first event if there is one. */
  #open(event: Buffer | null = null, position: 'more' | 'last' = 'more'): ClientEventStream {
    const attempt = this.#attempt
    assert(attempt !== null, 'a request waits for the response head')
    this.#attempt = null
    const stream = new ClientEventStream(this)
    this.#stream = stream
    this.#move('open')
    if (event !== null) stream.send(event)
    if (position === 'last') stream.end()
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

/** Parses an event id into channel and order; an invalid id gives a channel that does not exist. */
export function parseEventId(lastEventId: string | undefined): [number, number] {
  if (lastEventId === undefined) return [STANDALONE_CHANNEL, 0]
  const [, channel, order] = /^(\d{1,15})-([1-9]\d{0,14})$/.exec(lastEventId) ?? []
  return channel === undefined ? [-1, 0] : [Number(channel), Number(order)]
}

/** Sends the rest of a closed channel to a client that missed it. */
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

interface PastEvent {
  readonly channel: number
  readonly order: number
  readonly event: Buffer
}

/** The latest events of a session, for clients that reconnect with Last-Event-ID. */
export class EventHistory {
  readonly #events: PastEvent[] = []
  /** Shared by all sessions. */
  readonly #budget: ByteBudget
  #bytes = 0
  #state: 'open' | 'closed' = 'open'

  constructor(budget: ByteBudget) {
    this.#budget = budget
  }

  /** Keeps an event, unless it is larger than the whole history or the shared budget is used up. */
  add(channel: number, order: number, event: Buffer): void {
    if (event.length > MAX_HISTORY_BYTES || this.#state === 'closed') return
    while (!this.#budget.tryReserve(event.length)) if (!this.#drop()) return
    this.#events.push({ channel, order, event })
    this.#bytes += event.length
    while (this.#isFull) this.#drop()
  }

  /** Drops all events when the session ends. */
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

  /** The kept events of a channel after the event of this order. */
  eventsAfter(channel: number, order: number): Buffer[] {
    return this.#events
      .filter((past) => past.channel === channel && past.order > order)
      .map(({ event }) => event)
  }

  get #isFull(): boolean {
    return this.#bytes > MAX_HISTORY_BYTES || this.#events.length > MAX_HISTORY_EVENTS
  }
}
