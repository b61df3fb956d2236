// A gateway: composes everything that serves requests, starts it, reloads its configuration and stops it.

import { ConnectionAdmission } from './accept/admission.ts'
import type { ConnectionHandover, PortPeers } from './accept/connection-listener.ts'
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
import type { PortLimits } from './core/bounds.ts'
import { ByteBudget, MemoryPressure } from './core/byte-budgets.ts'
import { FileDescriptors } from './core/descriptors.ts'
import type { ExchangePhase } from './core/exchange.ts'
import { openDirectly } from './core/listening-sockets.ts'
import type { OpenPort } from './core/listening-sockets.ts'
import type { Log } from './core/log.ts'
import type { MetricFamily } from './core/metric-families.ts'
import { RefusalCounter } from './core/refusal-counter.ts'
import type { BudgetView, CurrentLoad, LiveSnapshot } from './core/runtime-views.ts'
import { startInterval, waitAtMost } from './core/scheduling.ts'
import type { StartInterval } from './core/scheduling.ts'
import type { ProcessLink } from './core/process-link.ts'
import type { DrainMode, ExchangeHandler } from './core/types.ts'
import { IdentityStore } from './enforce/auth/identity.ts'
import type { KeySetRegistry } from './enforce/auth/key-sets.ts'
import { LimitOwnerClient } from './enforce/limit/limit-owner-client.ts'
import { LimitRegistry } from './enforce/limit/limits.ts'
import { RateLimitServices } from './enforce/limit/rate-limit-service.ts'
import { ConnectionPools } from './forward/http/pools.ts'
import { McpGroups } from './forward/mcp/mcp-groups.ts'
import { RequestPipeline } from './serve.ts'
import type { SessionRelay } from './serve.ts'
import { BackendStats } from './settle/backend-stats.ts'
import { RequestMetrics } from './settle/request-metrics.ts'
import { TraceSettingsCache } from './trace/trace-request.ts'
import type { TraceSettings } from './trace/trace-request.ts'
import { startTrace, TraceWatchers } from './trace/trace-watchers.ts'

/** How long a stop waits, after all requests have ended, for usage counts and for calls to rate limit services. */
const SETTLE_DEADLINE = 1_000

/** What a gateway gets from the process that it runs in. */
export interface GatewayContext {
  readonly openPort: OpenPort
  /** Null unless this gateway is one of several workers. */
  readonly worker: WorkerRole | null
}

/** What a worker shares with the supervisor and with the other workers. */
export interface WorkerRole {
  /** Ends the ids of this worker's MCP sessions. */
  readonly sessionSuffix: string
  /** Receives the start and the end of each child process. */
  readonly childObserver: { began(pid: number): void; over(pid: number): void }
  /** To the supervisor, which counts limits for all workers. */
  readonly link: ProcessLink
  /** The socket on which the supervisor serves the page for all workers. */
  readonly pageSocket: string
  connectPeers(options: PeerOptions): PeerConnections
}

/** What the connections to other workers need from the gateway. */
export interface PeerOptions {
  /** Serves the requests that other workers relay to this one. */
  readonly handler: ExchangeHandler
  readonly limits: () => PortLimits
  /** Takes over a connection that another worker accepted. */
  readonly adoptConnection: (port: number, handover: ConnectionHandover) => void
}

/** The connections to the other workers of a gateway. */
export interface PeerConnections extends SessionRelay {
  listen(): Promise<void>
  applyConfig(config: Config): void
  drain(): Promise<void>
  close(): void
  readonly viewFromPort: (port: number) => PortPeers
}

const SINGLE_PROCESS: GatewayContext = { openPort: openDirectly, worker: null }

export class Gateway {
  readonly #log: Log
  readonly #pipeline: RequestPipeline
  readonly #pools: ConnectionPools
  readonly #groups: McpGroups
  readonly #identity: IdentityStore
  readonly #limits: LimitRegistry
  readonly #services: RateLimitServices
  readonly #heldBodies: ByteBudget
  readonly #metrics = new RequestMetrics()
  /** Counts connections and requests that were refused because a bound was reached. */
  readonly refusals: RefusalCounter
  readonly backendStats = new BackendStats()
  readonly #listeners: ListenerSet
  /** Null in a gateway of one process. */
  readonly #peers: PeerConnections | null
  readonly watchers: TraceWatchers
  readonly facts: GatewayFacts
  readonly readApi: ReadApi
  readonly ui: UiService
  #plan: Plan
  /** The page of all workers, served by the supervisor; null in a gateway of one process. */
  readonly #remoteUi: RemoteUi | null
  #readiness: 'starting' | 'ready' | 'draining' = 'starting'

  constructor(
    config: Config,
    log: Log,
    startTimer: StartInterval = startInterval,
    { openPort, worker } = SINGLE_PROCESS,
  ) {
    const { maxWatchers, maxBytesInFlight, maxKeys, terminationDeadline } = config.process
    this.#log = log
    this.refusals = new RefusalCounter(log, startTimer)
    const traceSettings = new TraceSettingsCache()
    const currentSettings = (): TraceSettings => traceSettings.settingsFor(this.#plan.config)
    this.watchers = new TraceWatchers(currentSettings, maxWatchers, this.refusals)
    this.#pools = new ConnectionPools(config.backend, log)
    this.#groups = new McpGroups(config.mcp, log, this.#pools, {
      histories: new ByteBudget(Math.floor(maxBytesInFlight * SESSION_HISTORY_SHARE)),
      refusals: this.refusals,
      sessionIdSuffix: worker?.sessionSuffix ?? '',
      childObserver: worker?.childObserver ?? null,
    })
    this.#identity = new IdentityStore(log, this.refusals)
    this.#services = new RateLimitServices(log)
    this.#heldBodies = new ByteBudget(config.llm.maxHeldTogether)
    const limitOwner = worker === null ? null : new LimitOwnerClient(worker.link)
    this.#limits = new LimitRegistry(undefined, limitOwner, maxKeys)
    this.#remoteUi = worker === null ? null : new RemoteUi(worker.pageSocket)
    this.#plan = buildPlan(config, this.#sharedResources, 1)
    this.#limits.retain(this.#plan.rules)
    const admission = new ConnectionAdmission(this.refusals, new FileDescriptors(), () =>
      this.#pools.trim(),
    )
    this.#pipeline = new RequestPipeline({
      plan: () => this.#plan,
      log,
      watchers: this.watchers,
      pressure: new MemoryPressure(maxBytesInFlight),
      refusals: this.refusals,
      admission,
      metrics: this.#metrics,
      backendStats: this.backendStats,
    })
    this.#peers = worker === null ? null : this.#connectPeers(worker)
    this.#listeners = new ListenerSet(this.#pipeline, log, {
      admission,
      drainDeadline: terminationDeadline,
      openPort,
      peersForPort: this.#peers?.viewFromPort ?? null,
    })
    this.facts = collectGatewayFacts({
      ...this.#snapshotSources,
      gateway: this,
      metrics: this.#metrics,
      log,
    })
    this.readApi = new ReadApi(this.facts, startTimer)
    this.ui = new UiService(this.readApi, config.process, this.refusals)
  }

  #connectPeers(worker: WorkerRole): PeerConnections {
    const peers = worker.connectPeers({
      handler: this.#pipeline,
      limits: () => this.#plan.limits,
      adoptConnection: (port, handover) => this.#listeners.adoptConnection(port, handover),
    })
    this.#pipeline.relaySessionsBy(peers)
    peers.applyConfig(this.#plan.config)
    return peers
  }

  get #snapshotSources(): LiveSnapshotSources {
    return { ...this.#sharedResources, ports: this.#listeners, watchers: this.watchers }
  }

  get #sharedResources(): SharedResources {
    return {
      pools: this.#pools,
      groups: this.#groups,
      identity: this.#identity,
      limits: this.#limits,
      services: this.#services,
      held: this.#heldBodies,
      log: this.#log,
      ui: () => this.#remoteUi ?? this.ui,
    }
  }

  /** Whether the gateway accepts requests. */
  get readiness(): 'starting' | 'ready' | 'draining' {
    return this.#readiness
  }

  /** Open connections of clients. */
  get connections(): number {
    return this.#listeners.listeners.reduce((sum, { open }) => sum + open, 0)
  }

  get plan(): Plan {
    return this.#plan
  }

  /** The current connections, requests, sessions and child processes. */
  get liveSnapshot(): LiveSnapshot {
    return takeLiveSnapshot(this.#snapshotSources)
  }

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
      resources: this.#plan.config.resources,
    })
  }

  /** The signing keys of identity providers. */
  get keySets(): KeySetRegistry['status'] {
    return this.#identity.keys.status
  }

  /** Updates `limitStatus` from the process that counts the limits. */
  refreshLimits(): Promise<void> {
    return this.#limits.refreshStatus()
  }

  get limitStatus(): ReturnType<LimitRegistry['status']> {
    return this.#limits.status()
  }

  async start(): Promise<void> {
    await this.#peers?.listen()
    await this.#listeners.apply(this.#plan.config.gateways, this.#plan.limits, () => {})
    if (this.#readiness === 'starting') this.#readiness = 'ready'
    this.readApi.applyConfig()
  }

  /**
   * Applies another configuration completely or not at all. Running requests keep the configuration they started with.
   * The `config` section is read only at start.
   */
  async reload(newConfig: Config): Promise<void> {
    const config = { ...newConfig, ...selectStartOnlyConfig(this.#plan.config) }
    try {
      const plan = buildPlan(config, this.#sharedResources, this.#plan.generation + 1)
      await this.#listeners.apply(config.gateways, plan.limits, () => (this.#plan = plan))
      // The policies of the page may have changed, so open pages must connect again.
      this.#endPages()
      this.readApi.applyConfig()
    } finally {
      this.#pools.retain(this.#plan.origins)
      this.#groups.retain(this.#plan.groups)
      this.#limits.retain(this.#plan.rules)
      this.#services.retain(this.#plan.services, this.#plan.costHistories)
      this.backendStats.retain(this.#plan.backends)
      this.#metrics.retain(this.#plan.metricKeys)
      this.#peers?.applyConfig(this.#plan.config)
    }
  }

  /** Lets running requests finish until the deadline, then ends them. Their cost is still counted. */
  async stop(mode: DrainMode = 'now'): Promise<void> {
    this.#readiness = 'draining'
    this.#groups.drain()
    this.#endPages()
    // Other workers may relay requests to sessions of this worker until its own connections are closed.
    const drained = this.#listeners.drain(mode).then(() => this.#peers?.drain())
    await waitAtMost(this.#plan.config.process.terminationDeadline, drained)
    this.#listeners.cut()
    this.#peers?.close()
    await this.#groups.close()
    await waitAtMost(SETTLE_DEADLINE, this.#whenSettled())
    this.#pools.close()
    this.#services.close()
    this.#identity.close()
    this.readApi.stop()
    this.refusals.close()
  }

  /** Ends all child processes at once, for a process that exits. */
  killChildren(): void {
    this.#groups.children.killAll()
  }

  #endPages(): void {
    this.ui.endListenerStreams()
    this.#remoteUi?.endListenerStreams()
  }

  /** Resolves when all usage is counted and all charges are sent to rate limit services. */
  async #whenSettled(): Promise<void> {
    await this.#pipeline.whenAllCounted()
    await this.#services.whenIdle()
  }
}

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

interface GatewayFactSources extends LiveSnapshotSources {
  readonly gateway: Gateway
  readonly metrics: RequestMetrics
  readonly log: Log
}

function collectGatewayFacts(sources: GatewayFactSources): GatewayFacts {
  const { gateway, metrics, ports, groups, identity, limits, log, watchers } = sources
  return {
    log,
    watch: (selector) => startTrace(watchers, selector),
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
