// Wrappers around one call to a backend: attempts that write trace events, backends with their own policies, and the reply to
// `expect: 100-continue`.

import type { GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import { buildResponseHead } from '../core/replies.ts'
import type { CallTrace } from '../core/trace-events.ts'
import type { Attempt, Backend, Body, ErrorFormat, Policy, Reply } from '../core/types.ts'
import { TappedBody } from '../http/tapped-body.ts'
import type { ResponseReceiver } from './http/internal-request.ts'

/** Records the request body, the response head and a failure of one attempt in its trace. */
export class TracedAttempt implements Attempt {
  readonly body: Body
  readonly #attempt: Attempt
  readonly #call: CallTrace

  constructor(attempt: Attempt, call: CallTrace) {
    this.#attempt = attempt
    this.#call = call
    this.body = new TappedBody(attempt.body, call.requestBodyTap)
  }

  answer(reply: Reply): void {
    this.#call.recordResponse(reply.head)
    this.#attempt.answer(reply)
  }

  fail(error: GatewayError): void {
    this.#call.recordFailure(error.message)
    this.#attempt.fail(error)
  }
}

/** The same for a request that the gateway makes itself; its body is complete from the start. */
export class TracedResponseReceiver implements ResponseReceiver {
  readonly #receiver: ResponseReceiver
  readonly #call: CallTrace

  constructor(receiver: ResponseReceiver, call: CallTrace, body: Buffer | null) {
    this.#receiver = receiver
    this.#call = call
    if (body !== null) call.requestBodyTap.chunk(body, 0, body.length)
    call.requestBodyTap.end('complete')
  }

  answered(reply: Reply): void {
    this.#call.recordResponse(reply.head)
    this.#call.recordReady(reply.head)
    this.#receiver.answered(reply)
  }

  failed(error: GatewayError): void {
    this.#call.recordFailure(error.message)
    this.#receiver.failed(error)
  }
}

/** Calls `pass` if all policies admit the request. */
type EnforcePolicies = (exchange: Exchange, policies: readonly Policy[], pass: () => void) => void

/** A backend with its own policies, which run when it is selected, after those of the route. */
export class BackendWithPolicies implements Backend {
  readonly endpoint: string
  readonly #backend: Backend
  readonly #policies: readonly Policy[]
  readonly #enforce: EnforcePolicies

  constructor(backend: Backend, policies: readonly Policy[], enforce: EnforcePolicies) {
    this.endpoint = backend.endpoint
    this.#backend = backend
    this.#policies = policies
    this.#enforce = enforce
  }

  errorFormatFor(exchange: Exchange): ErrorFormat {
    return this.#backend.errorFormatFor?.(exchange) ?? exchange.choice.errorFormat
  }

  /** A refusal answers the exchange and not this attempt: a retry would be refused in the same way. */
  call(exchange: Exchange, attempt: Attempt): void {
    exchange.addPolicies(this.#policies)
    this.#enforce(exchange, this.#policies, () => this.#backend.call(exchange, attempt))
  }
}

/** Answers `expect: 100-continue` for a body that the gateway reads before it calls a backend. */
export function send100Continue({ request, client }: Exchange): void {
  if (request.get('expect')?.toLowerCase() !== '100-continue') return
  request.remove('expect')
  client.sendInterim(buildResponseHead(100, []))
}
