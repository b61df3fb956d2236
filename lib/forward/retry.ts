// The `retry` policy: tries again, before a byte has reached the client, when a backend fails or answers with one
// of the configured codes. Every try may pick another backend.

import type { RetryConfig } from '../config/config-types.ts'
import { toGatewayError, GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import type { Log } from '../core/log.ts'
import type { Attempt, Backend, Reply } from '../core/types.ts'
import { ReplayBody } from './replay-body.ts'

export function callWithRetry(
  exchange: Exchange,
  retry: RetryConfig,
  pick: () => Backend,
  log: Log,
): void {
  new RetryAttempts(exchange, retry, pick, log).tryNext()
}

class RetryAttempts implements Attempt {
  readonly body: ReplayBody
  readonly #exchange: Exchange
  readonly #retry: RetryConfig
  readonly #pick: () => Backend
  readonly #restoreRequest: () => void
  readonly #log: Log
  #attemptCount = 0

  constructor(exchange: Exchange, retry: RetryConfig, pick: () => Backend, log: Log) {
    this.#log = log
    this.#exchange = exchange
    this.#retry = retry
    this.#pick = pick
    this.body = new ReplayBody(exchange.body)
    this.#restoreRequest = restoreRequest(exchange)
    exchange.forwarding.replayBuffer = this.body
  }

  tryNext(): void {
    const exchange = this.#exchange
    const backend = this.#pick()
    if (this.#attemptCount++ > 0) {
      this.#restoreRequest()
      exchange.request.set('x-retry-attempt', String(this.#attemptCount - 1))
    }
    exchange.forwarding.endpoint = backend.endpoint
    backend.call(exchange, this)
  }

  answer(reply: Reply): void {
    const { status } = reply.head
    if (!this.#retry.codes.includes(status) || !this.#scheduleRetry(`answered ${status}`))
      return this.#exchange.answer(reply)
    reply.body.cancel()
  }

  fail(error: GatewayError): void {
    if (error.source !== 'backend' || !this.#scheduleRetry(error.message))
      this.#exchange.fail(error)
  }

  #attempt(): void {
    if (this.#exchange.phase === 'settled') return
    // What came while no backend listened may have been more than can be kept.
    if (!this.body.isReplayable)
      return this.#exchange.fail(
        new GatewayError('BACKEND_CLOSED', 'upstream call failed: cannot be sent again'),
      )
    try {
      this.tryNext()
    } catch (error) {
      // In a timer nobody else would catch it.
      this.#exchange.fail(toGatewayError(error))
    }
  }

  /** Arranges for another try, if one is left and the request can be sent again. */
  #scheduleRetry(reason: string): boolean {
    if (this.#attemptCount > this.#retry.attempts || !this.body.isReplayable) return false
    if (this.#exchange.phase === 'settled') return false
    const {
      forwarding: { endpoint },
    } = this.#exchange
    this.#exchange.forwarding.retries++
    if (this.#log.allows('debug', 'forward'))
      this.#log.write('debug', 'forward', 'trying again', ['endpoint', endpoint, 'reason', reason])
    this.body.release()
    const timer = setTimeout(() => this.#attempt(), this.#retry.backoff)
    this.#exchange.pendingCall = { cancel: () => clearTimeout(timer) }
    return true
  }
}

/** Undoes what the policies of one backend did, its credential above all: the next try may pick another. */
export function restoreRequest(exchange: Exchange): () => void {
  const {
    request,
    enforcement: { responsePolicies: policies },
    facts,
  } = exchange
  const restore = request.saveState()
  const { target } = request
  return () => {
    restore()
    request.target = target
    exchange.enforcement.responsePolicies = policies
    exchange.facts = facts
  }
}
