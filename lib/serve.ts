// The life of a request in order: accept → choose → enforce → forward → relay → settle.

import type { ConnectionAdmission } from './accept/admission.ts'
import { isForUi } from './config/live/plan-extra-routes.ts'
import type { Plan, PlannedListener, PlannedRoute } from './config/live/plan.ts'
import type { MemoryPressure } from './core/byte-budgets.ts'
import { errorStackOf, GatewayError, toGatewayError } from './core/errors.ts'
import { NO_COST } from './core/exchange.ts'
import type { Exchange } from './core/exchange.ts'
import type { Log } from './core/log.ts'
import type { RefusalCounter } from './core/refusal-counter.ts'
import { PendingCounter } from './core/scheduling.ts'
import type { Backend, ExchangeHandler, Reply, TokenEstimate, Verdict } from './core/types.ts'
import { admit, enforce } from './enforce/run-policies.ts'
import { callBackend, callWithRetry } from './forward/retry.ts'
import { buildErrorReply } from './relay/refuse.ts'
import { dropReply, relay } from './relay/relay.ts'
import { AccessLog, logPolicyAnswer, logTokenUsage } from './settle/access-log.ts'
import { usersOf } from './settle/user-metrics.ts'
import type { BackendStats } from './settle/backend-stats.ts'
import type { RequestMetrics } from './settle/request-metrics.ts'
import type { TraceWatchers } from './trace/trace-watchers.ts'

export interface RequestPipelineOptions {
  /** The plan in force. An exchange keeps using the plan it started with. */
  readonly plan: () => Plan
  readonly log: Log
  readonly watchers: TraceWatchers
  readonly pressure: MemoryPressure
  readonly refusals: RefusalCounter
  readonly admission: ConnectionAdmission
  readonly metrics: RequestMetrics
  readonly backendStats: BackendStats
}

/** Other workers of this gateway, which own some of the MCP sessions. */
export interface SessionRelay {
  /** True if the request belongs to a session of another worker and was relayed to it. */
  relayToOwner(exchange: Exchange, port: number): boolean
}

/** Handles every exchange of a gateway. */
export class RequestPipeline implements ExchangeHandler {
  readonly #options: RequestPipelineOptions
  readonly #log: Log
  readonly #accessLog: AccessLog
  /** Null in a gateway of one process. */
  #sessionRelay: SessionRelay | null = null
  /** Exchanges that have ended and whose usage is not known yet. */
  readonly #pendingUsage = new PendingCounter()

  constructor(options: RequestPipelineOptions) {
    this.#options = options
    this.#log = options.log
    this.#accessLog = new AccessLog(options.log)
  }

  relaySessionsBy(relay: SessionRelay): void {
    this.#sessionRelay = relay
  }

  serve(exchange: Exchange, port: number): void {
    if (this.#sessionRelay?.relayToOwner(exchange, port) === true) return
    const { watchers } = this.#options
    try {
      const listeners = this.#options.plan().ports.get(port)
      // Requests of the page itself are never traced: the page would wait for its own request.
      if (!watchers.isIdle && !isForUi(exchange.request, listeners)) watchers.attachTrace(exchange)
      const listener = listeners?.find(exchange.request.authority)
      if (listener === undefined) throw new GatewayError('LISTENER_NOT_FOUND', 'listener not found')
      exchange.choice.listenerKey = listener.key
      exchange.choice.gatewayNamespace = listener.gatewayNamespace
      exchange.usePolicies(listener.policies)
      exchange.trace?.recordPolicies('gateway', listener.describePolicies())
      enforce(exchange, listener.policies, () => this.#chooseRoute(exchange, listener))
    } catch (error) {
      exchange.fail(toGatewayError(error))
    }
  }

  #chooseRoute(exchange: Exchange, listener: PlannedListener): void {
    const { trace, request, choice } = exchange
    trace?.snapshotRequest('gateway policies')
    const found = listener.routes.find(request)
    trace?.recordRoute(found?.value.key ?? null, listener.routes.keysFor(request))
    if (found === undefined) throw new GatewayError('ROUTE_NOT_FOUND', 'route not found')
    const route = found.value
    choice.routeKey = route.key
    choice.matchedPrefix = found.prefix
    choice.tokenPolicies = route.tokenPolicies
    choice.errorFormat = route.errorFormat
    exchange.usePolicies(route.allPolicies)
    trace?.recordPolicies('route', route.describePolicies())
    if (this.#options.pressure.isHigh) return this.#shedLoad(exchange, route)
    if (this.#log.allows('debug', 'choose'))
      this.#log.write('debug', 'choose', 'chose route', ['route', route.key])
    if (route.timeout > 0) exchange.startTimeout(route.timeout)
    enforce(exchange, route.policies, () => this.#forward(exchange, route))
  }

  #shedLoad(exchange: Exchange, route: PlannedRoute): void {
    const picked = route.backends.pick()
    if (picked !== undefined) setErrorFormat(exchange, picked.backend)
    exchange.fail(this.#options.pressure.overloadError)
  }

  #forward(exchange: Exchange, route: PlannedRoute): void {
    exchange.phase = 'forward'
    exchange.trace?.snapshotRequest('route policies')
    if (route.retry === null) return callBackend(exchange, chooseBackend(exchange, route))
    callWithRetry(exchange, route.retry, () => chooseBackend(exchange, route), this.#log)
  }

  admit(exchange: Exchange, estimate: TokenEstimate): Verdict {
    return admit(exchange, exchange.choice.tokenPolicies, estimate)
  }

  onReply(exchange: Exchange, reply: Reply): void {
    if (exchange.enforcement.answeringPolicy !== '') logPolicyAnswer(this.#log, exchange, reply)
    try {
      relay(exchange, reply)
    } catch (error) {
      dropReply(exchange, reply)
      // A response policy that failed is not run on the error reply.
      exchange.usePolicies([])
      exchange.fail(toGatewayError(error))
    }
  }

  onFailure(exchange: Exchange, error: GatewayError): void {
    const { refusals, admission } = this.#options
    if (error.limit !== null) refusals.count(...error.limit)
    if (error.code === 'OUT_OF_DESCRIPTORS') admission.reportOutOfDescriptors()
    if (error.code === 'INTERNAL') this.#logInternalError(error.cause)
    try {
      relay(exchange, buildErrorReply(error, exchange.choice.errorFormat))
    } catch (cause) {
      this.#logInternalError(cause)
      exchange.cut(exchange.outcome)
    }
  }

  #logInternalError(cause: unknown): void {
    this.#log.write('error', 'gateway', 'internal error', ['cause', errorStackOf(cause)])
  }

  onSettled(exchange: Exchange): void {
    const { awaitUsage } = exchange.forwarding
    if (awaitUsage === null) return this.#settle(exchange)
    this.#pendingUsage.begin()
    awaitUsage(() => {
      this.#settle(exchange)
      this.#pendingUsage.end()
    })
  }

  #settle(exchange: Exchange): void {
    // The worker that served the request settles it.
    if (exchange.servedBy === 'another worker') return
    const { metrics, backendStats } = this.#options
    // Charges that are already settled ignore this.
    const cost = exchange.forwarding.tokenCost ?? NO_COST
    for (const charge of exchange.enforcement.charges) charge.settle(cost)
    const now = performance.now()
    const users = usersOf(exchange.facts)
    metrics.count(exchange, now, users)
    backendStats.count(exchange)
    this.#accessLog.write(exchange, now, users)
    if (exchange.facts?.llm !== undefined) logTokenUsage(this.#log, exchange)
    exchange.trace?.finish()
  }

  /** Resolves when no exchange waits for its usage. */
  whenAllCounted(): Promise<void> {
    return this.#pendingUsage.whenIdle()
  }
}

function chooseBackend(exchange: Exchange, route: PlannedRoute): Backend {
  const picked = route.backends.pick()
  if (picked === undefined) throw new GatewayError('NO_BACKENDS', 'no valid backends')
  exchange.choice.backend = picked.facts
  setErrorFormat(exchange, picked.backend)
  exchange.trace?.recordPolicies('backend', picked.describePolicies())
  return picked.backend
}

/** The path of an LLM request tells in which form its client expects errors. */
function setErrorFormat(exchange: Exchange, backend: Backend): void {
  const { choice } = exchange
  choice.errorFormat = backend.errorFormatFor?.(exchange) ?? choice.errorFormat
}
