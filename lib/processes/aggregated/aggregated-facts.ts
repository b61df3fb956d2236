// The facts of all workers together for the page API: the last answer of each worker, added up. Counts stay when a worker ends.

import type { BackendStatus, KeySetStatus } from '../../admin/config-dump.ts'
import type { ConfigInForce, GatewayFacts } from '../../admin/page-api/gateway-facts.ts'
import type { LogLine } from '../../admin/page-api/page-api-types.ts'
import { PROCESS_READINGS } from '../../admin/page-api/traffic-samples.ts'
import type { MachineReadings } from '../../admin/page-api/traffic-samples.ts'
import type { Config } from '../../config/config-types.ts'
import type { DecisionCounts, LimitStatus } from '../../config/limit-status.ts'
import type { TokenPolicies } from '../../config/policy-types.ts'
import type { Log, LogRecord } from '../../core/log.ts'
import type {
  BackendHealthView,
  ChildProcessView,
  CurrentLoad,
  ListenerCounts,
  McpGroupView,
} from '../../core/runtime-views.ts'
import { workerNameOf } from '../../core/session-owner.ts'
import { RequestTotals } from '../../core/traffic-totals.ts'
import type { RequestCounts } from '../../core/traffic-totals.ts'
import { describeKeyFaults } from '../../enforce/auth/identity.ts'
import type { StartTrace } from '../../trace/trace-watchers.ts'
import type { WorkerEndpoints, WorkerId } from '../worker-messages.ts'
import { requestWorker } from './ask-workers.ts'
import type { WorkerSet } from './ask-workers.ts'
import {
  addCounts,
  addDecisions,
  addTotals,
  averageStatus,
  joinHealth,
  joinLimits,
  limitKeysOf,
  setTotals,
  sumListeners,
  sumPulses,
} from './sum-workers.ts'
import { FACTS_PATH } from './worker-facts.ts'
import type { FactsPart, WorkerFacts } from './worker-facts.ts'

/** A worker that did not answer in time is not asked for this long, so that the page does not wait for it each time. */
const SILENT_WORKER_COOLDOWN_MS = 5_000

/** Short, because the page shows these facts every second. */
const FACTS_TIMEOUT_MS = 1_500

/** The facts that are read when a worker stops. */
const LAST_PARTS: readonly FactsPart[] = ['pulse', 'traffic', 'limits', 'logs']

/** Routes of ended workers whose counts are kept; counts of further routes are dropped. */
const MAX_DEPARTED_ROUTES = 10_000

export interface AggregatedFactsOptions {
  readonly log: Log
  readonly inForce: () => ConfigInForce
  readonly readiness: GatewayFacts['readiness']
  readonly watch: StartTrace
}

/** The last answer of one worker, part by part. */
interface LastWorkerFacts {
  readonly lines: WorkerLines
  facts: WorkerFacts
  /** Not asked before this time of `performance.now()`. */
  cooldownUntil: number
  /** The last facts were read: an older answer that arrives later is ignored. */
  isFinal: boolean
}

export class AggregatedFacts implements GatewayFacts {
  readonly log: Log
  readonly watch: StartTrace
  readonly inForce: () => ConfigInForce
  readonly readiness: GatewayFacts['readiness']
  readonly totals = new RequestTotals()
  readonly #workers: WorkerSet
  readonly #lastFacts = new Map<string, LastWorkerFacts>()
  readonly #asking = new Map<string, Promise<void>>()
  /** Health by backend, one map per worker; built when it is first needed after a refresh. */
  #health: ReadonlyMap<string, BackendHealthView>[] | null = null
  /** Limit keys of the configuration in force. */
  #keys: readonly [config: Config, keys: ReturnType<typeof limitKeysOf>] | null = null
  /** Counts of ended workers. */
  readonly #departed = {
    totals: new RequestTotals(),
    cpu: 0,
    traffic: new Map<string, RequestCounts>(),
    decisions: new Map<string, DecisionCounts>(),
  }

  constructor(workers: WorkerSet, { log, inForce, readiness, watch }: AggregatedFactsOptions) {
    this.#workers = workers
    this.log = log
    this.inForce = inForce
    this.readiness = readiness
    this.watch = watch
  }

  /** Asks all workers for these parts; concurrent calls for the same parts share one request. */
  refresh(...parts: FactsPart[]): Promise<void> {
    if (parts.length === 0) return Promise.resolve()
    const key = parts.join()
    let asking = this.#asking.get(key)
    if (asking === undefined) {
      asking = this.#refresh(key).finally(() => this.#asking.delete(key))
      this.#asking.set(key, asking)
    }
    return asking
  }

  /** Reads what the worker has counted and logged since it was last asked. */
  async collectLast(id: WorkerId): Promise<void> {
    const worker = this.#workers.find(id)
    if (worker === undefined) return
    const last = this.#lastFactsOf(worker)
    // The worker ends: there is no later attempt.
    last.cooldownUntil = 0
    try {
      logWorkerLines(this.log, await this.#fetchFacts(worker, LAST_PARTS.join()))
      last.isFinal = true
    } catch {
      // The answers before count.
    }
  }

  workerLeft(id: WorkerId): void {
    const last = this.#lastFacts.get(workerNameOf(id))
    if (last === undefined) return
    this.#lastFacts.delete(workerNameOf(id))
    const { pulse, traffic, limits } = last.facts
    const { totals, traffic: routes, decisions } = this.#departed
    if (pulse !== undefined) {
      addTotals(totals, pulse.totals)
      this.#departed.cpu += pulse.cpu
    }
    addCounts(routes, traffic?.traffic ?? [], MAX_DEPARTED_ROUTES)
    // The worker may never have been asked.
    if (limits === undefined) return
    // Limits that are no longer configured are dropped.
    const known = limits.map((limit) => [limit.id, limit.decisions] as const)
    for (const limit of decisions.keys())
      if (!known.some(([other]) => other === limit)) decisions.delete(limit)
    addDecisions(decisions, known)
  }

  readonly machine: MachineReadings = {
    ...PROCESS_READINGS,
    rss: () => this.#pulses.reduce((sum, { rss }) => sum + rss, PROCESS_READINGS.rss()),
    cpu: () =>
      this.#pulses.reduce((sum, { cpu }) => sum + cpu, PROCESS_READINGS.cpu() + this.#departed.cpu),
  }

  readonly pulse = (): CurrentLoad => sumPulses(this.#pulses.map(({ pulse }) => pulse))

  readonly listeners = (): readonly ListenerCounts[] =>
    sumListeners(this.#pulses.flatMap(({ listeners }) => listeners))

  readonly traffic = (): ReadonlyMap<string, Readonly<RequestCounts>> => {
    const sums = new Map<string, RequestCounts>()
    addCounts(sums, this.#departed.traffic)
    for (const { traffic } of this.#all('traffic')) addCounts(sums, traffic)
    return sums
  }

  readonly health = (backend: string): BackendHealthView => {
    this.#health ??= this.#all('traffic').map(({ health }) => new Map(health))
    return joinHealth(this.#health.flatMap((some) => some.get(backend) ?? []))
  }

  readonly keyFaults = (policies: TokenPolicies): readonly string[] => {
    const keySets = this.#all('traffic')[0]?.keySets ?? []
    return describeKeyFaults(policies, (at) => keySets.find(({ url }) => url === at)?.error ?? null)
  }

  readonly limits = (): LimitStatus[] => this.#joined(this.#all('limits').flat())

  readonly tightest: GatewayFacts['tightest'] = () =>
    this.limits().map(({ id, shared, tightest }) => {
      const least = Math.min(shared.remaining, tightest[0]?.remaining ?? shared.remaining)
      return { id, remaining: least }
    })

  readonly groups = (): readonly McpGroupView[] =>
    this.#each('mcp', ({ groups }, worker) =>
      groups.map((group) => {
        const shown = group.sessions.shown.map((session) => ({ ...session, worker }))
        return { ...group, sessions: { ...group.sessions, shown } }
      }),
    )

  readonly children = (): ChildProcessView[] =>
    this.#each('mcp', ({ children }, worker) =>
      children.map(({ lastStderr, ...child }) => ({
        ...child,
        worker,
        lastStderr: (max = lastStderr.length) => lastStderr.slice(-max),
      })),
    )

  /** Facts for /config_dump, after `refresh('dump')`. */
  get dumpFacts(): {
    readonly limits: readonly LimitStatus[]
    readonly keySets: readonly KeySetStatus[]
    readonly statusOf: (backend: string) => BackendStatus | null
  } {
    const all = this.#all('dump')
    const statuses = all.map(({ backends }) => new Map(backends))
    return {
      limits: this.#joined(all.flatMap(({ limits }) => limits)),
      keySets: all[0]?.keySets ?? [],
      statusOf: (key) => averageStatus(statuses.flatMap((some) => some.get(key) ?? [])),
    }
  }

  #joined(limits: Parameters<typeof joinLimits>[0]): LimitStatus[] {
    const { config } = this.inForce()
    if (this.#keys?.[0] !== config) this.#keys = [config, limitKeysOf(config)]
    return joinLimits(limits, this.#departed.decisions, this.#keys[1])
  }

  get #pulses() {
    return this.#all('pulse')
  }

  #all<P extends FactsPart>(part: P): NonNullable<WorkerFacts[P]>[] {
    return this.#each(part, (facts) => [facts])
  }

  #each<P extends FactsPart, T>(
    part: P,
    view: (facts: NonNullable<WorkerFacts[P]>, worker: number) => T[],
  ): T[] {
    return this.#workers.workers.flatMap((worker) => {
      const facts = this.#lastFacts.get(workerNameOf(worker))?.facts[part]
      return facts === undefined ? [] : view(facts, worker.slot)
    })
  }

  async #refresh(parts: string): Promise<void> {
    const results = await this.#workers.all((worker) => this.#fetchFacts(worker, parts))
    logWorkerLines(
      this.log,
      results.flatMap((result) => ('value' in result ? result.value : [])),
    )
    this.#health = null
    const sum = new RequestTotals()
    setTotals(sum, this.#departed.totals)
    for (const { totals } of this.#pulses) addTotals(sum, totals)
    setTotals(this.totals, sum)
  }

  /** Returns the new log lines. */
  async #fetchFacts(
    worker: WorkerEndpoints,
    parts: string,
  ): Promise<ReturnType<WorkerLines['take']>> {
    const last = this.#lastFactsOf(worker)
    if (performance.now() < last.cooldownUntil) return []
    const path = `${FACTS_PATH}?parts=${parts}&after=${last.lines.last}`
    try {
      const { status, body } = await requestWorker(worker.admin, { path, ms: FACTS_TIMEOUT_MS })
      if (status !== 200) throw new Error(`answered ${status}`)
      if (last.isFinal) return []
      const facts = JSON.parse(body.toString()) as WorkerFacts
      last.facts = { ...last.facts, ...facts }
      return facts.logs === undefined ? [] : last.lines.take(facts.logs)
    } catch (error) {
      last.cooldownUntil = performance.now() + SILENT_WORKER_COOLDOWN_MS
      throw error
    }
  }

  #lastFactsOf(worker: WorkerEndpoints): LastWorkerFacts {
    const key = workerNameOf(worker)
    let last = this.#lastFacts.get(key)
    if (last === undefined) {
      last = { lines: new WorkerLines(worker.slot), facts: {}, cooldownUntil: 0, isFinal: false }
      // A worker that has ended meanwhile is not kept.
      if (this.#workers.has(worker)) this.#lastFacts.set(key, last)
    }
    return last
  }
}

type ReportedLines = NonNullable<WorkerFacts['logs']>

/** The log lines of one worker, copied into the log of the supervisor. */
class WorkerLines {
  readonly #slot: number
  #last = 0

  constructor(slot: number) {
    this.#slot = slot
  }

  /** The number of the last line that was copied. */
  get last(): number {
    return this.#last
  }

  /** Returns the new lines, and a line that says how many were lost. */
  take({ lines }: ReportedLines): LogRecord[] {
    const fresh = lines.filter(({ number }) => number > this.#last)
    const [first] = fresh
    if (first === undefined) return []
    // Lines before the first request are not counted as lost.
    const missed = this.#last === 0 ? 0 : first.number - this.#last - 1
    this.#last = fresh.at(-1)!.number
    const taken = fresh.map((line) => this.#toRecord(line))
    // After the lines, because the oldest lines are dropped first.
    return missed === 0 ? taken : [...taken, this.#gap(fresh.at(-1)!.at, missed)]
  }

  #toRecord({ at, level, module, message, fields }: LogLine): LogRecord {
    const own = fields.filter(([name]) => name !== 'worker').flat()
    // Workers run the same code, so they have the same modules.
    return {
      at,
      level,
      module: module as LogRecord['module'],
      message,
      fields: this.#withWorker(own),
    }
  }

  #gap(at: number, missed: number): LogRecord {
    const message = 'more was logged than is shown here'
    return {
      at,
      level: 'info',
      module: 'log',
      message,
      fields: this.#withWorker(['lines', missed]),
    }
  }

  #withWorker(fields: LogRecord['fields']): LogRecord['fields'] {
    return [...fields, 'worker', this.#slot]
  }
}

/** Sorted by time within one call. */
function logWorkerLines(log: Log, lines: readonly LogRecord[]): void {
  for (const line of lines.toSorted((one, other) => one.at - other.at)) log.tap?.(line)
}
