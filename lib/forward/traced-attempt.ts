// A try that somebody watches: what goes out, and what comes back.

import type { GatewayError } from '../base/errors.ts'
import { TappedBody } from '../base/tapped-body.ts'
import type { Trace } from '../base/trace/trace.ts'
import type { Attempt, Body, Reply } from '../base/types.ts'

export class TracedAttempt implements Attempt {
  readonly body: Body
  readonly #attempt: Attempt
  readonly #trace: Trace

  constructor(attempt: Attempt, trace: Trace) {
    this.#attempt = attempt
    this.#trace = trace
    this.body = new TappedBody(attempt.body, trace.body('final request'))
  }

  answer(reply: Reply): void {
    this.#trace.answered(reply.head)
    this.#attempt.answer(reply)
  }

  fail(error: GatewayError): void {
    this.#trace.failed(error)
    this.#attempt.fail(error)
  }
}
