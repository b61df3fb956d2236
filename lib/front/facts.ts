// What the page's server knows of all workers together: what each said last, added up. What a worker counted outlives it.

import type { BackendStatus, KeySetStatus } from '../admin/config-dump.ts'
import type { TokenPolicies } from '../base/config/auth-types.ts'
import type { Config } from '../base/config/types.ts'
import type { Decisions } from '../base/limit/decisions.ts'
import type { LimitStatus } from '../base/limit/status.ts'
import { Totals } from '../base/live/totals.ts'
import type { Counts } from '../base/live/totals.ts'
import type { ChildView, GroupView, HealthView, ListenerCounts, Pulse } from '../base/live/views.ts'
import type { Log } from '../base/log/log.ts'
import { workerName } from '../base/processes/session-mark.ts'
import type { Watch } from '../base/trace/watching.ts'
import { keyFaults } from '../enforce/identity.ts'
import type { GatewayFacts, InForce } from '../ui/gateway-facts.ts'
import { MACHINE } from '../ui/sampler.ts'
import type { Machine } from '../ui/sampler.ts'
import type { WorkerDoor, WorkerId } from '../workers/types.ts'
import { askAt } from './ask.ts'
import type { Crew } from './crew.ts'
import { tellLines, WorkerLines } from './lines.ts'
import {
  addCounts,
  addDecisions,
  addTotals,
  joinedHealth,
  joinedLimits,
  limitKeysOf,
  mixedStatus,
  setTotals,
  summedListeners,
  summedPulse,
} from './sums.ts'
import { FACTS_PATH } from './worker-facts.ts'
import type { Part, WorkerFacts } from './worker-facts.ts'

/** One that has said nothing in time is left out for so long: the page does not wait for it again and again. */
const REST_MS = 5_000

/** For what the page shows every second. */
const FACTS_MS = 1_500

/** What of a worker is wanted when it is gone. */
const LAST_PARTS: readonly Part[] = ['pulse', 'traffic', 'limits', 'logs']

/** Routes of workers that are gone; what they counted of others is forgotten. */
const MAX_GONE = 10_000

export interface FactsOptions {
  readonly log: Log
  readonly inForce: () => InForce
  readonly readiness: GatewayFacts['readiness']
  readonly watch: Watch
}

/** What one worker said last, part by part. */
interface Said {
  readonly door: WorkerDoor
  readonly lines: WorkerLines
  facts: WorkerFacts
  /** Not asked before this, on the clock of `performance.now()`. */
  restsUntil: number
  /** It has said all it had to say: an older answer that comes later counts for nothing. */
  isOver: boolean
}

export class FrontFacts implements GatewayFacts {
  readonly log: Log
  readonly watch: Watch
  readonly inForce: () => InForce
  readonly readiness: GatewayFacts['readiness']
  readonly totals = new Totals()
  readonly #crew: Crew
  readonly #said = new Map<string, Said>()
  readonly #asking = new Map<string, Promise<void>>()
  /** By worker and backend, made when it is wanted. */
  #health: ReadonlyMap<string, HealthView>[] | null = null
  /** Of the configuration in force. */
  #keys: readonly [config: Config, keys: ReturnType<typeof limitKeysOf>] | null = null
  /** Of workers that are gone. */
  readonly #gone = {
    totals: new Totals(),
    cpu: 0,
    traffic: new Map<string, Counts>(),
    decisions: new Map<string, Decisions>(),
  }

  constructor(crew: Crew, { log, inForce, readiness, watch }: FactsOptions) {
    this.#crew = crew
    this.log = log
    this.inForce = inForce
    this.readiness = readiness
    this.watch = watch
  }

  /** Asks all workers for these; those who want the same at the same time wait for the same. */
  refresh(...parts: Part[]): Promise<void> {
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
  async hearLast(id: WorkerId): Promise<void> {
    const door = this.#crew.of(id)
    if (door === undefined) return
    const said = this.#saidBy(door)
    // There is no later.
    said.restsUntil = 0
    try {
      tellLines(this.log, await this.#ask(door, LAST_PARTS.join()))
      said.isOver = true
    } catch {
      // What it said before counts.
    }
  }

  left(id: WorkerId): void {
    const said = this.#said.get(workerName(id))
    if (said === undefined) return
    this.#said.delete(workerName(id))
    const { pulse, traffic, limits } = said.facts
    const { totals, traffic: routes, decisions } = this.#gone
    if (pulse !== undefined) {
      addTotals(totals, pulse.totals)
      this.#gone.cpu += pulse.cpu
    }
    addCounts(routes, traffic?.traffic ?? [], MAX_GONE)
    // It may never have been asked.
    if (limits === undefined) return
    // Of limits that are no longer configured nobody asks.
    const known = limits.map((limit) => [limit.id, limit.decisions] as const)
    for (const limit of decisions.keys())
      if (!known.some(([other]) => other === limit)) decisions.delete(limit)
    addDecisions(decisions, known)
  }

  readonly machine: Machine = {
    ...MACHINE,
    rss: () => this.#pulses.reduce((sum, { rss }) => sum + rss, MACHINE.rss()),
    cpu: () => this.#pulses.reduce((sum, { cpu }) => sum + cpu, MACHINE.cpu() + this.#gone.cpu),
  }

  readonly pulse = (): Pulse => summedPulse(this.#pulses.map(({ pulse }) => pulse))

  readonly listeners = (): readonly ListenerCounts[] =>
    summedListeners(this.#pulses.flatMap(({ listeners }) => listeners))

  readonly traffic = (): ReadonlyMap<string, Readonly<Counts>> => {
    const sums = new Map<string, Counts>()
    addCounts(sums, this.#gone.traffic)
    for (const { traffic } of this.#all('traffic')) addCounts(sums, traffic)
    return sums
  }

  readonly health = (backend: string): HealthView => {
    this.#health ??= this.#all('traffic').map(({ health }) => new Map(health))
    return joinedHealth(this.#health.flatMap((some) => some.get(backend) ?? []))
  }

  readonly keyFaults = (policies: TokenPolicies): readonly string[] => {
    const keySets = this.#all('traffic')[0]?.keySets ?? []
    return keyFaults(policies, (at) => keySets.find(({ url }) => url === at)?.error ?? null)
  }

  readonly limits = (): LimitStatus[] => this.#joined(this.#all('limits').flat())

  readonly tightest: GatewayFacts['tightest'] = () =>
    this.limits().map(({ id, shared, tightest }) => {
      const least = Math.min(shared.remaining, tightest[0]?.remaining ?? shared.remaining)
      return { id, remaining: least }
    })

  readonly groups = (): readonly GroupView[] =>
    this.#each('mcp', ({ groups }, worker) =>
      groups.map((group) => {
        const shown = group.sessions.shown.map((session) => ({ ...session, worker }))
        return { ...group, sessions: { ...group.sessions, shown } }
      }),
    )

  readonly children = (): ChildView[] =>
    this.#each('mcp', ({ children }, worker) =>
      children.map(({ lastStderr, ...child }) => ({
        ...child,
        worker,
        lastStderr: (most = lastStderr.length) => lastStderr.slice(-most),
      })),
    )

  /** For a dump: each of `refresh('dump')`. */
  get dumped(): {
    readonly limits: readonly LimitStatus[]
    readonly keySets: readonly KeySetStatus[]
    readonly statusOf: (backend: string) => BackendStatus | null
  } {
    const all = this.#all('dump')
    const statuses = all.map(({ backends }) => new Map(backends))
    return {
      limits: this.#joined(all.flatMap(({ limits }) => limits)),
      keySets: all[0]?.keySets ?? [],
      statusOf: (key) => mixedStatus(statuses.flatMap((some) => some.get(key) ?? [])),
    }
  }

  #joined(limits: Parameters<typeof joinedLimits>[0]): LimitStatus[] {
    const { config } = this.inForce()
    if (this.#keys?.[0] !== config) this.#keys = [config, limitKeysOf(config)]
    return joinedLimits(limits, this.#gone.decisions, this.#keys[1])
  }

  get #pulses() {
    return this.#all('pulse')
  }

  #all<P extends Part>(part: P): NonNullable<WorkerFacts[P]>[] {
    return this.#each(part, (facts) => [facts])
  }

  #each<P extends Part, T>(
    part: P,
    view: (facts: NonNullable<WorkerFacts[P]>, worker: number) => T[],
  ): T[] {
    return this.#crew.members.flatMap((door) => {
      const facts = this.#said.get(workerName(door))?.facts[part]
      return facts === undefined ? [] : view(facts, door.slot)
    })
  }

  async #refresh(parts: string): Promise<void> {
    const said = await this.#crew.all((door) => this.#ask(door, parts))
    tellLines(
      this.log,
      said.flatMap((one) => ('value' in one ? one.value : [])),
    )
    this.#health = null
    const sum = new Totals()
    setTotals(sum, this.#gone.totals)
    for (const { totals } of this.#pulses) addTotals(sum, totals)
    setTotals(this.totals, sum)
  }

  /** Gives back the lines that are new. */
  async #ask(door: WorkerDoor, parts: string): Promise<ReturnType<WorkerLines['take']>> {
    const said = this.#saidBy(door)
    if (performance.now() < said.restsUntil) return []
    const path = `${FACTS_PATH}?parts=${parts}&after=${said.lines.last}`
    try {
      const { status, body } = await askAt(door.admin, { path, ms: FACTS_MS })
      if (status !== 200) throw new Error(`answered ${status}`)
      if (said.isOver) return []
      const facts = JSON.parse(body.toString()) as WorkerFacts
      said.facts = { ...said.facts, ...facts }
      return facts.logs === undefined ? [] : said.lines.take(facts.logs)
    } catch (error) {
      said.restsUntil = performance.now() + REST_MS
      throw error
    }
  }

  #saidBy(door: WorkerDoor): Said {
    const key = workerName(door)
    let said = this.#said.get(key)
    if (said === undefined) {
      said = { door, lines: new WorkerLines(door.slot), facts: {}, restsUntil: 0, isOver: false }
      // One that has left in the meantime is not kept.
      if (this.#crew.has(door)) this.#said.set(key, said)
    }
    return said
  }
}
