// The `retry` policy: calls a backend again when it fails or answers with one of the configured codes, as long as no byte has
// reached the client. Each attempt may select another backend.

import type { RetryConfig } from '../config/config-types.ts'
import { toGatewayError, GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import type { Log } from '../core/log.ts'
import type { Attempt, Backend, Reply } from '../core/types.ts'
import { ReplayBody } from './replay-body.ts'

/** Calls a backend once. */
export function callBackend(exchange: Exchange, backend: Backend): void {
  exchange.forwarding.calledAt = performance.now()
  exchange.forwarding.endpoint = backend.endpoint
  backend.call(exchange, exchange)
}

/** Calls a backend, and again after a failure; `chooseBackend` is called once for each attempt. */
export function callWithRetry(
  exchange: Exchange,
  retry: RetryConfig,
  chooseBackend: () => Backend,
  log: Log,
): void {
  exchange.forwarding.calledAt = performance.now()
  new RetryAttempts(exchange, retry, chooseBackend, log).callNextBackend()
}

class RetryAttempts implements Attempt {
  readonly body: ReplayBody
  readonly #exchange: Exchange
  readonly #retry: RetryConfig
  readonly #chooseBackend: () => Backend
  readonly #restoreRequest: () => void
  readonly #log: Log
  #attemptCount = 0

  constructor(exchange: Exchange, retry: RetryConfig, chooseBackend: () => Backend, log: Log) {
    this.#log = log
    this.#exchange = exchange
    this.#retry = retry
    this.#chooseBackend = chooseBackend
    this.body = new ReplayBody(exchange.body)
    this.#restoreRequest = saveRequestState(exchange)
    exchange.forwarding.replayBuffer = this.body
  }

  callNextBackend(): void {
    const exchange = this.#exchange
    const backend = this.#chooseBackend()
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

  /** Returns false when all attempts are used or the request body cannot be sent again. */
  #scheduleRetry(reason: string): boolean {
    const { forwarding, phase } = this.#exchange
    if (this.#attemptCount > this.#retry.attempts || !this.body.isReplayable) return false
    if (phase === 'settled') return false
    forwarding.retries++
    if (this.#log.allows('debug', 'forward')) {
      const { endpoint } = forwarding
      this.#log.write('debug', 'forward', 'retrying', ['endpoint', endpoint, 'reason', reason])
    }
    this.body.release()
    const timer = setTimeout(() => this.#callAfterBackoff(), this.#retry.backoff)
    this.#exchange.pendingCall = { cancel: () => clearTimeout(timer) }
    return true
  }

  #callAfterBackoff(): void {
    if (this.#exchange.phase === 'settled') return
    // The body may have grown larger than MAX_REPLAY_BYTES during the backoff.
    if (!this.body.isReplayable)
      return this.#exchange.fail(
        new GatewayError(
          'BACKEND_CLOSED',
          'upstream call failed: the request body is too large to be sent again',
        ),
      )
    try {
      this.callNextBackend()
    } catch (error) {
      // This runs in a timer, where no caller catches the error.
      this.#exchange.fail(toGatewayError(error))
    }
  }
}

/** Returns a function that undoes the changes of one backend's policies, such as its credential, before the next attempt. */
export function saveRequestState(exchange: Exchange): () => void {
  const { request, facts, policies } = exchange
  const restore = request.saveState()
  const { target } = request
  return () => {
    restore()
    request.target = target
    exchange.usePolicies(policies)
    exchange.facts = facts
  }
}
