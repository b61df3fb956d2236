// A try that somebody watches: what goes out, and what comes back.

import type { GatewayError } from '../base/errors.ts'
import { TappedBody } from '../base/tapped-body.ts'
import type { CallTrace } from '../base/trace/events.ts'
import type { Attempt, Body, Reply } from '../base/types.ts'
import type { Asker } from './http/ask.ts'

export class TracedAttempt implements Attempt {
  readonly body: Body
  readonly #attempt: Attempt
  readonly #call: CallTrace

  constructor(attempt: Attempt, call: CallTrace) {
    this.#attempt = attempt
    this.#call = call
    this.body = new TappedBody(attempt.body, call.body)
  }

  answer(reply: Reply): void {
    this.#call.answered(reply.head)
    this.#attempt.answer(reply)
  }

  fail(error: GatewayError): void {
    this.#call.failed(error.message)
    this.#attempt.fail(error)
  }
}

/** The same for a request of the gateway's own, whose body is there already. */
export class TracedAsker implements Asker {
  readonly #asker: Asker
  readonly #call: CallTrace

  constructor(asker: Asker, call: CallTrace, body: Buffer | null) {
    this.#asker = asker
    this.#call = call
    if (body !== null) call.body.chunk(body, 0, body.length)
    call.body.end('complete')
  }

  answered(reply: Reply): void {
    this.#call.answered(reply.head)
    this.#call.ready(reply.head)
    this.#asker.answered(reply)
  }

  failed(error: GatewayError): void {
    this.#call.failed(error.message)
    this.#asker.failed(error)
  }
}
