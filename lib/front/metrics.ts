// /metrics of all workers. Sums never go down: of a worker that is gone, or says nothing, what it said last counts.

import { StringDecoder } from 'node:string_decoder'
import { workerName } from '../base/processes/session-mark.ts'
import type { WorkerDoor, WorkerId } from '../workers/types.ts'
import { readAt } from './ask.ts'
import type { Crew } from './crew.ts'
import { StatsPage } from './stats-page.ts'

export class FrontMetrics {
  readonly #crew: Crew
  readonly #own: () => string
  readonly #shared: () => string
  /** What each said last. */
  readonly #last = new Map<string, StatsPage>()
  /** Those that have said all they had to say. */
  readonly #over = new Set<string>()
  readonly #gone = new StatsPage()
  #underWay: Promise<StatsPage> | null = null

  /** `own` is what only this process tells; `shared` what it adds to what workers tell. */
  constructor(crew: Crew, own: () => string, shared: () => string) {
    this.#crew = crew
    this.#own = own
    this.#shared = shared
  }

  /** Those who ask at the same time get the same. */
  page(): Promise<StatsPage> {
    this.#underWay ??= this.#gather().finally(() => (this.#underWay = null))
    return this.#underWay
  }

  /** What it says now counts from now on, also when another question is under way. */
  async hearLast(id: WorkerId): Promise<void> {
    const door = this.#crew.of(id)
    const page = door === undefined ? null : await pageOf(door).catch(() => null)
    if (page === null || !this.#crew.has(id)) return
    this.#last.set(workerName(id), page)
    this.#over.add(workerName(id))
  }

  left(id: WorkerId): void {
    const key = workerName(id)
    this.#over.delete(key)
    const last = this.#last.get(key)
    this.#last.delete(key)
    if (last !== undefined) this.#gone.add(last, null)
  }

  async #gather(): Promise<StatsPage> {
    const said = await this.#crew.all(pageOf)
    const newest = new Set(this.#crew.newest.map(workerName))
    const sum = new StatsPage()
    const own = StatsPage.of(this.#own())
    sum.add(own, 'supervisor')
    sum.add(StatsPage.of(this.#shared()), 'supervisor')
    sum.add(this.#gone, null, own)
    for (const one of said) {
      const key = workerName(one.door)
      const name = newest.has(key) ? String(one.door.slot) : key
      // One that has left meanwhile is among those that are gone.
      if (!this.#crew.has(one.door)) continue
      if ('value' in one && !this.#over.has(key)) this.#last.set(key, one.value)
      const last = this.#last.get(key)
      if (last !== undefined) sum.add(last, 'value' in one ? name : null, own)
    }
    return sum
  }
}

async function pageOf({ stats }: WorkerDoor): Promise<StatsPage> {
  const page = new StatsPage()
  const decoder = new StringDecoder()
  const status = await readAt(stats, { path: '/metrics' }, (part) => page.read(decoder.write(part)))
  if (status !== 200) throw new Error(`statistics answered ${status}`)
  return page
}
