// A gateway: what stands while it runs, put together, started, given other configurations, and stopped.

import { ConnectionAdmission } from './accept/admission.ts'
import { ListenerSet } from './accept/listener-set.ts'
import type { Listener } from './accept/listener.ts'
import { collectMetricFamilies } from './admin/metric-sources.ts'
import type { GatewayFacts } from './admin/page-api/gateway-facts.ts'
import { UiService } from './admin/page-api/page-service.ts'
import { ReadApi } from './admin/page-api/read-api.ts'
import { RemoteUi } from './admin/page-api/remote-page.ts'
import type { Config } from './config/config-types.ts'
import { buildPlan } from './config/live/plan.ts'
import type { Plan, SharedResources } from './config/live/plan.ts'
import { selectStartOnlyConfig } from './config/start-only-config.ts'
import { SESSION_HISTORY_SHARE } from './core/bounds.ts'
import { ByteBudget, MemoryPressure } from './core/byte-budgets.ts'
import { FileDescriptors } from './core/descriptors.ts'
import type { Exchange, ExchangePhase } from './core/exchange.ts'
import { openDirectly } from './core/listening-sockets.ts'
import type { OpenPort } from './core/listening-sockets.ts'
import type { Log } from './core/log.ts'
import type { MetricFamily } from './core/metric-families.ts'
import { RefusalCounter } from './core/refusal-counter.ts'
import type { BudgetView, CurrentLoad, LiveSnapshot } from './core/runtime-views.ts'
import { startInterval, waitAtMost } from './core/scheduling.ts'
import type { StartInterval } from './core/scheduling.ts'
import { sessionSuffixOf, workerNameOf } from './core/session-owner.ts'
import type { DrainMode } from './core/types.ts'
import { IdentityStore } from './enforce/auth/identity.ts'
import type { KeySetRegistry } from './enforce/auth/key-sets.ts'
import { LimitOwnerClient } from './enforce/limit/limit-owner-client.ts'
import { LimitRegistry } from './enforce/limit/limits.ts'
import { RateLimitServices } from './enforce/limit/rate-limit-service.ts'
import { ConnectionPools } from './forward/http/pools.ts'
import { McpGroups } from './forward/mcp/mcp-groups.ts'
import { PeerWorkers } from './processes/peer-workers.ts'
import { supervisorSocketIn } from './processes/worker-context.ts'
import type { WorkerContext } from './processes/worker-context.ts'
import { RequestPipeline } from './serve.ts'
import { BackendStats } from './settle/backend-stats.ts'
import { RequestMetrics } from './settle/request-metrics.ts'
import { TraceSettingsCache } from './trace/trace-request.ts'
import type { TraceSettings } from './trace/trace-request.ts'
import { decideWatch, TraceWatchers } from './trace/trace-watchers.ts'

/** How long a stop waits, when all is cut, for what is still to be counted and told to rate limit services. */
const SETTLE_DEADLINE = 1_000

export class Gateway {
  readonly #log: Log
  readonly #serving: RequestPipeline
  readonly #pools: ConnectionPools
  readonly #groups: McpGroups
  readonly #identity: IdentityStore
  readonly #limits: LimitRegistry
  readonly #services: RateLimitServices
  readonly #held: ByteBudget
  readonly #metrics = new RequestMetrics()
  /** Who could not be let in. */
  readonly refusals: RefusalCounter
  /** How each backend has done. */
  readonly backendStats = new BackendStats()
  readonly #ports: ListenerSet
  /** Null where it is the only worker. */
  readonly #neighbours: PeerWorkers | null
  /** Who waits to see a request. */
  readonly watchers: TraceWatchers
  readonly facts: GatewayFacts
  /** What the web UI shows, and remembers once it was started. */
  readonly readApi: ReadApi
  readonly ui: UiService
  #plan: Plan
  /** Who knows of all workers, where this is one of them. */
  readonly #allUi: RemoteUi | null
  #readiness: 'starting' | 'ready' | 'draining' = 'starting'

  constructor(
    config: Config,
    log: Log,
    timer: StartInterval = startInterval,
    { openPort, worker } = STANDALONE_CONTEXT,
  ) {
    const terms = new TraceSettingsCache()
    this.#log = log
    this.refusals = new RefusalCounter(log, timer)
    const { maxWatchers, maxBytesInFlight, maxKeys } = config.process
    const shown = (): TraceSettings => terms.settingsFor(this.#plan.config)
    this.watchers = new TraceWatchers(shown, maxWatchers, this.refusals)
    this.#pools = new ConnectionPools(config.backend, log)
    const histories = new ByteBudget(Math.floor(maxBytesInFlight * SESSION_HISTORY_SHARE))
    const sessionIdSuffix = worker === null ? '' : sessionSuffixOf(workerNameOf(worker))
    const childObserver = worker?.childObserver ?? null
    const shared = { histories, refusals: this.refusals, sessionIdSuffix, childObserver }
    this.#groups = new McpGroups(config.mcp, log, this.#pools, shared)
    this.#identity = new IdentityStore(log, this.refusals)
    this.#services = new RateLimitServices(log)
    this.#held = new ByteBudget(config.llm.maxHeldTogether)
    const asker = worker === null ? null : new LimitOwnerClient(worker.link)
    this.#limits = new LimitRegistry(undefined, asker, maxKeys)
    this.#allUi = worker === null ? null : new RemoteUi(supervisorSocketIn(worker.folder))
    this.#plan = buildPlan(config, this.#standing, 1)
    this.#limits.retain(this.#plan.rules)
    const gate = new ConnectionAdmission(this.refusals, new FileDescriptors(), () =>
      this.#pools.trim(),
    )
    this.#serving = new RequestPipeline({
      plan: () => this.#plan,
      log,
      watchers: this.watchers,
      pressure: new MemoryPressure(maxBytesInFlight),
      refusals: this.refusals,
      admission: gate,
      metrics: this.#metrics,
      backendStats: this.backendStats,
    })
    const deadline = config.process.terminationDeadline
    this.#neighbours = worker === null ? null : this.#neighboursOf(worker)
    this.#neighbours?.applyConfig(config)
    const neighbours = this.#neighbours?.viewFromPort ?? null
    const serve = (exchange: Exchange, port: number): void => this.#serve(exchange, port)
    const options = {
      serve,
      admission: gate,
      drainDeadline: deadline,
      openPort,
      peersForPort: neighbours,
    }
    this.#ports = new ListenerSet(this.#serving, log, options)
    this.facts = collectGatewayFacts({
      ...this.#sources,
      gateway: this,
      metrics: this.#metrics,
      log,
    })
    this.readApi = new ReadApi(this.facts, timer)
    this.ui = new UiService(this.readApi, config.process, this.refusals)
  }

  get #sources(): LiveSnapshotSources {
    return { ...this.#standing, ports: this.#ports, watchers: this.watchers }
  }

  get #standing(): SharedResources {
    return {
      pools: this.#pools,
      groups: this.#groups,
      identity: this.#identity,
      limits: this.#limits,
      services: this.#services,
      held: this.#held,
      log: this.#log,
      ui: () => this.#allUi ?? this.ui,
    }
  }

  /** Whether requests are taken. */
  get readiness(): 'starting' | 'ready' | 'draining' {
    return this.#readiness
  }

  /** Open ones, of clients. */
  get connections(): number {
    return this.#ports.listeners.reduce((sum, { open }) => sum + open, 0)
  }

  /** What is in force. */
  get plan(): Plan {
    return this.#plan
  }

  /** Everything that runs. */
  get liveSnapshot(): LiveSnapshot {
    return takeLiveSnapshot(this.#sources)
  }

  /** Everything that is counted. */
  get metricFamilies(): MetricFamily[] {
    const decisions = [...this.#limits.decisions, ...this.#services.decisions]
    const { connectDurations } = this.#pools
    const { liveSnapshot } = this
    const settled = this.#metrics.collect()
    return collectMetricFamilies({
      settled,
      live: liveSnapshot,
      connectDurations,
      decisions,
      refusalCounts: this.refusals.counts,
    })
  }

  /** Key sets of identity providers. */
  get keySets(): KeySetRegistry['status'] {
    return this.#identity.keys.status
  }

  /** Has `limits` tell what is left now, wherever it is counted. */
  refreshLimits(): Promise<void> {
    return this.#limits.refreshStatus()
  }

  /** How much of each limit is left. */
  get limitStatus(): ReturnType<LimitRegistry['status']> {
    return this.#limits.status()
  }

  async start(): Promise<void> {
    await this.#neighbours?.listen()
    await this.#ports.apply(this.#plan.config.gateways, this.#plan.limits, () => {})
    if (this.#readiness === 'starting') this.#readiness = 'ready'
    this.readApi.applyConfig()
  }

  /**
   * Puts another configuration in force, whole or not at all; requests under way keep the one they began with.
   * `config` is read at start only: what stands there now waits for the next one.
   */
  async reload(written: Config): Promise<void> {
    const config = { ...written, ...selectStartOnlyConfig(this.#plan.config) }
    try {
      const plan = buildPlan(config, this.#standing, this.#plan.generation + 1)
      await this.#ports.apply(config.gateways, plan.limits, () => (this.#plan = plan))
      // Who may read them may be others now.
      this.#endPages()
      this.readApi.applyConfig()
    } finally {
      this.#pools.retain(this.#plan.origins)
      this.#groups.retain(this.#plan.groups)
      this.#limits.retain(this.#plan.rules)
      this.#services.retain(this.#plan.services)
      this.backendStats.retain(this.#plan.backends)
      this.#metrics.retain(this.#plan.metricKeys)
      this.#neighbours?.applyConfig(this.#plan.config)
    }
  }

  /** Lets what runs finish until the deadline, then cuts it; what it has cost is told all the same. */
  async stop(manner: DrainMode = 'now'): Promise<void> {
    this.#readiness = 'draining'
    this.#groups.drain()
    this.#endPages()
    // Others may have something for a session of this worker until its own clients have left.
    const drained = this.#ports.drain(manner).then(() => this.#neighbours?.drain())
    await waitAtMost(this.#plan.config.process.terminationDeadline, drained)
    this.#ports.cut()
    this.#neighbours?.close()
    await this.#groups.close()
    await waitAtMost(SETTLE_DEADLINE, this.#settled())
    this.#pools.close()
    this.#services.close()
    this.#identity.close()
    this.readApi.stop()
    this.refusals.close()
  }

  /** Leaves nothing behind that would outlive the process; for one that exits at once. */
  killChildren(): void {
    this.#groups.children.killAll()
  }

  #neighboursOf(seat: WorkerContext): PeerWorkers {
    return new PeerWorkers(seat, {
      requestHandler: this.#serving,
      limits: () => this.#plan.limits,
      adoptConnection: (port, leaving) => this.#ports.adoptConnection(port, leaving),
    })
  }

  /** A request that another worker has the session of goes there. */
  #serve(exchange: Exchange, port: number): void {
    if (this.#neighbours?.relayToOwner(exchange, port) !== true) this.#serving.serve(exchange, port)
  }

  #endPages(): void {
    this.ui.endListenerStreams()
    this.#allUi?.endListenerStreams()
  }

  /** Every line is written, and every charge told. */
  async #settled(): Promise<void> {
    await this.#serving.whenAllCounted()
    await this.#services.whenIdle()
  }
}

// Everything that runs now, gathered from those who have it.

interface LiveSnapshotSources extends Pick<
  SharedResources,
  'pools' | 'groups' | 'identity' | 'limits' | 'held'
> {
  readonly ports: ListenerSet
  readonly watchers: TraceWatchers
}

function takeLiveSnapshot(sources: LiveSnapshotSources): LiveSnapshot {
  const { ports, pools, groups, identity, limits, held, watchers } = sources
  const now = performance.now()
  const { listeners } = ports
  return {
    listeners: listeners.map((listener) => listener.describe(now)),
    closedListeners: ports.closedListenerCounts,
    ...countRequestsByPhase(listeners),
    pools: pools.describe(),
    groups: groups.describe(now),
    children: [...groups.children],
    limits: limits.counts,
    tokens: identity.tokens,
    held: { llm: toBudgetView(held), mcp: toBudgetView(groups.bodies) },
    watchers: watchers.count,
  }
}

function measureLoad(listeners: readonly Listener[]): CurrentLoad {
  const { requests, streams } = countRequestsByPhase(listeners)
  let connections = 0
  let bytesIn = 0
  let bytesOut = 0
  for (const { counts } of listeners) {
    connections += counts.open
    bytesIn += counts.bytesIn
    bytesOut += counts.bytesOut
  }
  const open = requests.choose + requests.forward + requests.relay
  return { connections, requests: open, streams, bytesIn, bytesOut }
}

/** All of them are looked at, and none is kept. */
function countRequestsByPhase(
  listeners: readonly Listener[],
): Pick<LiveSnapshot, 'requests' | 'streams'> {
  const requests: Record<ExchangePhase, number> = { choose: 0, forward: 0, relay: 0, settled: 0 }
  let streams = 0
  for (const { connections } of listeners)
    for (const { exchanges } of connections.members)
      for (const exchange of exchanges) {
        requests[exchange.phase]++
        if (exchange.response.isEventStream && exchange.phase === 'relay') streams++
      }
  return { requests, streams }
}

function toBudgetView({ used, maxBytes }: ByteBudget): BudgetView {
  return { used, most: maxBytes }
}

// What the page's server knows of the gateway, gathered from those who have it.

export interface GatewayFactSources extends LiveSnapshotSources {
  readonly gateway: Gateway
  readonly metrics: RequestMetrics
  readonly log: Log
}

function collectGatewayFacts(sources: GatewayFactSources): GatewayFacts {
  const { gateway, metrics, ports, groups, identity, limits, log, watchers } = sources
  return {
    log,
    watch: (source) => decideWatch(watchers, source),
    totals: metrics.totals,
    pulse: () => measureLoad(ports.listeners),
    inForce: () => gateway.plan,
    readiness: () => gateway.readiness,
    listeners: () => ports.listeners.map(({ counts }) => counts),
    traffic: () => metrics.countsByRoute,
    health: (backend) => gateway.plan.health.describe(backend),
    keyFaults: (policies) => identity.describeMissingKeys(policies),
    limits: () => limits.recentStatus(),
    tightest: () => limits.tightestRemaining(),
    groups: () => groups.describe(performance.now()),
    children: () => groups.children,
  }
}

// What a gateway has around it: nothing, or the other workers of which it is one.

export interface GatewayContext {
  readonly openPort: OpenPort
  /** Null in a process of its own. */
  readonly worker: WorkerContext | null
}

const STANDALONE_CONTEXT: GatewayContext = { openPort: openDirectly, worker: null }
