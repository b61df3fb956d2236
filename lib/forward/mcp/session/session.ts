// One client's session: its targets, its calls, and the channels on which it is answered.

import type { McpFacts } from '../../../base/cel/facts.ts'
import { stackOf } from '../../../base/errors.ts'
import type { Exchange } from '../../../base/exchange.ts'
import type { Level } from '../../../base/log/log.ts'
import type { Swept } from '../../../base/sweeper.ts'
import type { Attempt } from '../../../base/types.ts'
import { HEAD_DELAY_MS, MAX_CALLS } from '../bounds.ts'
import type { Group } from '../group.ts'
import type { Message } from '../message.ts'
import { accepted, CODES, refusal } from '../rpc.ts'
import { Directory } from '../several/directory.ts'
import type { Failure } from '../several/gather.ts'
import { initialize } from '../several/initialize.ts'
import type { About, SessionOwner } from './about.ts'
import { Call } from './call.ts'
import type { CallOwner, Visit } from './call.ts'
import { Calls } from './calls.ts'
import { ALONE, placeOf, replay } from './channel.ts'
import type { Channel } from './channel.ts'
import { Channels } from './channels.ts'
import type { ChannelsOwner } from './channels.ts'
import { dispatch } from './dispatch.ts'
import { Ear } from './ear.ts'
import { Memory } from './memory.ts'
import type { TargetOwner } from './target-owner.ts'
import { Target } from './target.ts'

/** `new`: its client has not sent `initialize`. `greeting`: no target has answered it yet. */
type State = 'new' | 'greeting' | 'open' | 'ended'

/** The first version whose clients know events without data. */
const PRIMING_VERSION = '2025-11-25'

export class Session implements CallOwner, ChannelsOwner, Swept {
  readonly id: string
  readonly group: Group
  /** The client's `initialize`, with which every start of a target begins. */
  greeting: Message
  readonly targets: readonly Target[]
  readonly memory = new Memory()
  readonly directory = new Directory()
  readonly calls = new Calls()
  readonly started = performance.now()
  /** Who may use it: see principal.ts. */
  readonly principal: string
  /** Whose share of child processes it has. */
  readonly client: string
  /** What remote targets hear of the client's latest request. */
  fields: About['fields']
  /** As targets and client agreed. */
  version = ''
  readonly #owner: SessionOwner
  readonly #ear: Ear
  readonly #channels: Channels
  #state: State = 'new'
  #transport: 'streamable' | 'old' = 'streamable'
  /** Why it ends with its last call, or ''. */
  #retired = ''
  #lastNumber = 0
  used = performance.now()
  /** What became of the client's stand-alone stream. */
  #stream: 'none' | 'open' | 'gone' = 'none'

  constructor(group: Group, greeting: Message, about: About, owner: SessionOwner) {
    this.id = group.newId()
    this.group = group
    this.greeting = greeting
    this.fields = about.fields
    this.principal = about.principal
    this.client = about.client
    this.#owner = owner
    this.#channels = new Channels(this, group.histories)
    this.#ear = new Ear(this)
    this.targets = group.config.targets.map(({ name }) => new Target(name, this.#targetOwner(name)))
  }

  get state(): State {
    return this.#state
  }

  get transport(): 'streamable' | 'old' {
    return this.#transport
  }

  /** For the log: enough to tell sessions apart, too little to use one. */
  get label(): string {
    return this.id.slice(0, 8)
  }

  get knowsPriming(): boolean {
    return this.version >= PRIMING_VERSION
  }

  /** What it holds; nothing of it once it has ended. */
  get counts(): Channels['counts'] & { readonly calls: number } {
    return { calls: this.calls.size, ...this.#channels.counts }
  }

  /** The stand-alone channel. */
  get alone(): Channel {
    return this.#channels.alone
  }

  get isLasting(): boolean {
    return this.#retired === ''
  }

  get hasOneTarget(): boolean {
    return this.targets.length === 1
  }

  target(name: string): Target | undefined {
    return this.targets.find((target) => target.name === name)
  }

  /** Answers the `initialize` it was made for; `fields` go out with a session that came about. */
  begin(visit: Visit, fields: Channel['fields']): void {
    this.#state = 'greeting'
    this.note(visit.exchange, { methodName: this.greeting.method })
    const channel = this.#channelFor(visit, Number.MAX_SAFE_INTEGER)
    const call = this.#add(this.greeting, visit, channel)
    initialize(this, call, (isThere) => {
      if (this.#state === 'ended') return
      this.#state = 'open'
      this.version = this.#agreed()
      if (isThere) return this.#begun(channel, fields)
      // The caller still has its answer to give.
      queueMicrotask(() => this.end('its targets did not come up'))
    })
  }

  #begun(channel: Channel, sent: Channel['fields']): void {
    channel.fields = sent
    const fields = ['backend', this.group.key, 'version', this.version]
    this.#say(this.isLasting ? 'info' : 'debug', 'session started', fields)
  }

  /** A target that came up after the others had answered for all. */
  joined(target: Target): void {
    this.#ear.cameBack(target)
  }

  /** Targets whose part is missing from an answer. */
  tellOf(failures: readonly Failure[]): void {
    for (const { target, reason } of failures)
      this.#say('warn', 'target left out', ['target', target, 'reason', reason])
  }

  /** Messages of a client that has no session: each target is started when it is needed. */
  serve(messages: readonly Message[], visit: Visit): void {
    this.#state = 'open'
    this.#ear.assumeInitialized()
    this.receive(messages, visit)
  }

  /** The transport of 2024-11-05: this stream brings everything, and POSTs to `endpoint` are merely accepted. */
  serveOld(attempt: Attempt, endpoint: string): void {
    this.#transport = 'old'
    this.#stream = 'open'
    // Everything comes by it, and there is no other way to the rest.
    this.alone.whenSlow = 'press'
    this.alone.memory = 'none'
    this.alone.attach(attempt)
    this.alone.say(`event: endpoint\ndata: ${endpoint}\n\n`)
  }

  /** The `initialize` of such a client. */
  greet(greeting: Message, visit: Visit): void {
    this.greeting = greeting
    this.begin(visit, [])
    visit.attempt.answer(accepted())
  }

  /** Messages of one POST. */
  receive(messages: readonly Message[], visit: Visit): void {
    const { exchange, attempt } = visit
    this.used = performance.now()
    this.note(exchange, { methodName: messages[0]?.method || undefined })
    const requests = messages.filter(({ kind }) => kind === 'request')
    const full = this.calls.refusalOf(requests)
    if (full !== null) {
      this.group.refusals.count('sessionCalls', MAX_CALLS)
      return attempt.answer(refusal(503, full, requests[0]?.idText))
    }
    for (const one of messages) if (one.kind !== 'request') this.#ear.tell(one, exchange.trace)
    if (requests.length === 0) return attempt.answer(accepted())
    const channel = this.#channelFor(visit, HEAD_DELAY_MS)
    for (const call of requests.map((message) => this.#add(message, visit, channel)))
      dispatch(this, call)
    if (channel === this.alone) attempt.answer(accepted())
  }

  /** A GET: the stand-alone stream, or the rest of one that broke. */
  listen(attempt: Attempt, lastEventId: string | undefined): void {
    this.used = performance.now()
    const [number, order] = placeOf(lastEventId)
    const channel = this.#channels.find(number)
    if (channel === undefined || (lastEventId !== undefined && !channel.hasSent(order))) {
      const events = channel === undefined ? this.#channels.history.after(number, order) : []
      if (events.length > 0) return replay(attempt, events)
      const message = `nothing is known of Last-Event-ID ${lastEventId}`
      return attempt.answer(refusal(400, { code: CODES.server, message }))
    }
    this.#channels.rejoined(channel)
    if (number === ALONE) this.#stream = 'open'
    const lost =
      lastEventId === undefined ? channel.attach(attempt) : channel.resume(attempt, order)
    if (lost > 0) this.#say('warn', 'events lost', ['events', lost])
    if (number === ALONE) for (const target of this.targets) target.listen(this.fields(target.name))
  }

  /** Facts for the log. */
  note(exchange: Exchange, more: Partial<McpFacts>): void {
    exchange.learn({ mcp: Object.assign({}, exchange.facts?.mcp, { sessionId: this.id }, more) })
  }

  /** It ends with its last call. */
  retire(reason: string): void {
    this.#retired = reason
    if (this.calls.size === 0) this.end(reason)
  }

  /** The process stops: what would never end by itself does. An old client has its answers by that stream, too. */
  drain(reason: string): void {
    if (this.#transport === 'old') this.retire(reason)
    else this.alone.close()
  }

  /** Ends everything that belongs to it. */
  end(reason: string): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    const message = `the session has ended: ${reason}`
    for (const target of this.targets) target.ending(message)
    for (const call of this.calls) call.error({ code: CODES.server, message })
    this.alone.close()
    for (const target of this.targets) target.close()
    this.#channels.history.close()
    this.#owner.ended(this, reason)
  }

  answered(call: Call, answer: Buffer | null): void {
    this.calls.delete(call)
    const { channel } = call
    this.used = performance.now()
    if (--channel.holds > 0 || channel === this.alone) {
      if (answer !== null) channel.post(answer)
    } else this.#channels.finish(channel, answer)
    if (this.#retired !== '' && this.calls.size === 0) this.end(this.#retired)
  }

  /** The client closed a stream: the targets hear that nobody waits (demand 33). */
  abandoned(channel: Channel): void {
    this.used = performance.now()
    for (const call of this.calls)
      if (call.channel === channel) call.cancel('the client closed the stream')
    // Without its first answer there is no session to come back to.
    if (this.#state === 'greeting') this.end('its client left before it began')
  }

  aloneLeft(): void {
    this.used = performance.now()
    this.#stream = 'gone'
    if (this.#transport === 'old') this.end('its client closed the stream')
  }

  pressed(): void {
    for (const target of this.targets) target.pause()
  }

  relieved(): void {
    for (const target of this.targets) target.resume()
  }

  sweep(now: number): void {
    try {
      this.#sweep(now)
    } catch (error) {
      this.#broke(error)
    }
  }

  #sweep(now: number): void {
    const { keepAlive, sessionTtl, goneTtl } = this.group.limits
    this.#channels.sweep(now, keepAlive)
    if (this.calls.size > 0 || this.#stream === 'open') return
    const idle = now - this.used
    if (idle > sessionTtl) this.end('idle')
    else if (this.#stream === 'gone' && idle > goneTtl) this.end('its client is gone')
  }

  #channelFor({ exchange, attempt }: Visit, patience: number): Channel {
    if (this.#transport === 'old') return this.alone
    const channel = this.#channels.open(attempt, patience)
    exchange.call = { cancel: () => channel.abandon() }
    return channel
  }

  #add(message: Message, visit: Visit, channel: Channel): Call {
    const call = new Call(message, visit, channel, this)
    this.calls.add(call)
    channel.holds++
    return call
  }

  #agreed(): string {
    const versions = this.targets.flatMap(({ profile }) => profile?.version ?? [])
    return versions.toSorted()[0] ?? ''
  }

  #targetOwner(name: string): TargetOwner {
    return {
      label: this.label,
      greeting: () => this.greeting,
      startTimeout: this.group.limits.startTimeout,
      fields: () => this.fields(name),
      nextNumber: () => ++this.#lastNumber,
      open: (one, owner) => this.group.open(one, owner),
      heard: (target, message, number) => this.#ear.heard(target, message, number),
      cameBack: (target, trace) => this.#ear.cameBack(target, trace),
      wentDown: (target, reason, whose) => this.#wentDown(target, reason, whose),
      isThere: (target) => this.group.forgive(target.name),
      broke: (error) => this.#broke(error),
    }
  }

  #broke(error: unknown): void {
    this.group.log.line('error', 'mcp', 'internal error', ['cause', stackOf(error)])
    this.end('internal error')
  }

  #wentDown(target: Target, reason: string, whose: 'client' | 'target'): void {
    if (this.#state === 'ended') return
    if (whose === 'target') this.group.blame(target.name, reason)
    this.#say('warn', 'target down', ['target', target.name, 'reason', reason])
    this.#ear.forget(target)
    if (this.targets.every(({ state }) => state === 'lost')) queueMicrotask(() => this.end(reason))
  }

  #say(level: Level, message: string, fields: (string | number)[]): void {
    this.group.log.line(level, 'mcp', message, ['mcp.session.id', this.label, ...fields])
  }
}
