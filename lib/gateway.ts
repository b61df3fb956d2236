// A gateway: what stands while it runs, put together, started, given other configurations, and stopped.

import { Gate } from './accept/gate.ts'
import { Budget } from './base/bounds/budget.ts'
import { Descriptors } from './base/bounds/descriptors.ts'
import { HISTORIES_SHARE } from './base/bounds/limits.ts'
import { Pressure } from './base/bounds/pressure.ts'
import { Refusals } from './base/bounds/refusals.ts'
import { atStart } from './base/config/at-start.ts'
import type { Config } from './base/config/types.ts'
import { every } from './base/every.ts'
import type { Every } from './base/every.ts'
import type { Exchange } from './base/exchange.ts'
import type { Family } from './base/live/metrics.ts'
import type { Live } from './base/live/views.ts'
import type { Log } from './base/log/log.ts'
import { markOf, workerName } from './base/processes/session-mark.ts'
import { TraceTermsOf } from './base/trace/terms.ts'
import type { TraceTerms } from './base/trace/terms.ts'
import { Watchers } from './base/trace/watchers.ts'
import type { Manner } from './base/types.ts'
import { within } from './base/within.ts'
import { Identity } from './enforce/identity.ts'
import { LimitAsker } from './enforce/limit-asker.ts'
import { Limits } from './enforce/limits.ts'
import { RateLimitServices } from './enforce/remote-limit/services.ts'
import type { KeySets } from './enforce/token/key-sets.ts'
import { Pools } from './forward/http/pools.ts'
import { Groups } from './forward/mcp/groups.ts'
import { factsOf } from './gateway-facts.ts'
import { liveOf } from './live.ts'
import type { LiveSources } from './live.ts'
import { measures } from './measures.ts'
import { Neighbours } from './neighbours.ts'
import { planOf } from './plan/plan.ts'
import type { Plan, Standing } from './plan/plan.ts'
import { Ports } from './ports.ts'
import { Serving } from './serving.ts'
import { BackendStats } from './settle/backend-stats.ts'
import { Metrics } from './settle/metrics.ts'
import { ALONE } from './surroundings.ts'
import type { GatewayFacts } from './ui/gateway-facts.ts'
import { ReadApi } from './ui/read-api.ts'
import { RemoteUi } from './ui/remote.ts'
import { UiService } from './ui/service.ts'
import { frontSocket } from './workers/seat.ts'
import type { WorkerSeat } from './workers/seat.ts'

/** How long a stop waits, when all is cut, for what is still to be counted and told to rate limit services. */
const SETTLE_DEADLINE = 1_000

export class Gateway {
  readonly #log: Log
  readonly #serving: Serving
  readonly #pools: Pools
  readonly #groups: Groups
  readonly #identity: Identity
  readonly #limits: Limits
  readonly #services: RateLimitServices
  readonly #held: Budget
  readonly #metrics = new Metrics()
  /** Who could not be let in. */
  readonly refusals: Refusals
  /** How each backend has done. */
  readonly backends = new BackendStats()
  readonly #ports: Ports
  /** Null where it is the only worker. */
  readonly #neighbours: Neighbours | null
  /** Who waits to see a request. */
  readonly watchers: Watchers
  readonly facts: GatewayFacts
  /** What the web UI shows, and remembers once it was started. */
  readonly readApi: ReadApi
  readonly ui: UiService
  #plan: Plan
  /** Who knows of all workers, where this is one of them. */
  readonly #allUi: RemoteUi | null
  #readiness: 'starting' | 'ready' | 'draining' = 'starting'

  constructor(config: Config, log: Log, timer: Every = every, { openPort, worker } = ALONE) {
    const terms = new TraceTermsOf()
    this.#log = log
    this.refusals = new Refusals(log, timer)
    const { maxWatchers, maxBytesInFlight, maxKeys } = config.process
    const shown = (): TraceTerms => terms.of(this.#plan.config)
    this.watchers = new Watchers(shown, maxWatchers, this.refusals)
    this.#pools = new Pools(config.backend, log)
    const histories = new Budget(Math.floor(maxBytesInFlight * HISTORIES_SHARE))
    const mark = worker === null ? '' : markOf(workerName(worker))
    const witness = worker?.witness ?? null
    const shared = { histories, refusals: this.refusals, mark, witness }
    this.#groups = new Groups(config.mcp, log, this.#pools, shared)
    this.#identity = new Identity(log, this.refusals)
    this.#services = new RateLimitServices(log)
    this.#held = new Budget(config.llm.maxHeldTogether)
    const asker = worker === null ? null : new LimitAsker(worker.link)
    this.#limits = new Limits(undefined, asker, maxKeys)
    this.#allUi = worker === null ? null : new RemoteUi(frontSocket(worker.folder))
    this.#plan = planOf(config, this.#standing, 1)
    this.#limits.retain(this.#plan.rules)
    const gate = new Gate(this.refusals, new Descriptors(), () => this.#pools.trim())
    this.#serving = new Serving({
      plan: () => this.#plan,
      log,
      watchers: this.watchers,
      pressure: new Pressure(maxBytesInFlight),
      refusals: this.refusals,
      gate,
      metrics: this.#metrics,
      backends: this.backends,
    })
    const deadline = config.process.terminationDeadline
    this.#neighbours = worker === null ? null : this.#neighboursOf(worker)
    this.#neighbours?.follow(config)
    const neighbours = this.#neighbours?.at ?? null
    const serve = (exchange: Exchange, port: number): void => this.#serve(exchange, port)
    const options = { serve, gate, deadline, openPort, neighbours }
    this.#ports = new Ports(this.#serving, log, options)
    this.facts = factsOf({ ...this.#sources, gateway: this, metrics: this.#metrics, log })
    this.readApi = new ReadApi(this.facts, timer)
    this.ui = new UiService(this.readApi, config.process, this.refusals)
  }

  get #sources(): LiveSources {
    return { ...this.#standing, ports: this.#ports, watchers: this.watchers }
  }

  get #standing(): Standing {
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
  get live(): Live {
    return liveOf(this.#sources)
  }

  /** Everything that is counted. */
  get measures(): Family[] {
    const decisions = [...this.#limits.decisions, ...this.#services.decisions]
    const { connects } = this.#pools
    const { live } = this
    const settled = this.#metrics.collect()
    return measures({ settled, live, connects, decisions, refused: this.refusals.counts })
  }

  /** Key sets of identity providers. */
  get keySets(): KeySets['status'] {
    return this.#identity.keys.status
  }

  /** Has `limits` tell what is left now, wherever it is counted. */
  look(): Promise<void> {
    return this.#limits.look()
  }

  /** How much of each limit is left. */
  get limits(): ReturnType<Limits['status']> {
    return this.#limits.status()
  }

  async start(): Promise<void> {
    await this.#neighbours?.open()
    await this.#ports.apply(this.#plan.config.gateways, this.#plan.limits, () => {})
    if (this.#readiness === 'starting') this.#readiness = 'ready'
    this.readApi.follow()
  }

  /**
   * Puts another configuration in force, whole or not at all; requests under way keep the one they began with.
   * `config` is read at start only: what stands there now waits for the next one.
   */
  async reload(written: Config): Promise<void> {
    const config = { ...written, ...atStart(this.#plan.config) }
    try {
      const plan = planOf(config, this.#standing, this.#plan.generation + 1)
      await this.#ports.apply(config.gateways, plan.limits, () => (this.#plan = plan))
      // Who may read them may be others now.
      this.#endPages()
      this.readApi.follow()
    } finally {
      this.#pools.retain(this.#plan.origins)
      this.#groups.retain(this.#plan.groups)
      this.#limits.retain(this.#plan.rules)
      this.#services.retain(this.#plan.services)
      this.backends.retain(this.#plan.backends)
      this.#metrics.retain(this.#plan.places)
      this.#neighbours?.follow(this.#plan.config)
    }
  }

  /** Lets what runs finish until the deadline, then cuts it; what it has cost is told all the same. */
  async stop(manner: Manner = 'now'): Promise<void> {
    this.#readiness = 'draining'
    this.#groups.drain()
    this.#endPages()
    // Others may have something for a session of this worker until its own clients have left.
    const drained = this.#ports.drain(manner).then(() => this.#neighbours?.drain())
    await within(this.#plan.config.process.terminationDeadline, drained)
    this.#ports.cut()
    this.#neighbours?.close()
    await this.#groups.close()
    await within(SETTLE_DEADLINE, this.#settled())
    this.#pools.close()
    this.#services.close()
    this.#identity.close()
    this.readApi.stop()
    this.refusals.close()
  }

  /** Leaves nothing behind that would outlive the process; for one that exits at once. */
  abandon(): void {
    this.#groups.children.killAll()
  }

  #neighboursOf(seat: WorkerSeat): Neighbours {
    return new Neighbours(seat, {
      serving: this.#serving,
      limits: () => this.#plan.limits,
      adopt: (port, leaving) => this.#ports.adopt(port, leaving),
    })
  }

  /** A request that another worker has the session of goes there. */
  #serve(exchange: Exchange, port: number): void {
    if (this.#neighbours?.serve(exchange, port) !== true) this.#serving.serve(exchange, port)
  }

  #endPages(): void {
    this.ui.endListeners()
    this.#allUi?.endListeners()
  }

  /** Every line is written, and every charge told. */
  async #settled(): Promise<void> {
    await this.#serving.counted()
    await this.#services.whenTold()
  }
}
