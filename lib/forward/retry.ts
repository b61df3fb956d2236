// The `retry` policy: tries again, before a byte has reached the client, when a backend fails or answers with one
// of the configured codes. Every try may pick another backend.

import type { RetryConfig } from '../base/config/types.ts'
import { faultOf, GatewayError } from '../base/errors.ts'
import type { Exchange } from '../base/exchange.ts'
import type { Log } from '../base/log/log.ts'
import type { Attempt, Backend, Reply } from '../base/types.ts'
import { ReplayBody } from './replay-body.ts'

export function callWithRetry(
  exchange: Exchange,
  retry: RetryConfig,
  pick: () => Backend,
  log: Log,
): void {
  new Tries(exchange, retry, pick, log).next()
}

class Tries implements Attempt {
  readonly body: ReplayBody
  readonly #exchange: Exchange
  readonly #retry: RetryConfig
  readonly #pick: () => Backend
  readonly #undo: () => void
  readonly #log: Log
  #tried = 0

  constructor(exchange: Exchange, retry: RetryConfig, pick: () => Backend, log: Log) {
    this.#log = log
    this.#exchange = exchange
    this.#retry = retry
    this.#pick = pick
    this.body = new ReplayBody(exchange.body)
    this.#undo = wayBack(exchange)
    exchange.kept = this.body
  }

  next(): void {
    const exchange = this.#exchange
    const backend = this.#pick()
    if (this.#tried++ > 0) {
      this.#undo()
      exchange.request.set('x-retry-attempt', String(this.#tried - 1))
    }
    exchange.endpoint = backend.endpoint
    backend.call(exchange, this)
  }

  answer(reply: Reply): void {
    const { status } = reply.head
    if (!this.#retry.codes.includes(status) || !this.#again(`answered ${status}`))
      return this.#exchange.answer(reply)
    reply.body.cancel()
  }

  fail(error: GatewayError): void {
    if (error.source !== 'backend' || !this.#again(error.message)) this.#exchange.fail(error)
  }

  #try(): void {
    if (this.#exchange.phase === 'settled') return
    // What came while no backend listened may have been more than can be kept.
    if (!this.body.isReplayable)
      return this.#exchange.fail(
        new GatewayError('BACKEND_CLOSED', 'upstream call failed: cannot be sent again'),
      )
    try {
      this.next()
    } catch (error) {
      // In a timer nobody else would catch it.
      this.#exchange.fail(faultOf(error))
    }
  }

  /** Arranges for another try, if one is left and the request can be sent again. */
  #again(reason: string): boolean {
    if (this.#tried > this.#retry.attempts || !this.body.isReplayable) return false
    if (this.#exchange.phase === 'settled') return false
    const { endpoint } = this.#exchange
    this.#exchange.retries++
    if (this.#log.allows('debug', 'forward'))
      this.#log.line('debug', 'forward', 'trying again', ['endpoint', endpoint, 'reason', reason])
    this.body.release()
    const timer = setTimeout(() => this.#try(), this.#retry.backoff)
    this.#exchange.call = { cancel: () => clearTimeout(timer) }
    return true
  }
}

/** Undoes what the policies of one backend did, its credential above all: the next try may pick another. */
export function wayBack(exchange: Exchange): () => void {
  const { request, policies, facts } = exchange
  const restore = request.mark()
  const { target } = request
  return () => {
    restore()
    request.target = target
    exchange.policies = policies
    exchange.facts = facts
  }
}
