// What crosses a session without being asked for: notifications both ways, and the targets' own requests with the
// client's answers to them.

import { edited } from '../../../base/json/edit.ts'
import type { Trace } from '../../../base/trace/events.ts'
import type { Message } from '../message.ts'
import { CODES, errorText, notificationBytes } from '../rpc.ts'
import { GENERAL, NOTICES, RELATED_TASK } from '../several/methods.ts'
import { inwardEdits, inwardToken, outwardEdits, outwardToken } from '../several/rename.ts'
import { Asks } from './asks.ts'
import { tokenText } from './call.ts'
import type { Call } from './call.ts'
import type { Channel } from './channel.ts'
import type { Session } from './session.ts'
import type { Target } from './target.ts'

const CANCELLED = 'notifications/cancelled'
const INITIALIZED = 'notifications/initialized'
const PROGRESS = 'notifications/progress'

export class Ear {
  readonly #session: Session
  readonly #asks = new Asks()
  /** Whether the client has said so; a target that starts again must hear it then. */
  #client: 'greeting' | 'initialized' = 'greeting'

  constructor(session: Session) {
    this.#session = session
  }

  /** A target said something unasked; `number` is the request it came with, or 0. */
  heard(target: Target, message: Message, number: number): void {
    if (message.kind === 'request') return this.#asked(target, message, number)
    if (message.method === CANCELLED) return this.#takenBack(target, message)
    const { names } = this.#session.group
    const places = [...(NOTICES.get(message.method) ?? []), RELATED_TASK]
    const edits =
      message.params === null
        ? []
        : outwardEdits(names, target.name, message, { value: message.params, places })
    this.#forgetNames(message.method)
    this.#channelFor(target, message, number).post(edited(message.bytes, edits))
  }

  /** The client said something that is no request. */
  tell(message: Message, trace: Trace | null): void {
    if (message.kind === 'response') return this.#answer(message, trace)
    if (message.method === CANCELLED) return this.#cancel(message, trace)
    const { targets, group } = this.#session
    if (message.method === PROGRESS && group.names.style !== 'plain')
      return this.#progress(message, trace)
    if (message.method === INITIALIZED) this.#client = 'initialized'
    for (const target of targets) {
      trace?.mcp(message.method, target.name)
      target.tell(message.bytes, trace)
    }
  }

  /** A target has begun anew: it hears what it had heard before. */
  cameBack(target: Target, trace: Trace | null = null): void {
    if (this.#client === 'greeting') return
    target.tell(notificationBytes(INITIALIZED, '{}'), trace)
    this.#session.memory.repeat(target, trace)
    for (const name of ['tools', 'prompts', 'resources'])
      if (target.profile?.offers(name) === true)
        this.#session.alone.post(notificationBytes(`notifications/${name}/list_changed`, '{}'))
  }

  /** No client will say so. */
  assumeInitialized(): void {
    this.#client = 'initialized'
  }

  /** A target is gone, and its questions with it. */
  forget(target: Target): void {
    for (const { number, channel } of this.#asks.drop(target)) {
      const params = JSON.stringify({ requestId: number, reason: target.reason })
      this.#open(channel).post(notificationBytes(CANCELLED, params))
    }
  }

  #asked(target: Target, message: Message, number: number): void {
    const channel = this.#channelFor(target, message, number)
    const stale = this.#asks.stale()
    if (stale !== undefined) stale.target.tell(tooManyAsks(stale.idText))
    const ask = this.#asks.add({ target, idText: message.idText, channel })
    if (ask === null) return target.tell(tooManyAsks(message.idText))
    const { names } = this.#session.group
    const value = message.params
    const edits =
      value === null
        ? []
        : [
            ...outwardToken(names, target.name, message),
            ...outwardEdits(names, target.name, message, { value, places: [RELATED_TASK] }),
          ]
    channel.post(message.withId(String(ask), ...edits))
  }

  #answer(message: Message, trace: Trace | null): void {
    const ask = this.#asks.take(message.idText)
    if (ask === undefined) return
    const value = message.result
    const places = [RELATED_TASK]
    const { names } = this.#session.group
    const edits = value === null ? [] : inwardEdits(names, message, { value, places })
    trace?.mcp(message.kind, ask.target.name)
    ask.target.tell(message.withId(ask.idText, ...edits), trace)
  }

  /** A target takes a request of its own back. */
  #takenBack(target: Target, message: Message): void {
    const span = message.param('requestId')
    if (span === undefined) return
    const ask = this.#asks.takeBack(target, message.text(span))
    if (ask === undefined) return
    const edit = { ...span, text: String(ask.number) }
    this.#open(ask.channel).post(edited(message.bytes, [edit]))
  }

  /** The client may still be at a question when the call is over that brought it. */
  #open(channel: Channel): Channel {
    return channel.state === 'over' ? this.#session.alone : channel
  }

  #cancel(message: Message, trace: Trace | null): void {
    const span = message.param('requestId')
    const idText = span === undefined ? '' : message.text(span)
    for (const call of this.#session.calls)
      // MCP: `initialize` is not to be cancelled.
      if (call.idText === idText && call.message !== this.#session.greeting)
        return call.cancel(message.textParam('reason') ?? 'cancelled by the client', trace)
  }

  #progress(message: Message, trace: Trace | null): void {
    const to = inwardToken(message)
    const target = to === null ? undefined : this.#session.target(to.target)
    if (to === null || target === undefined) return
    trace?.mcp(message.method, target.name)
    target.tell(edited(message.bytes, [to.edit]), trace)
  }

  /** A list that changed may have other owners now. */
  #forgetNames(method: string): void {
    const { directory } = this.#session
    if (method === 'notifications/tools/list_changed') directory.forget('tool')
    if (method === 'notifications/prompts/list_changed') directory.forget('prompt')
    if (method === 'notifications/resources/list_changed') directory.forget('resource')
  }

  /**
   * Where a message of a target's goes. A child does not say to which call it belongs, unless it is progress; with one
   * call under way it is that one's.
   */
  #channelFor(target: Target, message: Message, number: number): Channel {
    const { alone, calls } = this.#session
    const open = [...calls]
    const own = number === 0 ? undefined : open.find((call) => call.hasPart(number))
    if (own !== undefined) return own.channel
    if (GENERAL.has(message.method)) return alone
    if (message.method === PROGRESS) return this.#progressOf(target, message, open) ?? alone
    const waiting = open.filter((call) => call.waitsFor(target))
    const last = waiting.at(-1)
    const isAlonesBetter = waiting.length > 1 && alone.state === 'open'
    return last === undefined || isAlonesBetter ? alone : last.channel
  }

  #progressOf(target: Target, message: Message, open: readonly Call[]): Channel | undefined {
    const token = tokenText(message.bytes, message.param('progressToken'))
    if (token === '') return undefined
    return open.find((call) => call.token === token && call.waitsFor(target))?.channel
  }
}

function tooManyAsks(idText: string): Buffer {
  const error = { code: CODES.server, message: 'too many requests wait for the client' } as const
  return Buffer.from(errorText(idText, error))
}
