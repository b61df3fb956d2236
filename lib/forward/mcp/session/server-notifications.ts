// What crosses a session without being asked for: notifications both ways, and the targets' own requests with the
// client's answers to them.

import type { Trace } from '../../../core/trace-events.ts'
import { applyEdits } from '../../../text/json-edit.ts'
import { encodeRpcNotification, formatRpcError, RPC_CODES } from '../json-rpc.ts'
import type { RpcMessage } from '../json-rpc.ts'
import { MAX_SERVER_REQUESTS } from '../mcp-bounds.ts'
import {
  createClientNameEdits,
  createClientTokenEdits,
  createTargetNameEdits,
  parseClientToken,
} from '../several/item-names.ts'
import {
  NAMES_IN_NOTIFICATIONS,
  RELATED_TASK_PATH,
  SESSION_NOTIFICATIONS,
} from '../several/methods.ts'
import type { ClientChannel } from './channel.ts'
import { normalizeProgressToken } from './client-call.ts'
import type { ClientCall } from './client-call.ts'
import type { McpSession } from './session.ts'
import type { SessionTarget } from './target.ts'

const CANCELLED = 'notifications/cancelled'
const INITIALIZED = 'notifications/initialized'
const PROGRESS = 'notifications/progress'

export class ServerNotifications {
  readonly #session: McpSession
  readonly #serverRequests = new ServerRequests()
  /** Whether the client has said so; a target that starts again must hear it then. */
  #client: 'greeting' | 'initialized' = 'greeting'

  constructor(session: McpSession) {
    this.#session = session
  }

  /** A target said something unasked; `number` is the request it came with, or 0. */
  receiveFromTarget(target: SessionTarget, message: RpcMessage, number: number): void {
    if (message.kind === 'request') return this.#forwardServerRequest(target, message, number)
    if (message.method === CANCELLED) return this.#withdrawServerRequest(target, message)
    const { names } = this.#session.group
    const places = [...(NAMES_IN_NOTIFICATIONS.get(message.method) ?? []), RELATED_TASK_PATH]
    const edits =
      message.params === null
        ? []
        : createClientNameEdits(names, target.name, message, { value: message.params, places })
    this.#forgetNames(message.method)
    this.#channelFor(target, message, number).sendMessage(applyEdits(message.bytes, edits))
  }

  /** The client said something that is no request. */
  receiveFromClient(message: RpcMessage, trace: Trace | null): void {
    if (message.kind === 'response') return this.#forwardClientAnswer(message, trace)
    if (message.method === CANCELLED) return this.#cancel(message, trace)
    const { targets, group } = this.#session
    if (message.method === PROGRESS && group.names.style !== 'plain')
      return this.#progress(message, trace)
    if (message.method === INITIALIZED) this.#client = 'initialized'
    for (const target of targets) {
      trace?.recordMcpMessage(message.method, target.name)
      target.notify(message.bytes, trace)
    }
  }

  /** A target has begun anew: it hears what it had heard before. */
  restoreTarget(target: SessionTarget, trace: Trace | null = null): void {
    if (this.#client === 'greeting') return
    target.notify(encodeRpcNotification(INITIALIZED, '{}'), trace)
    this.#session.clientSetup.replayTo(target, trace)
    for (const name of ['tools', 'prompts', 'resources'])
      if (target.profile?.offers(name) === true)
        this.#session.standalone.sendMessage(
          encodeRpcNotification(`notifications/${name}/list_changed`, '{}'),
        )
  }

  /** No client will say so. */
  assumeInitialized(): void {
    this.#client = 'initialized'
  }

  /** A target is gone, and its questions with it. */
  dropTarget(target: SessionTarget): void {
    for (const { number, channel } of this.#serverRequests.dropTarget(target)) {
      const params = JSON.stringify({ requestId: number, reason: target.reason })
      this.#openChannelFor(channel).sendMessage(encodeRpcNotification(CANCELLED, params))
    }
  }

  #forwardServerRequest(target: SessionTarget, message: RpcMessage, number: number): void {
    const channel = this.#channelFor(target, message, number)
    const stale = this.#serverRequests.findStale()
    if (stale !== undefined) stale.target.notify(encodeTooManyRequests(stale.idText))
    const ask = this.#serverRequests.add({ target, idText: message.idText, channel })
    if (ask === null) return target.notify(encodeTooManyRequests(message.idText))
    const { names } = this.#session.group
    const value = message.params
    const edits =
      value === null
        ? []
        : [
            ...createClientTokenEdits(names, target.name, message),
            ...createClientNameEdits(names, target.name, message, {
              value,
              places: [RELATED_TASK_PATH],
            }),
          ]
    channel.sendMessage(message.withId(String(ask), ...edits))
  }

  #forwardClientAnswer(message: RpcMessage, trace: Trace | null): void {
    const ask = this.#serverRequests.take(message.idText)
    if (ask === undefined) return
    const value = message.result
    const places = [RELATED_TASK_PATH]
    const { names } = this.#session.group
    const edits = value === null ? [] : createTargetNameEdits(names, message, { value, places })
    trace?.recordMcpMessage(message.kind, ask.target.name)
    ask.target.notify(message.withId(ask.idText, ...edits), trace)
  }

  /** A target takes a request of its own back. */
  #withdrawServerRequest(target: SessionTarget, message: RpcMessage): void {
    const span = message.param('requestId')
    if (span === undefined) return
    const ask = this.#serverRequests.withdraw(target, message.text(span))
    if (ask === undefined) return
    const edit = { ...span, text: String(ask.number) }
    this.#openChannelFor(ask.channel).sendMessage(applyEdits(message.bytes, [edit]))
  }

  /** The client may still be at a question when the call is over that brought it. */
  #openChannelFor(channel: ClientChannel): ClientChannel {
    return channel.state === 'over' ? this.#session.standalone : channel
  }

  #cancel(message: RpcMessage, trace: Trace | null): void {
    const span = message.param('requestId')
    const idText = span === undefined ? '' : message.text(span)
    for (const call of this.#session.calls)
      // MCP: `initialize` is not to be cancelled.
      if (call.idText === idText && call.message !== this.#session.initializeMessage)
        return call.cancel(message.textParam('reason') ?? 'cancelled by the client', trace)
  }

  #progress(message: RpcMessage, trace: Trace | null): void {
    const to = parseClientToken(message)
    const target = to === null ? undefined : this.#session.target(to.target)
    if (to === null || target === undefined) return
    trace?.recordMcpMessage(message.method, target.name)
    target.notify(applyEdits(message.bytes, [to.edit]), trace)
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
  #channelFor(target: SessionTarget, message: RpcMessage, number: number): ClientChannel {
    const { standalone, calls } = this.#session
    const open = [...calls]
    const own = number === 0 ? undefined : open.find((call) => call.hasTargetRequest(number))
    if (own !== undefined) return own.channel
    if (SESSION_NOTIFICATIONS.has(message.method)) return standalone
    if (message.method === PROGRESS) return this.#progressOf(target, message, open) ?? standalone
    const waiting = open.filter((call) => call.waitsFor(target))
    const last = waiting.at(-1)
    const isAlonesBetter = waiting.length > 1 && standalone.state === 'open'
    return last === undefined || isAlonesBetter ? standalone : last.channel
  }

  #progressOf(
    target: SessionTarget,
    message: RpcMessage,
    open: readonly ClientCall[],
  ): ClientChannel | undefined {
    const token = normalizeProgressToken(message.bytes, message.param('progressToken'))
    if (token === '') return undefined
    return open.find((call) => call.token === token && call.waitsFor(target))?.channel
  }
}

function encodeTooManyRequests(idText: string): Buffer {
  const error = {
    code: RPC_CODES.server,
    message: 'too many requests wait for the client',
  } as const
  return Buffer.from(formatRpcError(idText, error))
}

// Requests of targets to the client (sampling, elicitation, roots, ping): each gets a number of the session's, so that
// ids of several targets never meet, and the client's answer finds its way back.

export interface ServerRequest {
  readonly target: SessionTarget
  /** The id as the target wrote it. */
  readonly idText: string
  readonly channel: ClientChannel
}

class ServerRequests {
  readonly #open = new Map<number, ServerRequest>()
  #last = 0

  /** The number it goes to the client under, or null when too many wait. */
  add(ask: ServerRequest): number | null {
    if (this.#open.size >= MAX_SERVER_REQUESTS) return null
    this.#open.set(++this.#last, ask)
    return this.#last
  }

  /** When there is no room for another: the oldest one that came with a call which is over, for good. */
  findStale(): ServerRequest | undefined {
    if (this.#open.size < MAX_SERVER_REQUESTS) return undefined
    for (const [number, ask] of this.#open)
      if (ask.channel.state === 'over') {
        this.#open.delete(number)
        return ask
      }
    return undefined
  }

  /** What an answer of the client's belongs to; it is not open any more. */
  take(idText: string): ServerRequest | undefined {
    const number = Number(idText)
    const ask = this.#open.get(number)
    this.#open.delete(number)
    return ask
  }

  /** A target takes its request back. */
  withdraw(
    target: SessionTarget,
    idText: string,
  ): { number: number; channel: ClientChannel } | undefined {
    for (const [number, ask] of this.#open)
      if (ask.target === target && ask.idText === idText) {
        this.#open.delete(number)
        return { number, channel: ask.channel }
      }
    return undefined
  }

  /** A target is gone: nobody waits for the answers to these. */
  dropTarget(target: SessionTarget): { number: number; channel: ClientChannel }[] {
    const dropped: { number: number; channel: ClientChannel }[] = []
    for (const [number, ask] of this.#open)
      if (ask.target === target && this.#open.delete(number))
        dropped.push({ number, channel: ask.channel })
    return dropped
  }
}
