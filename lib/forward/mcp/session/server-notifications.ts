// Notifications in both directions of a session, and requests from targets to the client with their answers.

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
  /** Whether the client sent `notifications/initialized`, which a restarted target must get again. */
  #client: 'initializing' | 'initialized' = 'initializing'

  constructor(session: McpSession) {
    this.#session = session
  }

  /** Handles a target's notification or request; `number` is the request whose response carried it, or 0. */
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

  /** Handles a notification or response from the client. */
  receiveFromClient(message: RpcMessage, trace: Trace | null): void {
    if (message.kind === 'response') return this.#forwardClientAnswer(message, trace)
    if (message.method === CANCELLED) return this.#cancelCall(message, trace)
    const { targets, group } = this.#session
    if (message.method === PROGRESS && group.names.style !== 'plain')
      return this.#forwardProgress(message, trace)
    if (message.method === INITIALIZED) this.#client = 'initialized'
    for (const target of targets) {
      trace?.recordMcpMessage(message.method, target.name)
      target.notify(message.bytes, trace)
    }
  }

  /** Repeats the client's setup to a restarted target and tells the client that its lists changed. */
  restoreTarget(target: SessionTarget, trace: Trace | null = null): void {
    if (this.#client === 'initializing') return
    target.notify(encodeRpcNotification(INITIALIZED, '{}'), trace)
    this.#session.clientSetup.replayTo(target, trace)
    for (const name of ['tools', 'prompts', 'resources'])
      if (target.profile?.offers(name) === true)
        this.#session.standalone.sendMessage(
          encodeRpcNotification(`notifications/${name}/list_changed`, '{}'),
        )
  }

  /** For stateless requests, whose client never sends `notifications/initialized`. */
  assumeInitialized(): void {
    this.#client = 'initialized'
  }

  /** A target went down: cancels its requests at the client. */
  dropTarget(target: SessionTarget): void {
    for (const { number, channel } of this.#serverRequests.dropTarget(target)) {
      const params = JSON.stringify({ requestId: number, reason: target.reason })
      this.#openChannelFor(channel).sendMessage(encodeRpcNotification(CANCELLED, params))
    }
  }

  #forwardServerRequest(target: SessionTarget, message: RpcMessage, number: number): void {
    const channel = this.#channelFor(target, message, number)
    const stale = this.#serverRequests.takeStale()
    if (stale !== undefined) stale.target.notify(encodeTooManyRequests(stale.idText))
    const requestNumber = this.#serverRequests.add({ target, idText: message.idText, channel })
    if (requestNumber === null) return target.notify(encodeTooManyRequests(message.idText))
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
    channel.sendMessage(message.withId(String(requestNumber), ...edits))
  }

  #forwardClientAnswer(message: RpcMessage, trace: Trace | null): void {
    const request = this.#serverRequests.take(message.idText)
    if (request === undefined) return
    const value = message.result
    const places = [RELATED_TASK_PATH]
    const { names } = this.#session.group
    const edits = value === null ? [] : createTargetNameEdits(names, message, { value, places })
    trace?.recordMcpMessage(message.kind, request.target.name)
    request.target.notify(message.withId(request.idText, ...edits), trace)
  }

  /** A target cancels its own request. */
  #withdrawServerRequest(target: SessionTarget, message: RpcMessage): void {
    const span = message.param('requestId')
    if (span === undefined) return
    const request = this.#serverRequests.withdraw(target, message.text(span))
    if (request === undefined) return
    const edit = { ...span, text: String(request.number) }
    this.#openChannelFor(request.channel).sendMessage(applyEdits(message.bytes, [edit]))
  }

  /** The client may still work on a server request after the call whose channel carried it is over. */
  #openChannelFor(channel: ClientChannel): ClientChannel {
    return channel.state === 'over' ? this.#session.standalone : channel
  }

  #cancelCall(message: RpcMessage, trace: Trace | null): void {
    const span = message.param('requestId')
    const idText = span === undefined ? '' : message.text(span)
    for (const call of this.#session.calls)
      // MCP: `initialize` must not be cancelled.
      if (call.idText === idText && call.message !== this.#session.initializeMessage)
        return call.cancel(message.textParam('reason') ?? 'cancelled by the client', trace)
  }

  #forwardProgress(message: RpcMessage, trace: Trace | null): void {
    const token = parseClientToken(message)
    const target = token === null ? undefined : this.#session.target(token.target)
    if (token === null || target === undefined) return
    trace?.recordMcpMessage(message.method, target.name)
    target.notify(applyEdits(message.bytes, [token.edit]), trace)
  }

  /** In a changed list, a name may belong to another target. */
  #forgetNames(method: string): void {
    const { directory } = this.#session
    if (method === 'notifications/tools/list_changed') directory.forget('tool')
    if (method === 'notifications/prompts/list_changed') directory.forget('prompt')
    if (method === 'notifications/resources/list_changed') directory.forget('resource')
  }

  /**
   * Selects the channel for a target's message. A child process does not name the call, except in progress
   * notifications; if one call waits for the target, the message belongs to that call.
   */
  #channelFor(target: SessionTarget, message: RpcMessage, number: number): ClientChannel {
    const { standalone, calls } = this.#session
    const open = [...calls]
    const own = number === 0 ? undefined : open.find((call) => call.hasTargetRequest(number))
    if (own !== undefined) return own.channel
    if (SESSION_NOTIFICATIONS.has(message.method)) return standalone
    if (message.method === PROGRESS)
      return this.#progressChannel(target, message, open) ?? standalone
    const waiting = open.filter((call) => call.waitsFor(target))
    const last = waiting.at(-1)
    const isAmbiguous = waiting.length > 1 && standalone.state === 'open'
    return last === undefined || isAmbiguous ? standalone : last.channel
  }

  #progressChannel(
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

/** A request from a target to the client: sampling, elicitation, roots or ping. */
export interface ServerRequest {
  readonly target: SessionTarget
  /** The id as the target sent it, as JSON text. */
  readonly idText: string
  readonly channel: ClientChannel
}

/** Open server requests by a number of the session, so that the ids of several targets cannot collide. */
class ServerRequests {
  readonly #open = new Map<number, ServerRequest>()
  #lastNumber = 0

  /** Returns the id for the client, or null when too many requests wait. */
  add(request: ServerRequest): number | null {
    if (this.#open.size >= MAX_SERVER_REQUESTS) return null
    this.#open.set(++this.#lastNumber, request)
    return this.#lastNumber
  }

  /** When the bound is reached: removes the oldest request whose call is over. */
  takeStale(): ServerRequest | undefined {
    if (this.#open.size < MAX_SERVER_REQUESTS) return undefined
    for (const [number, request] of this.#open)
      if (request.channel.state === 'over') {
        this.#open.delete(number)
        return request
      }
    return undefined
  }

  /** Removes the request that a client's answer belongs to. */
  take(idText: string): ServerRequest | undefined {
    const number = Number(idText)
    const request = this.#open.get(number)
    this.#open.delete(number)
    return request
  }

  /** Removes a request that its target cancelled. */
  withdraw(
    target: SessionTarget,
    idText: string,
  ): { number: number; channel: ClientChannel } | undefined {
    for (const [number, request] of this.#open)
      if (request.target === target && request.idText === idText) {
        this.#open.delete(number)
        return { number, channel: request.channel }
      }
    return undefined
  }

  /** Removes all requests of a target that went down. */
  dropTarget(target: SessionTarget): { number: number; channel: ClientChannel }[] {
    const dropped: { number: number; channel: ClientChannel }[] = []
    for (const [number, request] of this.#open)
      if (request.target === target && this.#open.delete(number))
        dropped.push({ number, channel: request.channel })
    return dropped
  }
}
