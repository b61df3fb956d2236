// One request of the client's: whom it waits for, and the one answer it gets.

import type { Exchange } from '../../../base/exchange.ts'
import { spansAt } from '../../../base/json/edit.ts'
import { stringAt } from '../../../base/json/scan.ts'
import type { Span } from '../../../base/json/scan.ts'
import type { Trace } from '../../../base/trace/events.ts'
import type { Attempt, Reply } from '../../../base/types.ts'
import { MAX_LOGGED } from '../bounds.ts'
import type { Message } from '../message.ts'
import { CODES, errorText, refusal, resultBytes } from '../rpc.ts'
import type { RpcError } from '../rpc.ts'
import type { Channel } from './channel.ts'
import type { Target, Waiter } from './target.ts'
import type { Rule } from '../../../base/cel/rules.ts'

/** The HTTP request that brought it, and what its route says. */
export interface Visit {
  readonly exchange: Exchange
  readonly attempt: Attempt
  /** `mcpAuthorization` */
  readonly rules: readonly Rule[]
}

export interface CallOwner {
  /** With several targets the refusal of one is no answer to the client, who does not know them apart. */
  readonly hasOneTarget: boolean
  /** Its answer, or null when it was cancelled and gets none. */
  answered(call: Call, answer: Buffer | null): void
}

export class Call {
  readonly message: Message
  readonly visit: Visit
  readonly channel: Channel
  /** The id as the client wrote it. */
  readonly idText: string
  /** The progress token as `tokenText` has it. */
  readonly token: string
  readonly #owner: CallOwner
  /** Requests to targets that wait, by number. */
  readonly #parts = new Map<number, Target>()
  #state: 'open' | 'over' = 'open'
  /** Of the error that a target answered with last. */
  #code: number | undefined
  #after: (() => void) | null = null

  constructor(message: Message, visit: Visit, channel: Channel, owner: CallOwner) {
    this.message = message
    this.visit = visit
    this.channel = channel
    this.#owner = owner
    this.idText = message.idText
    this.token = tokenOf(message)
  }

  get isOver(): boolean {
    return this.#state === 'over'
  }

  whenOver(then: () => void): void {
    this.#after = then
  }

  waitsFor(target: Target): boolean {
    for (const one of this.#parts.values()) if (one === target) return true
    return false
  }

  /** Whether this is the number of one of its requests. */
  hasPart(number: number): boolean {
    return this.#parts.has(number)
  }

  /** Told, if somebody watches, that it goes to this target. */
  traceTo(target: Target): Trace | null {
    const { trace } = this.visit.exchange
    trace?.mcp(this.message.method, target.name)
    return trace
  }

  /** Asks a target on the call's behalf; after a cancel the waiter hears nothing. */
  ask(target: Target, make: (idText: string) => Buffer, waiter: Waiter): number {
    const trace = this.traceTo(target)
    const number: number = target.request(make, {
      trace,
      answered: (message) => {
        if (!this.#parts.delete(number)) return
        this.#code = message.error === null ? undefined : codeOf(message, message.error)
        waiter.answered(message)
      },
      failed: (reason, reply) => {
        if (this.#parts.delete(number)) waiter.failed(reason, reply)
        else reply?.body.cancel()
      },
    })
    this.#parts.set(number, target)
    return number
  }

  /** The waiter's wait is over, whatever the target says later. */
  giveUp(number: number, why: string): void {
    const target = this.#parts.get(number)
    this.#parts.delete(number)
    target?.cancel(number, why, this.visit.exchange.trace)
  }

  /** What the target asked last has said. */
  answer(bytes: Buffer): void {
    if (this.#code !== undefined) this.#note(this.#code)
    this.#finish(bytes)
  }

  result(text: string): void {
    this.#finish(resultBytes(this.idText, text))
  }

  error(error: RpcError): void {
    this.#note(error.code, error.message)
    this.#finish(Buffer.from(errorText(this.idText, error)))
  }

  /** With an HTTP status of its own where nothing else is in the answer. */
  refuse(status: number, error: RpcError): void {
    this.#note(error.code, error.message)
    if (this.channel.holds > 1) return this.error(error)
    this.relay(refusal(status, error, this.idText), error)
  }

  /** A remote target's own words, where they can still be the whole answer. */
  relay(reply: Reply, otherwise: RpcError): void {
    if (this.channel.holds === 1 && this.channel.refuse(reply)) return this.#finish(null)
    reply.body.cancel()
    this.error(otherwise)
  }

  failed(reason: string, reply: Reply | null, target: string): void {
    const error = { code: CODES.server, message: reason, data: { target } }
    if (reply === null) return this.error(error)
    // 404 would tell the client that its session here is gone.
    if (this.#owner.hasOneTarget && reply.head.status !== 404)
      return this.relay(withoutSession(reply), error)
    reply.body.cancel()
    this.error(error)
  }

  /** Nobody waits for the answer any more; `trace` is that of the request that says so, where another one does. */
  cancel(why: string, trace: Trace | null = this.visit.exchange.trace): void {
    // Where an error ended the client's wait, it says more.
    const reason = this.visit.exchange.error?.message ?? why
    for (const [number, target] of this.#parts) target.cancel(number, reason, trace)
    this.#parts.clear()
    this.#finish(null)
  }

  /** For the log; the target's own words stay out of it. */
  #note(errorCode: number | undefined, text?: string): void {
    const { exchange } = this.visit
    const errorText = text?.slice(0, MAX_LOGGED)
    exchange.learn({ mcp: Object.assign({}, exchange.facts?.mcp, { errorCode, errorText }) })
  }

  #finish(answer: Buffer | null): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#after?.()
    this.#owner.answered(this, answer)
  }
}

/** What belongs between the gateway and its target is not for the client. */
function withoutSession(reply: Reply): Reply {
  for (const [name] of [...reply.head.entries()])
    if (NOT_RELAYED.includes(name) || name.startsWith('access-control-')) reply.head.remove(name)
  return reply
}

const NOT_RELAYED = ['mcp-session-id', 'mcp-protocol-version', 'set-cookie']

function codeOf(message: Message, error: Span): number | undefined {
  const { code }: { code?: unknown } = JSON.parse(message.text(error)) ?? {}
  return typeof code === 'number' ? code : undefined
}

const TOKEN_PATH = ['_meta', 'progressToken']

function tokenOf({ bytes, params }: Message): string {
  const [token] = params === null ? [] : spansAt(bytes, params, TOKEN_PATH)
  return tokenText(bytes, token)
}

/** A progress token in one writing, for targets send it back in a hand of their own: `1.0` as `1`. '' for none. */
export function tokenText(bytes: Buffer, span: Span | undefined): string {
  if (span === undefined) return ''
  const text = stringAt(bytes, span)
  if (text !== undefined) return JSON.stringify(text)
  const number = Number(bytes.toString('latin1', span.from, span.to))
  return Number.isNaN(number) ? '' : String(number)
}
