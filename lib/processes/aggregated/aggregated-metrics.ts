// /metrics of all workers. Sums never go down: of a worker that is gone, or says nothing, what it said last counts.

import { StringDecoder } from 'node:string_decoder'
import { METRICS_PART_LENGTH } from '../../admin/prometheus-text.ts'
import { workerNameOf } from '../../core/session-owner.ts'
import type { WorkerEndpoints, WorkerId } from '../worker-messages.ts'
import { streamFromWorker } from './ask-workers.ts'
import type { WorkerSet } from './ask-workers.ts'

export class AggregatedMetrics {
  readonly #workers: WorkerSet
  readonly #own: () => string
  readonly #shared: () => string
  /** What each said last. */
  readonly #last = new Map<string, StatsPage>()
  /** Those that have said all they had to say. */
  readonly #finished = new Set<string>()
  readonly #departed = new StatsPage()
  #underWay: Promise<StatsPage> | null = null

  /** `own` is what only this process tells; `shared` what it adds to what workers tell. */
  constructor(crew: WorkerSet, own: () => string, shared: () => string) {
    this.#workers = crew
    this.#own = own
    this.#shared = shared
  }

  /** Those who ask at the same time get the same. */
  page(): Promise<StatsPage> {
    this.#underWay ??= this.#gather().finally(() => (this.#underWay = null))
    return this.#underWay
  }

  /** What it says now counts from now on, also when another question is under way. */
  async collectLast(id: WorkerId): Promise<void> {
    const door = this.#workers.find(id)
    const page = door === undefined ? null : await fetchStatsPage(door).catch(() => null)
    if (page === null || !this.#workers.has(id)) return
    this.#last.set(workerNameOf(id), page)
    this.#finished.add(workerNameOf(id))
  }

  workerLeft(id: WorkerId): void {
    const key = workerNameOf(id)
    this.#finished.delete(key)
    const last = this.#last.get(key)
    this.#last.delete(key)
    if (last !== undefined) this.#departed.add(last, null)
  }

  async #gather(): Promise<StatsPage> {
    const said = await this.#workers.all(fetchStatsPage)
    const newest = new Set(this.#workers.newestPerSlot.map(workerNameOf))
    const sum = new StatsPage()
    const own = StatsPage.parse(this.#own())
    sum.add(own, 'supervisor')
    sum.add(StatsPage.parse(this.#shared()), 'supervisor')
    sum.add(this.#departed, null, own)
    for (const one of said) {
      const key = workerNameOf(one.worker)
      const name = newest.has(key) ? String(one.worker.slot) : key
      // One that has left meanwhile is among those that are gone.
      if (!this.#workers.has(one.worker)) continue
      if ('value' in one && !this.#finished.has(key)) this.#last.set(key, one.value)
      const last = this.#last.get(key)
      if (last !== undefined) sum.add(last, 'value' in one ? name : null, own)
    }
    return sum
  }
}

async function fetchStatsPage({ stats }: WorkerEndpoints): Promise<StatsPage> {
  const page = new StatsPage()
  const decoder = new StringDecoder()
  const status = await streamFromWorker(stats, { path: '/metrics' }, (part) =>
    page.read(decoder.write(part)),
  )
  if (status !== 200) throw new Error(`statistics answered ${status}`)
  return page
}

// Statistics of several processes as one page: lines that are alike in all but their value are added up, so that buckets of
// histograms are, too.

/** Of one page: our own bounds on series are far below. Lines above it are left out. */
const MAX_LINES = 200_000

/** Of a process and not of the traffic: they say which process. */
const PER_PROCESS_NAMES = /^(?:process|nodejs)_/

/** The same for all: one is enough. */
const SINGLE_NAMES = /_build_info$/

interface StatsFamily {
  /** The lines above it: what it is. */
  readonly head: string
  readonly kind: string
  /** By the name with its labels. */
  readonly values: Map<string, number>
}

class StatsPage {
  readonly families = new Map<string, StatsFamily>()
  #help = ''
  #family: StatsFamily | null = null
  #rest = ''
  #lines = 0

  /** A page that is whole. */
  static parse(text: string): StatsPage {
    const page = new StatsPage()
    page.read(text)
    return page
  }

  /** More of its text, as it comes. */
  read(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#line(line)
  }

  /**
   * Adds what another one has, but for what `known` tells of all. `worker` is whose it is; null for one whose process is
   * gone.
   */
  add({ families }: StatsPage, worker: string | null, known?: StatsPage): void {
    for (const [name, { head, kind, values }] of families) {
      const isOfProcess = PER_PROCESS_NAMES.test(name)
      if (!isOfProcess && known?.families.has(name) === true) continue
      // What is just so many now is nothing of one that is gone.
      if (worker === null && (isOfProcess || kind === 'gauge')) continue
      const own = this.#of(name, head, kind)
      for (const [key, value] of values) {
        const at = isOfProcess ? addWorkerLabel(key, worker ?? '') : key
        if (this.#lines >= MAX_LINES && !own.values.has(at)) continue
        if (!own.values.has(at)) this.#lines++
        own.values.set(at, SINGLE_NAMES.test(name) ? value : (own.values.get(at) ?? 0) + value)
      }
    }
  }

  /** Its text, part by part. */
  *parts(): Generator<string, undefined> {
    let text = ''
    for (const { head, values } of this.families.values()) {
      if (values.size > 0) text += head
      for (const [key, value] of values) {
        text += `${key} ${value}\n`
        if (text.length < METRICS_PART_LENGTH) continue
        yield text
        text = ''
      }
    }
    if (text !== '') yield text
    return undefined
  }

  #line(line: string): void {
    if (line.startsWith('# HELP ')) {
      this.#help = line
      return
    }
    if (line.startsWith('# TYPE ')) {
      const [, , name = '', kind = ''] = line.split(' ')
      this.#family = this.#of(name, `${this.#help}\n${line}\n`, kind)
      return
    }
    const at = line.lastIndexOf(' ')
    if (at <= 0 || this.#family === null || this.#lines >= MAX_LINES) return
    this.#lines++
    this.#family.values.set(line.slice(0, at), Number(line.slice(at + 1)))
  }

  #of(name: string, head: string, kind: string): StatsFamily {
    let family = this.families.get(name)
    if (family === undefined) this.families.set(name, (family = { head, kind, values: new Map() }))
    return family
  }
}

function addWorkerLabel(key: string, worker: string): string {
  const label = `worker="${worker}"`
  return key.endsWith('}') ? `${key.slice(0, -1)},${label}}` : `${key}{${label}}`
}
