// The life of a request in one place: accept → choose → enforce → forward → relay → settle.

import type { Gate } from './accept/gate.ts'
import type { Pressure } from './base/bounds/pressure.ts'
import type { Refusals } from './base/bounds/refusals.ts'
import { faultOf, GatewayError, stackOf } from './base/errors.ts'
import type { Exchange } from './base/exchange.ts'
import type { Log } from './base/log/log.ts'
import { Pending } from './base/pending.ts'
import type { Watchers } from './base/trace/watchers.ts'
import type { Reply, Steps } from './base/types.ts'
import { pick, routeOf } from './chosen.ts'
import { enforce } from './enforce/enforce.ts'
import { callWithRetry } from './forward/retry.ts'
import type { Plan, PlannedListener, Route } from './plan/plan.ts'
import { isForUi } from './plan/ui-routes.ts'
import { refuse } from './relay/refuse.ts'
import { relay } from './relay/relay.ts'
import { AccessLog } from './settle/access-log.ts'
import type { BackendStats } from './settle/backend-stats.ts'
import { settleCharges } from './settle/charges.ts'
import { tellOfPolicy, tellOfTokens } from './settle/debug-lines.ts'
import type { Metrics } from './settle/metrics.ts'

/** What a request meets on its way. */
export interface ServingOptions {
  /** The one in force; what an exchange needs of it later it carries along. */
  readonly plan: () => Plan
  readonly log: Log
  readonly watchers: Watchers
  readonly pressure: Pressure
  readonly refusals: Refusals
  readonly gate: Gate
  readonly metrics: Metrics
  readonly backends: BackendStats
}

export class Serving implements Steps {
  readonly #plan: () => Plan
  readonly #log: Log
  readonly #accessLog: AccessLog
  readonly #watchers: Watchers
  readonly #pressure: Pressure
  readonly #refusals: Refusals
  readonly #gate: Gate
  readonly #metrics: Metrics
  readonly #backends: BackendStats
  /** Exchanges that are over but for being counted. */
  readonly #counting = new Pending()

  constructor(options: ServingOptions) {
    this.#plan = options.plan
    this.#log = options.log
    this.#accessLog = new AccessLog(options.log)
    this.#watchers = options.watchers
    this.#pressure = options.pressure
    this.#refusals = options.refusals
    this.#gate = options.gate
    this.#metrics = options.metrics
    this.#backends = options.backends
  }

  /** From the head to the point where an answer is awaited. */
  serve(exchange: Exchange, port: number): void {
    try {
      // A page that watches is not what it waits for.
      if (this.#watchers.count > 0 && !isForUi(exchange.request, this.#plan().ports.get(port)))
        this.#watchers.watch(exchange)
      const listener = this.#listenerOf(exchange, port)
      enforce(exchange, listener.policies, () => this.#route(exchange, listener))
    } catch (error) {
      exchange.fail(faultOf(error))
    }
  }

  #route(exchange: Exchange, listener: PlannedListener): void {
    exchange.trace?.request('gateway policies')
    const route = routeOf(exchange, listener)
    if (this.#pressure.isHigh) return this.#shed(exchange, route)
    if (this.#log.allows('debug', 'choose'))
      this.#log.line('debug', 'choose', 'chose route', ['route', route.key])
    if (route.timeout > 0) exchange.limit(route.timeout)
    enforce(exchange, route.policies, () => this.#forward(exchange, route))
  }

  #shed(exchange: Exchange, route: Route): void {
    exchange.dialect = route.backends.pick()?.backend.speaks?.(exchange) ?? exchange.dialect
    exchange.fail(this.#pressure.fault)
  }

  #forward(exchange: Exchange, route: Route): void {
    exchange.phase = 'forward'
    exchange.asked = performance.now()
    exchange.trace?.request('route policies')
    if (route.retry !== null)
      return callWithRetry(exchange, route.retry, () => pick(exchange, route), this.#log)
    const backend = pick(exchange, route)
    exchange.endpoint = backend.endpoint
    backend.call(exchange, exchange)
  }

  answer(exchange: Exchange, reply: Reply): void {
    exchange.answered = performance.now()
    if (exchange.answeredBy !== '') tellOfPolicy(this.#log, exchange, reply)
    try {
      relay(exchange, reply)
    } catch (error) {
      exchange.reply = null
      reply.body.cancel()
      // A policy that failed on one answer is not asked about the next.
      exchange.policies = []
      exchange.fail(faultOf(error))
    }
  }

  fail(exchange: Exchange, error: GatewayError): void {
    if (error.limit !== null) this.#refusals.count(...error.limit)
    if (error.code === 'OUT_OF_DESCRIPTORS') this.#gate.outOfDescriptors()
    if (error.code === 'INTERNAL')
      this.#log.line('error', 'gateway', 'internal error', ['cause', stackOf(error.cause)])
    try {
      relay(exchange, refuse(error, exchange.dialect))
    } catch (cause) {
      this.#log.line('error', 'gateway', 'internal error', ['cause', stackOf(cause)])
      exchange.cut(exchange.outcome)
    }
  }

  /** Resolves when none is over but for being counted. */
  counted(): Promise<void> {
    return this.#counting.whenNone()
  }

  settle(exchange: Exchange): void {
    const { counting } = exchange
    if (counting === null) return this.#close(exchange)
    this.#counting.begin()
    counting(() => {
      this.#close(exchange)
      this.#counting.end()
    })
  }

  #close(exchange: Exchange): void {
    if (exchange.servedBy === 'another worker') return
    settleCharges(exchange)
    const now = performance.now()
    this.#metrics.count(exchange, now)
    this.#backends.count(exchange)
    this.#accessLog.write(exchange, now)
    if (exchange.facts?.llm !== undefined) tellOfTokens(this.#log, exchange)
    exchange.trace?.finished()
  }

  #listenerOf(exchange: Exchange, port: number): PlannedListener {
    const listener = this.#plan().ports.get(port)?.find(exchange.request.authority)
    if (listener === undefined) throw new GatewayError('LISTENER_NOT_FOUND', 'listener not found')
    exchange.listener = listener.key
    exchange.policies = listener.policies
    exchange.trace?.policies('gateway', listener.shown())
    return listener
  }
}
