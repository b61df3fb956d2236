// /metrics of all workers. Sums never go down: for a worker that has ended or does not answer, its last page counts.

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
  /** The last page of each worker. */
  readonly #last = new Map<string, StatsPage>()
  /** Workers whose last page was read. */
  readonly #finished = new Set<string>()
  readonly #departed = new StatsPage()
  #inProgress: Promise<StatsPage> | null = null

  /** `own` are families that only the supervisor reports; `shared` are added to those of the workers. */
  constructor(workers: WorkerSet, own: () => string, shared: () => string) {
    this.#workers = workers
    this.#own = own
    this.#shared = shared
  }

  /** Concurrent calls share one result. */
  page(): Promise<StatsPage> {
    this.#inProgress ??= this.#gather().finally(() => (this.#inProgress = null))
    return this.#inProgress
  }

  /** Reads the last page of a worker; it also counts in a `page()` that is in progress. */
  async collectLast(id: WorkerId): Promise<void> {
    const worker = this.#workers.find(id)
    const page = worker === undefined ? null : await fetchStatsPage(worker).catch(() => null)
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
    const results = await this.#workers.all(fetchStatsPage)
    const newest = new Set(this.#workers.newestPerSlot.map(workerNameOf))
    const sum = new StatsPage()
    const own = StatsPage.parse(this.#own())
    sum.add(own, 'supervisor')
    sum.add(StatsPage.parse(this.#shared()), 'supervisor')
    sum.add(this.#departed, null, own)
    for (const result of results) {
      const key = workerNameOf(result.worker)
      const name = newest.has(key) ? String(result.worker.slot) : key
      // A worker that has ended meanwhile is part of `#departed`.
      if (!this.#workers.has(result.worker)) continue
      if ('value' in result && !this.#finished.has(key)) this.#last.set(key, result.value)
      const last = this.#last.get(key)
      if (last !== undefined) sum.add(last, 'value' in result ? name : null, own)
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

/** Lines of one page, far above our own bounds on series; further lines are dropped. */
const MAX_LINES = 200_000

/** Families of a process, not of the traffic: they get a label that names the process. */
const PER_PROCESS_NAMES = /^(?:process|nodejs)_/

/** Families with the same value in every process: one is enough. */
const SINGLE_NAMES = /_build_info$/

interface StatsFamily {
  /** The HELP and TYPE lines. */
  readonly head: string
  readonly kind: string
  /** By name and labels. */
  readonly values: Map<string, number>
}

/** Metrics of several processes as one page: values of the same name and labels are added, also histogram buckets. */
class StatsPage {
  readonly families = new Map<string, StatsFamily>()
  #help = ''
  #family: StatsFamily | null = null
  #rest = ''
  #lines = 0

  /** Parses a complete page. */
  static parse(text: string): StatsPage {
    const page = new StatsPage()
    page.read(text)
    return page
  }

  /** Reads the next part of the text. */
  read(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#line(line)
  }

  /** Adds another page without the families of `known`. `worker` names its process; null for a process that has ended. */
  add({ families }: StatsPage, worker: string | null, known?: StatsPage): void {
    for (const [name, { head, kind, values }] of families) {
      const isOfProcess = PER_PROCESS_NAMES.test(name)
      if (!isOfProcess && known?.families.has(name) === true) continue
      // A gauge of an ended process is zero.
      if (worker === null && (isOfProcess || kind === 'gauge')) continue
      const own = this.#familyOf(name, head, kind)
      for (const [key, value] of values) {
        const at = isOfProcess ? addWorkerLabel(key, worker ?? '') : key
        if (this.#lines >= MAX_LINES && !own.values.has(at)) continue
        if (!own.values.has(at)) this.#lines++
        own.values.set(at, SINGLE_NAMES.test(name) ? value : (own.values.get(at) ?? 0) + value)
      }
    }
  }

  /** The text in parts. */
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
      this.#family = this.#familyOf(name, `${this.#help}\n${line}\n`, kind)
      return
    }
    const at = line.lastIndexOf(' ')
    if (at <= 0 || this.#family === null || this.#lines >= MAX_LINES) return
    this.#lines++
    this.#family.values.set(line.slice(0, at), Number(line.slice(at + 1)))
  }

  #familyOf(name: string, head: string, kind: string): StatsFamily {
    let family = this.families.get(name)
    if (family === undefined) this.families.set(name, (family = { head, kind, values: new Map() }))
    return family
  }
}

function addWorkerLabel(key: string, worker: string): string {
  const label = `worker="${worker}"`
  return key.endsWith('}') ? `${key.slice(0, -1)},${label}}` : `${key}{${label}}`
}
