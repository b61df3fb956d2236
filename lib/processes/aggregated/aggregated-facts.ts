// What the page's server knows of all workers together: what each said last, added up. What a worker counted outlives it.

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
import type { DecideWatch } from '../../trace/trace-watchers.ts'
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

/** One that has said nothing in time is left out for so long: the page does not wait for it again and again. */
const SILENT_WORKER_COOLDOWN_MS = 5_000

/** For what the page shows every second. */
const FACTS_TIMEOUT_MS = 1_500

/** What of a worker is wanted when it is gone. */
const LAST_PARTS: readonly FactsPart[] = ['pulse', 'traffic', 'limits', 'logs']

/** Routes of workers that are gone; what they counted of others is forgotten. */
const MAX_DEPARTED_ROUTES = 10_000

export interface AggregatedFactsOptions {
  readonly log: Log
  readonly inForce: () => ConfigInForce
  readonly readiness: GatewayFacts['readiness']
  readonly watch: DecideWatch
}

/** What one worker said last, part by part. */
interface LastWorkerFacts {
  readonly door: WorkerEndpoints
  readonly lines: WorkerLines
  facts: WorkerFacts
  /** Not asked before this, on the clock of `performance.now()`. */
  cooldownUntil: number
  /** It has said all it had to say: an older answer that comes later counts for nothing. */
  isFinal: boolean
}

export class AggregatedFacts implements GatewayFacts {
  readonly log: Log
  readonly watch: DecideWatch
  readonly inForce: () => ConfigInForce
  readonly readiness: GatewayFacts['readiness']
  readonly totals = new RequestTotals()
  readonly #workers: WorkerSet
  readonly #lastFacts = new Map<string, LastWorkerFacts>()
  readonly #asking = new Map<string, Promise<void>>()
  /** By worker and backend, made when it is wanted. */
  #health: ReadonlyMap<string, BackendHealthView>[] | null = null
  /** Of the configuration in force. */
  #keys: readonly [config: Config, keys: ReturnType<typeof limitKeysOf>] | null = null
  /** Of workers that are gone. */
  readonly #departed = {
    totals: new RequestTotals(),
    cpu: 0,
    traffic: new Map<string, RequestCounts>(),
    decisions: new Map<string, DecisionCounts>(),
  }

  constructor(crew: WorkerSet, { log, inForce, readiness, watch }: AggregatedFactsOptions) {
    this.#workers = crew
    this.log = log
    this.inForce = inForce
    this.readiness = readiness
    this.watch = watch
  }

  /** Asks all workers for these; those who want the same at the same time wait for the same. */
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

  /** What it has counted and logged since it was last asked. */
  async collectLast(id: WorkerId): Promise<void> {
    const door = this.#workers.find(id)
    if (door === undefined) return
    const said = this.#lastFactsOf(door)
    // There is no later.
    said.cooldownUntil = 0
    try {
      logWorkerLines(this.log, await this.#fetchFacts(door, LAST_PARTS.join()))
      said.isFinal = true
    } catch {
      // What it said before counts.
    }
  }

  workerLeft(id: WorkerId): void {
    const said = this.#lastFacts.get(workerNameOf(id))
    if (said === undefined) return
    this.#lastFacts.delete(workerNameOf(id))
    const { pulse, traffic, limits } = said.facts
    const { totals, traffic: routes, decisions } = this.#departed
    if (pulse !== undefined) {
      addTotals(totals, pulse.totals)
      this.#departed.cpu += pulse.cpu
    }
    addCounts(routes, traffic?.traffic ?? [], MAX_DEPARTED_ROUTES)
    // It may never have been asked.
    if (limits === undefined) return
    // Of limits that are no longer configured nobody asks.
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
        lastStderr: (most = lastStderr.length) => lastStderr.slice(-most),
      })),
    )

  /** For a dump: each of `refresh('dump')`. */
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
    return this.#workers.workers.flatMap((door) => {
      const facts = this.#lastFacts.get(workerNameOf(door))?.facts[part]
      return facts === undefined ? [] : view(facts, door.slot)
    })
  }

  async #refresh(parts: string): Promise<void> {
    const said = await this.#workers.all((door) => this.#fetchFacts(door, parts))
    logWorkerLines(
      this.log,
      said.flatMap((one) => ('value' in one ? one.value : [])),
    )
    this.#health = null
    const sum = new RequestTotals()
    setTotals(sum, this.#departed.totals)
    for (const { totals } of this.#pulses) addTotals(sum, totals)
    setTotals(this.totals, sum)
  }

  /** Gives back the lines that are new. */
  async #fetchFacts(
    door: WorkerEndpoints,
    parts: string,
  ): Promise<ReturnType<WorkerLines['take']>> {
    const said = this.#lastFactsOf(door)
    if (performance.now() < said.cooldownUntil) return []
    const path = `${FACTS_PATH}?parts=${parts}&after=${said.lines.last}`
    try {
      const { status, body } = await requestWorker(door.admin, { path, ms: FACTS_TIMEOUT_MS })
      if (status !== 200) throw new Error(`answered ${status}`)
      if (said.isFinal) return []
      const facts = JSON.parse(body.toString()) as WorkerFacts
      said.facts = { ...said.facts, ...facts }
      return facts.logs === undefined ? [] : said.lines.take(facts.logs)
    } catch (error) {
      said.cooldownUntil = performance.now() + SILENT_WORKER_COOLDOWN_MS
      throw error
    }
  }

  #lastFactsOf(door: WorkerEndpoints): LastWorkerFacts {
    const key = workerNameOf(door)
    let said = this.#lastFacts.get(key)
    if (said === undefined) {
      said = {
        door,
        lines: new WorkerLines(door.slot),
        facts: {},
        cooldownUntil: 0,
        isFinal: false,
      }
      // One that has left in the meantime is not kept.
      if (this.#workers.has(door)) this.#lastFacts.set(key, said)
    }
    return said
  }
}

// Lines that workers logged, taken over into what this process remembers of its own.

type ReportedLines = NonNullable<WorkerFacts['logs']>

/** What is known of one worker's lines. */
class WorkerLines {
  readonly #slot: number
  #last = 0

  constructor(slot: number) {
    this.#slot = slot
  }

  /** The number of the last that was taken. */
  get last(): number {
    return this.#last
  }

  /** Those that are new, and a line that says how many are lost. */
  take({ lines }: ReportedLines): LogRecord[] {
    const fresh = lines.filter(({ number }) => number > this.#last)
    const [first] = fresh
    if (first === undefined) return []
    // What was before the first look nobody misses.
    const missed = this.#last === 0 ? 0 : first.number - this.#last - 1
    this.#last = fresh.at(-1)!.number
    const taken = fresh.map((line) => this.#written(line))
    // Behind them, as the oldest go first.
    return missed === 0 ? taken : [...taken, this.#gap(fresh.at(-1)!.at, missed)]
  }

  #written({ at, level, module, message, fields }: LogLine): LogRecord {
    const own = fields.filter(([name]) => name !== 'worker').flat()
    // A module of a worker is one of ours: they run the same code.
    return {
      at,
      level,
      module: module as LogRecord['module'],
      message,
      fields: this.#marked(own),
    }
  }

  #gap(at: number, missed: number): LogRecord {
    const message = 'more was logged than is shown here'
    return { at, level: 'info', module: 'log', message, fields: this.#marked(['lines', missed]) }
  }

  #marked(fields: LogRecord['fields']): LogRecord['fields'] {
    return [...fields, 'worker', this.#slot]
  }
}

/** By time, as far as they came together. */
function logWorkerLines(log: Log, lines: readonly LogRecord[]): void {
  for (const line of lines.toSorted((one, other) => one.at - other.at)) log.tap?.(line)
}
