// One request from the client: the target requests it waits for, and its single response.

import type { Exchange } from '../../../core/exchange.ts'
import { findSpans } from '../../../text/json-edit.ts'
import { readJsonString } from '../../../text/json-scan.ts'
import type { ByteSpan } from '../../../text/json-scan.ts'
import type { Trace } from '../../../core/trace-events.ts'
import type { Attempt, Reply } from '../../../core/types.ts'
import { MAX_LOGGED_LENGTH } from '../mcp-bounds.ts'
import type { RpcCode, RpcError, RpcMessage } from '../json-rpc.ts'
import { RPC_CODES, formatRpcError, createRpcRefusal, encodeRpcResult } from '../json-rpc.ts'
import type { ClientChannel } from './channel.ts'
import type { SessionTarget, TargetResponseWaiter } from './target.ts'
import type { AuthorizationRule } from '../../../expressions/rules.ts'

/** The HTTP request that carried the message, with the settings of its route. */
export interface McpHttpRequest {
  readonly exchange: Exchange
  readonly attempt: Attempt
  /** `mcpAuthorization` of the route and of the backend; each of them must admit an item. */
  readonly ruleSets: readonly (readonly AuthorizationRule[])[]
}

export interface ClientCallOwner {
  /** With several targets, the HTTP error of one target is not relayed as the answer of all. */
  readonly hasOneTarget: boolean
  /** `answer` is null when the call was cancelled or answered by an HTTP reply. */
  answered(call: ClientCall, answer: Buffer | null): void
}

export class ClientCall {
  readonly message: RpcMessage
  readonly httpRequest: McpHttpRequest
  readonly channel: ClientChannel
  /** The id as the client sent it, as JSON text. */
  readonly idText: string
  /** The progress token, normalized by `normalizeProgressToken`. */
  readonly token: string
  readonly #owner: ClientCallOwner
  /** Requests to targets that wait for an answer, by number. */
  readonly #targetRequests = new Map<number, SessionTarget>()
  #state: 'open' | 'over' = 'open'
  /** The code of the last error that a target answered with. */
  #errorCode: number | undefined
  #onOver: (() => void) | null = null

  constructor(
    message: RpcMessage,
    httpRequest: McpHttpRequest,
    channel: ClientChannel,
    owner: ClientCallOwner,
  ) {
    this.message = message
    this.httpRequest = httpRequest
    this.channel = channel
    this.#owner = owner
    this.idText = message.idText
    this.token = progressTokenOf(message)
  }

  get isOver(): boolean {
    return this.#state === 'over'
  }

  whenOver(then: () => void): void {
    this.#onOver = then
  }

  waitsFor(target: SessionTarget): boolean {
    for (const waiting of this.#targetRequests.values()) if (waiting === target) return true
    return false
  }

  hasTargetRequest(number: number): boolean {
    return this.#targetRequests.has(number)
  }

  /** Records in the trace, if there is one, that the message goes to this target. */
  traceTo(target: SessionTarget): Trace | null {
    const { trace } = this.httpRequest.exchange
    trace?.recordMcpMessage(this.message.method, target.name)
    return trace
  }

  /** Sends a request to a target for this call; after a cancel the waiter is not called. */
  sendToTarget(
    target: SessionTarget,
    encode: (idText: string) => Buffer,
    waiter: TargetResponseWaiter,
  ): number {
    const trace = this.traceTo(target)
    const number: number = target.request(encode, {
      trace,
      answered: (message) => {
        if (!this.#targetRequests.delete(number)) return
        this.#errorCode =
          message.error === null ? undefined : rpcErrorCodeOf(message, message.error)
        waiter.answered(message)
      },
      failed: (reason, reply, code) => {
        if (this.#targetRequests.delete(number)) waiter.failed(reason, reply, code)
        else reply?.body.cancel()
      },
    })
    this.#targetRequests.set(number, target)
    return number
  }

  /** Cancels one target request; a later answer to it is ignored. */
  abandonTargetRequest(number: number, reason: string): void {
    const target = this.#targetRequests.get(number)
    this.#targetRequests.delete(number)
    target?.cancel(number, reason, this.httpRequest.exchange.trace)
  }

  /** Answers with the response of the last target asked. */
  answer(bytes: Buffer): void {
    if (this.#errorCode !== undefined) this.#recordFacts(this.#errorCode)
    this.#finish(bytes)
  }

  result(text: string): void {
    this.#finish(encodeRpcResult(this.idText, text))
  }

  error(error: RpcError): void {
    this.#recordFacts(error.code, error.message)
    this.#finish(Buffer.from(formatRpcError(this.idText, error)))
  }

  /** Answers with an HTTP error status if this call is the only one of its response. */
  refuse(status: number, error: RpcError): void {
    this.#recordFacts(error.code, error.message)
    if (this.channel.openCalls > 1) return this.error(error)
    this.relay(createRpcRefusal(status, error, this.idText), error)
  }

  /** Relays an HTTP reply if it can still be the whole response; answers with `fallback` otherwise. */
  relay(reply: Reply, fallback: RpcError): void {
    if (this.channel.openCalls === 1 && this.channel.refuse(reply)) return this.#finish(null)
    reply.body.cancel()
    this.error(fallback)
  }

  /** A target request failed; `reply` is the HTTP error of a remote target, if any. */
  failed(
    target: string,
    reason: string,
    reply: Reply | null,
    code: RpcCode = RPC_CODES.server,
  ): void {
    const error = { code, message: reason, data: { target } }
    if (reply === null) return this.error(error)
    // A 404 would mean to the client that its session with the gateway is gone.
    if (this.#owner.hasOneTarget && reply.head.status !== 404)
      return this.relay(removeSessionHeaders(reply), error)
    reply.body.cancel()
    this.error(error)
  }

  /** The client no longer waits; `trace` is that of the HTTP request that cancelled the call. */
  cancel(reason: string, trace: Trace | null = this.httpRequest.exchange.trace): void {
    // An error of the exchange is the more precise reason.
    const cause = this.httpRequest.exchange.error?.message ?? reason
    for (const [number, target] of this.#targetRequests) target.cancel(number, cause, trace)
    this.#targetRequests.clear()
    this.#finish(null)
  }

  /** Facts for the access log; error texts of targets are not logged. */
  #recordFacts(errorCode: number | undefined, text?: string): void {
    const { exchange } = this.httpRequest
    const errorText = text?.slice(0, MAX_LOGGED_LENGTH)
    exchange.addFacts({ mcp: Object.assign({}, exchange.facts?.mcp, { errorCode, errorText }) })
  }

  #finish(answer: Buffer | null): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#onOver?.()
    this.#owner.answered(this, answer)
  }
}

const SESSION_HEADERS = ['mcp-session-id', 'mcp-protocol-version', 'set-cookie']

/** Removes headers that concern only the gateway's session with the target. */
function removeSessionHeaders(reply: Reply): Reply {
  for (const [name] of [...reply.head.entries()])
    if (SESSION_HEADERS.includes(name) || name.startsWith('access-control-'))
      reply.head.remove(name)
  return reply
}

function rpcErrorCodeOf(message: RpcMessage, error: ByteSpan): number | undefined {
  const { code }: { code?: unknown } = JSON.parse(message.text(error)) ?? {}
  return typeof code === 'number' ? code : undefined
}

const TOKEN_PATH = ['_meta', 'progressToken']

function progressTokenOf({ bytes, params }: RpcMessage): string {
  const [token] = params === null ? [] : findSpans(bytes, params, TOKEN_PATH)
  return normalizeProgressToken(bytes, token)
}

/** Normalizes a progress token, as targets may send `1.0` back as `1`. Empty if there is none. */
export function normalizeProgressToken(bytes: Buffer, span: ByteSpan | undefined): string {
  if (span === undefined) return ''
  const text = readJsonString(bytes, span)
  if (text !== undefined) return JSON.stringify(text)
  const number = Number(bytes.toString('latin1', span.from, span.to))
  return Number.isNaN(number) ? '' : String(number)
}
