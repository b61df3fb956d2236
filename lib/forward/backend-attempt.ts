// A try that somebody watches: what goes out, and what comes back.

import type { GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import { buildResponseHead } from '../core/replies.ts'
import type { CallTrace } from '../core/trace-events.ts'
import type { Attempt, Backend, Body, ErrorFormat, Policy, Reply } from '../core/types.ts'
import { TappedBody } from '../http/tapped-body.ts'
import type { ResponseReceiver } from './http/internal-request.ts'

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

/** The same for a request of the gateway's own, whose body is there already. */
export class TracedResponseReceiver implements ResponseReceiver {
  readonly #receiver: ResponseReceiver
  readonly #call: CallTrace

  constructor(asker: ResponseReceiver, call: CallTrace, body: Buffer | null) {
    this.#receiver = asker
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

// A backend with policies of its own: they have their word when it is picked, behind those of the route.

/** Calls `pass` if all of them let the request pass. */
type EnforcePolicies = (exchange: Exchange, policies: readonly Policy[], pass: () => void) => void

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

  /** A refusal is the exchange's answer, not this attempt's: another try would not be another client. */
  call(exchange: Exchange, attempt: Attempt): void {
    if (this.#policies.length > 0)
      exchange.enforcement.responsePolicies = exchange.enforcement.responsePolicies.concat(
        this.#policies,
      )
    this.#enforce(exchange, this.#policies, () => this.#backend.call(exchange, attempt))
  }
}

// `expect: 100-continue`: a backend answers it itself, but where the body is wanted before one is asked, nobody else would.

/** Tells a client that waits with its body to send it. */
export function send100Continue({ request, client }: Exchange): void {
  if (request.get('expect')?.toLowerCase() !== '100-continue') return
  request.remove('expect')
  client.sendInterim(buildResponseHead(100, []))
}
