// One request of the client's: whom it waits for, and the one answer it gets.

import type { Exchange } from '../../../core/exchange.ts'
import { findSpans } from '../../../text/json-edit.ts'
import { readJsonString } from '../../../text/json-scan.ts'
import type { ByteSpan } from '../../../text/json-scan.ts'
import type { Trace } from '../../../core/trace-events.ts'
import type { Attempt, Reply } from '../../../core/types.ts'
import { MAX_LOGGED_LENGTH } from '../mcp-bounds.ts'
import type { RpcError, RpcMessage } from '../json-rpc.ts'
import { RPC_CODES, formatRpcError, createRpcRefusal, encodeRpcResult } from '../json-rpc.ts'
import type { ClientChannel } from './channel.ts'
import type { SessionTarget, TargetResponseWaiter } from './target.ts'
import type { AuthorizationRule } from '../../../expressions/rules.ts'

/** The HTTP request that brought it, and what its route says. */
export interface McpHttpRequest {
  readonly exchange: Exchange
  readonly attempt: Attempt
  /** `mcpAuthorization` */
  readonly rules: readonly AuthorizationRule[]
}

export interface ClientCallOwner {
  /** With several targets the refusal of one is no answer to the client, who does not know them apart. */
  readonly hasOneTarget: boolean
  /** Its answer, or null when it was cancelled and gets none. */
  answered(call: ClientCall, answer: Buffer | null): void
}

export class ClientCall {
  readonly message: RpcMessage
  readonly httpRequest: McpHttpRequest
  readonly channel: ClientChannel
  /** The id as the client wrote it. */
  readonly idText: string
  /** The progress token as `normalizeProgressToken` has it. */
  readonly token: string
  readonly #owner: ClientCallOwner
  /** Requests to targets that wait, by number. */
  readonly #targetRequests = new Map<number, SessionTarget>()
  #state: 'open' | 'over' = 'open'
  /** Of the error that a target answered with last. */
  #code: number | undefined
  #after: (() => void) | null = null

  constructor(
    message: RpcMessage,
    visit: McpHttpRequest,
    channel: ClientChannel,
    owner: ClientCallOwner,
  ) {
    this.message = message
    this.httpRequest = visit
    this.channel = channel
    this.#owner = owner
    this.idText = message.idText
    this.token = progressTokenOf(message)
  }

  get isOver(): boolean {
    return this.#state === 'over'
  }

  whenOver(then: () => void): void {
    this.#after = then
  }

  waitsFor(target: SessionTarget): boolean {
    for (const one of this.#targetRequests.values()) if (one === target) return true
    return false
  }

  /** Whether this is the number of one of its requests. */
  hasTargetRequest(number: number): boolean {
    return this.#targetRequests.has(number)
  }

  /** Told, if somebody watches, that it goes to this target. */
  traceTo(target: SessionTarget): Trace | null {
    const { trace } = this.httpRequest.exchange
    trace?.recordMcpMessage(this.message.method, target.name)
    return trace
  }

  /** Asks a target on the call's behalf; after a cancel the waiter hears nothing. */
  sendToTarget(
    target: SessionTarget,
    make: (idText: string) => Buffer,
    waiter: TargetResponseWaiter,
  ): number {
    const trace = this.traceTo(target)
    const number: number = target.request(make, {
      trace,
      answered: (message) => {
        if (!this.#targetRequests.delete(number)) return
        this.#code = message.error === null ? undefined : rpcErrorCodeOf(message, message.error)
        waiter.answered(message)
      },
      failed: (reason, reply) => {
        if (this.#targetRequests.delete(number)) waiter.failed(reason, reply)
        else reply?.body.cancel()
      },
    })
    this.#targetRequests.set(number, target)
    return number
  }

  /** The waiter's wait is over, whatever the target says later. */
  abandonTargetRequest(number: number, why: string): void {
    const target = this.#targetRequests.get(number)
    this.#targetRequests.delete(number)
    target?.cancel(number, why, this.httpRequest.exchange.trace)
  }

  /** What the target asked last has said. */
  answer(bytes: Buffer): void {
    if (this.#code !== undefined) this.#recordFacts(this.#code)
    this.#finish(bytes)
  }

  result(text: string): void {
    this.#finish(encodeRpcResult(this.idText, text))
  }

  error(error: RpcError): void {
    this.#recordFacts(error.code, error.message)
    this.#finish(Buffer.from(formatRpcError(this.idText, error)))
  }

  /** With an HTTP status of its own where nothing else is in the answer. */
  refuse(status: number, error: RpcError): void {
    this.#recordFacts(error.code, error.message)
    if (this.channel.openCalls > 1) return this.error(error)
    this.relay(createRpcRefusal(status, error, this.idText), error)
  }

  /** A remote target's own words, where they can still be the whole answer. */
  relay(reply: Reply, otherwise: RpcError): void {
    if (this.channel.openCalls === 1 && this.channel.refuse(reply)) return this.#finish(null)
    reply.body.cancel()
    this.error(otherwise)
  }

  failed(reason: string, reply: Reply | null, target: string): void {
    const error = { code: RPC_CODES.server, message: reason, data: { target } }
    if (reply === null) return this.error(error)
    // 404 would tell the client that its session here is gone.
    if (this.#owner.hasOneTarget && reply.head.status !== 404)
      return this.relay(removeSessionHeaders(reply), error)
    reply.body.cancel()
    this.error(error)
  }

  /** Nobody waits for the answer any more; `trace` is that of the request that says so, where another one does. */
  cancel(why: string, trace: Trace | null = this.httpRequest.exchange.trace): void {
    // Where an error ended the client's wait, it says more.
    const reason = this.httpRequest.exchange.error?.message ?? why
    for (const [number, target] of this.#targetRequests) target.cancel(number, reason, trace)
    this.#targetRequests.clear()
    this.#finish(null)
  }

  /** For the log; the target's own words stay out of it. */
  #recordFacts(errorCode: number | undefined, text?: string): void {
    const { exchange } = this.httpRequest
    const errorText = text?.slice(0, MAX_LOGGED_LENGTH)
    exchange.addFacts({ mcp: Object.assign({}, exchange.facts?.mcp, { errorCode, errorText }) })
  }

  #finish(answer: Buffer | null): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#after?.()
    this.#owner.answered(this, answer)
  }
}

/** What belongs between the gateway and its target is not for the client. */
function removeSessionHeaders(reply: Reply): Reply {
  for (const [name] of [...reply.head.entries()])
    if (SESSION_HEADERS.includes(name) || name.startsWith('access-control-'))
      reply.head.remove(name)
  return reply
}

const SESSION_HEADERS = ['mcp-session-id', 'mcp-protocol-version', 'set-cookie']

function rpcErrorCodeOf(message: RpcMessage, error: ByteSpan): number | undefined {
  const { code }: { code?: unknown } = JSON.parse(message.text(error)) ?? {}
  return typeof code === 'number' ? code : undefined
}

const TOKEN_PATH = ['_meta', 'progressToken']

function progressTokenOf({ bytes, params }: RpcMessage): string {
  const [token] = params === null ? [] : findSpans(bytes, params, TOKEN_PATH)
  return normalizeProgressToken(bytes, token)
}

/** A progress token in one writing, for targets send it back in a hand of their own: `1.0` as `1`. '' for none. */
export function normalizeProgressToken(bytes: Buffer, span: ByteSpan | undefined): string {
  if (span === undefined) return ''
  const text = readJsonString(bytes, span)
  if (text !== undefined) return JSON.stringify(text)
  const number = Number(bytes.toString('latin1', span.from, span.to))
  return Number.isNaN(number) ? '' : String(number)
}
