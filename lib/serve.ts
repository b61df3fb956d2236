// The life of a request in one place: accept → choose → enforce → forward → relay → settle.

import type { ConnectionAdmission } from './accept/admission.ts'
import { isForUi } from './config/live/plan-extra-routes.ts'
import type { Plan, PlannedListener, PlannedRoute } from './config/live/plan.ts'
import type { MemoryPressure } from './core/byte-budgets.ts'
import { errorStackOf, GatewayError, toGatewayError } from './core/errors.ts'
import type { Exchange } from './core/exchange.ts'
import type { Log } from './core/log.ts'
import type { RefusalCounter } from './core/refusal-counter.ts'
import { PendingCounter } from './core/scheduling.ts'
import type { Backend, ExchangeHandler, Reply } from './core/types.ts'
import { enforce } from './enforce/run-policies.ts'
import { callWithRetry } from './forward/retry.ts'
import { buildErrorReply } from './relay/refuse.ts'
import { relay } from './relay/relay.ts'
import { AccessLog, logPolicyAnswer, logTokenUsage } from './settle/access-log.ts'
import { settleCharges } from './settle/backend-stats.ts'
import type { BackendStats } from './settle/backend-stats.ts'
import type { RequestMetrics } from './settle/request-metrics.ts'
import type { TraceWatchers } from './trace/trace-watchers.ts'

/** What a request meets on its way. */
export interface RequestPipelineOptions {
  /** The one in force; what an exchange needs of it later it carries along. */
  readonly plan: () => Plan
  readonly log: Log
  readonly watchers: TraceWatchers
  readonly pressure: MemoryPressure
  readonly refusals: RefusalCounter
  readonly admission: ConnectionAdmission
  readonly metrics: RequestMetrics
  readonly backendStats: BackendStats
}

export class RequestPipeline implements ExchangeHandler {
  readonly #plan: () => Plan
  readonly #log: Log
  readonly #accessLog: AccessLog
  readonly #watchers: TraceWatchers
  readonly #pressure: MemoryPressure
  readonly #refusals: RefusalCounter
  readonly #gate: ConnectionAdmission
  readonly #metrics: RequestMetrics
  readonly #backends: BackendStats
  /** Exchanges that are over but for being counted. */
  readonly #counting = new PendingCounter()

  constructor(options: RequestPipelineOptions) {
    this.#plan = options.plan
    this.#log = options.log
    this.#accessLog = new AccessLog(options.log)
    this.#watchers = options.watchers
    this.#pressure = options.pressure
    this.#refusals = options.refusals
    this.#gate = options.admission
    this.#metrics = options.metrics
    this.#backends = options.backendStats
  }

  /** From the head to the point where an answer is awaited. */
  serve(exchange: Exchange, port: number): void {
    try {
      // A page that watches is not what it waits for.
      if (this.#watchers.count > 0 && !isForUi(exchange.request, this.#plan().ports.get(port)))
        this.#watchers.attachTrace(exchange)
      const listener = this.#listenerOf(exchange, port)
      enforce(exchange, listener.policies, () => this.#route(exchange, listener))
    } catch (error) {
      exchange.fail(toGatewayError(error))
    }
  }

  #route(exchange: Exchange, listener: PlannedListener): void {
    exchange.trace?.snapshotRequest('gateway policies')
    const route = selectRoute(exchange, listener)
    if (this.#pressure.isHigh) return this.#shed(exchange, route)
    if (this.#log.allows('debug', 'choose'))
      this.#log.write('debug', 'choose', 'chose route', ['route', route.key])
    if (route.timeout > 0) exchange.startTimeout(route.timeout)
    enforce(exchange, route.policies, () => this.#forward(exchange, route))
  }

  #shed(exchange: Exchange, route: PlannedRoute): void {
    exchange.choice.errorFormat =
      route.backends.pick()?.backend.errorFormatFor?.(exchange) ?? exchange.choice.errorFormat
    exchange.fail(this.#pressure.overloadError)
  }

  #forward(exchange: Exchange, route: PlannedRoute): void {
    exchange.phase = 'forward'
    exchange.forwarding.calledAt = performance.now()
    exchange.trace?.snapshotRequest('route policies')
    if (route.retry !== null)
      return callWithRetry(exchange, route.retry, () => selectBackend(exchange, route), this.#log)
    const backend = selectBackend(exchange, route)
    exchange.forwarding.endpoint = backend.endpoint
    backend.call(exchange, exchange)
  }

  onReply(exchange: Exchange, reply: Reply): void {
    exchange.response.receivedAt = performance.now()
    if (exchange.enforcement.answeringPolicy !== '') logPolicyAnswer(this.#log, exchange, reply)
    try {
      relay(exchange, reply)
    } catch (error) {
      exchange.response.reply = null
      reply.body.cancel()
      // A policy that failed on one answer is not asked about the next.
      exchange.enforcement.responsePolicies = []
      exchange.fail(toGatewayError(error))
    }
  }

  onFailure(exchange: Exchange, error: GatewayError): void {
    if (error.limit !== null) this.#refusals.count(...error.limit)
    if (error.code === 'OUT_OF_DESCRIPTORS') this.#gate.reportOutOfDescriptors()
    if (error.code === 'INTERNAL')
      this.#log.write('error', 'gateway', 'internal error', ['cause', errorStackOf(error.cause)])
    try {
      relay(exchange, buildErrorReply(error, exchange.choice.errorFormat))
    } catch (cause) {
      this.#log.write('error', 'gateway', 'internal error', ['cause', errorStackOf(cause)])
      exchange.cut(exchange.outcome)
    }
  }

  /** Resolves when none is over but for being counted. */
  whenAllCounted(): Promise<void> {
    return this.#counting.whenIdle()
  }

  onSettled(exchange: Exchange): void {
    const {
      forwarding: { awaitUsage: counting },
    } = exchange
    if (counting === null) return this.#close(exchange)
    this.#counting.begin()
    counting(() => {
      this.#close(exchange)
      this.#counting.end()
    })
  }

  #close(exchange: Exchange): void {
    if (exchange.forwarding.servedBy === 'another worker') return
    settleCharges(exchange)
    const now = performance.now()
    this.#metrics.count(exchange, now)
    this.#backends.count(exchange)
    this.#accessLog.write(exchange, now)
    if (exchange.facts?.llm !== undefined) logTokenUsage(this.#log, exchange)
    exchange.trace?.finish()
  }

  #listenerOf(exchange: Exchange, port: number): PlannedListener {
    const listener = this.#plan().ports.get(port)?.find(exchange.request.authority)
    if (listener === undefined) throw new GatewayError('LISTENER_NOT_FOUND', 'listener not found')
    exchange.choice.listenerKey = listener.key
    exchange.enforcement.responsePolicies = listener.policies
    exchange.trace?.recordPolicies('gateway', listener.describePolicies())
    return listener
  }
}

// What of the plan a request meets: its route and, of that, a backend. Told to whoever watches.

function selectRoute(exchange: Exchange, listener: PlannedListener): PlannedRoute {
  const found = listener.routes.find(exchange.request)
  exchange.trace?.recordRoute(found?.value.key ?? null, listener.routes.keysFor(exchange.request))
  if (found === undefined) throw new GatewayError('ROUTE_NOT_FOUND', 'route not found')
  const route = found.value
  exchange.choice.routeKey = route.key
  exchange.choice.matchedPrefix = found.prefix
  exchange.enforcement.responsePolicies = route.allPolicies
  exchange.choice.errorFormat = route.errorFormat
  exchange.trace?.recordPolicies('route', route.describePolicies())
  return route
}

function selectBackend(exchange: Exchange, route: PlannedRoute): Backend {
  const picked = route.backends.pick()
  if (picked === undefined) throw new GatewayError('NO_BACKENDS', 'no valid backends')
  exchange.choice.backend = picked.facts
  exchange.trace?.recordPolicies('backend', picked.describePolicies())
  return picked.backend
}
