// What stands beside the traffic of several workers: the same interfaces on the same addresses as with one process, asked
// of all of them.

import { configDump } from '../admin/config-dump.ts'
import type { DumpSource } from '../admin/config-dump.ts'
import { loggingEndpoints } from '../admin/logging.ts'
import { metricsText, pagedEndpoints } from '../admin/metrics.ts'
import { pageEndpoints, quitEndpoints } from '../admin/pages.ts'
import { Profilers } from '../admin/pprof/profiler.ts'
import { readinessEndpoints } from '../admin/readiness.ts'
import type { Readiness } from '../admin/readiness.ts'
import { AdminServer, answerJson, connectionsFor } from '../admin/server.ts'
import { ADMIN, AdminServers, READINESS, STATS } from '../admin/servers.ts'
import { traceEndpoints } from '../admin/trace.ts'
import type { Refusals } from '../base/bounds/refusals.ts'
import { addressesOf } from '../base/config/check/process.ts'
import type { Refusal } from '../base/config/error.ts'
import { filterText } from '../base/config/log-filter.ts'
import type { Config } from '../base/config/types.ts'
import type { Endpoints, Fallback } from '../base/endpoints.ts'
import { messageOf, stackOf } from '../base/errors.ts'
import { every } from '../base/every.ts'
import type { Every } from '../base/every.ts'
import type { Log } from '../base/log/log.ts'
import type { Sockets } from '../base/processes/sockets.ts'
import { bucketFamilies, counter, gauge, processFamilies, refusedFamily } from '../measures.ts'
import type { Place } from '../ui/api.ts'
import type { InForce } from '../ui/gateway-facts.ts'
import { mcpPlaces } from '../ui/mcp-places.ts'
import { uiOverHttp } from '../ui/over-http.ts'
import { playground } from '../ui/playground/endpoints.ts'
import type { Playground } from '../ui/playground/endpoints.ts'
import { QUIET_BEATS, ReadApi } from '../ui/read-api.ts'
import { UiService } from '../ui/service.ts'
import type { WorkerDoor, WorkerId } from '../workers/types.ts'
import { askAt } from './ask.ts'
import { Crew } from './crew.ts'
import { eachProcessEndpoints } from './each-process.ts'
import { FrontFacts } from './facts.ts'
import { FrontMetrics } from './metrics.ts'
import { frontProfiles } from './profiles.ts'
import { FrontTrace } from './trace.ts'
import type { Part } from './worker-facts.ts'
import type { BucketCounts } from '../base/live/views.ts'

export interface FrontOptions {
  /** As at the start. */
  readonly config: Config
  readonly env: Readonly<Record<string, string | undefined>>
  /** Of this process. */
  readonly log: Log
  readonly sockets?: Sockets
  /** How many workers there are to be. */
  readonly wanted: () => number
  /** What the workers run. */
  readonly inForce: () => InForce
  /** Of the last attempt to load another configuration; null when it was taken. */
  readonly refusal: () => Refusal | null
  readonly readiness: () => Readiness
  /** Workers that died and were replaced. */
  readonly restarts: () => number
  /** Of the owner of limits. */
  readonly limitCounts: () => BucketCounts
  /** What this process itself had no room for. */
  readonly refusals: Refusals
  /** Begins a graceful shutdown of all. */
  readonly quit: () => void
  /** The private socket on which workers ask for the page, when one of theirs shows it. */
  readonly pages: { readonly path: string; readonly sockets: Sockets }
}

const PAGES = { name: 'the page of workers', setting: 'config.workers' }

/** What has to be asked for before each part of the page can be told. */
const NEEDS: Readonly<Record<string, readonly Part[]>> = {
  '/api/runtime': ['pulse', 'traffic'],
  '/api/map': ['pulse', 'traffic'],
  '/api/limits': ['limits'],
  '/api/logs': ['logs'],
  '/api/mcp': ['mcp'],
}

export class Front {
  readonly #options: FrontOptions
  readonly #addresses: DumpSource['addresses']
  readonly #servers: AdminServers
  readonly #pages: AdminServer
  readonly #crew = new Crew()
  readonly #trace: FrontTrace
  readonly #facts: FrontFacts
  readonly #metrics: FrontMetrics
  readonly #readApi: ReadApi
  readonly #ui: UiService
  readonly #playground: Playground
  readonly #every: Every
  /** Beats since the workers were last asked for samples. */
  #quiet = 0

  /** Throws for an address of the environment that is none. */
  constructor(options: FrontOptions, timer: Every = every) {
    const { config, env, log, wanted, inForce, readiness, refusal } = options
    this.#options = options
    this.#every = timer
    this.#addresses = addressesOf(config.process, env)
    this.#servers = new AdminServers(log, options.sockets, 'info', options.refusals)
    this.#trace = new FrontTrace(this.#crew, config.process.maxWatchers, options.refusals)
    const { watch } = this.#trace
    this.#facts = new FrontFacts(this.#crew, { log, inForce, readiness, watch })
    const refused = (): string => metricsText([refusedFamily(options.refusals.counts)])
    this.#metrics = new FrontMetrics(this.#crew, () => this.#ownPage(), refused)
    this.#readApi = new ReadApi(this.#facts, (ms, act) => this.#beatEvery(ms, act))
    this.#ui = new UiService(this.#readApi, config.process, options.refusals)
    const pages = { ...PAGES, connections: connectionsFor(config.process) }
    this.#pages = new AdminServer({}, () => {}, pages, this.#page('listener'))
    this.#playground = playground(() => mcpPlaces(inForce().config), Object.values(this.#addresses))
    this.#readApi.start({
      addresses: this.#addresses,
      refusal,
      workers: () => ({ wanted: wanted(), running: this.#running }),
    })
  }

  /** Throws when an address that somebody wrote cannot be had. */
  async open(): Promise<void> {
    const { admin, stats, readiness } = this.#addresses
    const { pages } = this.#options
    await this.#pages.listen({ kind: 'unix', path: pages.path }, pages.sockets)
    if (admin.kind !== 'off') {
      const profiles = new Profilers()
      if (process.platform === 'linux') await profiles.watchHeap()
      const place = { ...ADMIN, connections: connectionsFor(this.#options.config.process) }
      await this.#servers.serve(place, admin, this.#endpoints(profiles), this.#page('admin'))
    }
    const page = pagedEndpoints(async () => (await this.#metrics.page()).parts())
    await this.#servers.tryServe(STATS, stats, page)
    const ready = readinessEndpoints(this.#options.readiness)
    await this.#servers.tryServe(READINESS, readiness, ready)
  }

  /** A worker can be asked from now on. */
  joined(door: WorkerDoor): void {
    this.#crew.add(door)
    this.#trace.joined(door)
    void this.#catchUp(door)
  }

  /** It has stopped, and will be gone: resolves when what it counted is known, or cannot be. */
  async hearLast(id: WorkerId): Promise<void> {
    await Promise.all([this.#metrics.hearLast(id), this.#facts.hearLast(id)])
  }

  /** It is gone. */
  left(id: WorkerId): void {
    this.#crew.delete(id)
    this.#metrics.left(id)
    this.#facts.left(id)
  }

  /** The files of unix sockets go with it. */
  close(): void {
    this.#servers.close()
    this.#pages.close()
    this.#playground.close()
    this.#readApi.stop()
  }

  #endpoints(profiles: Profilers): Endpoints {
    const { log, quit } = this.#options
    const endpoints: Endpoints = {
      '/config_dump': {
        GET: async (_request, response) => answerJson(response, configDump(await this.#dump())),
      },
      ...traceEndpoints(this.#trace.watch),
      ...loggingEndpoints(log, (level) => this.#tellLevel(level)),
      ...eachProcessEndpoints(this.#crew),
      ...frontProfiles(this.#crew, profiles, process.platform),
      ...quitEndpoints(quit),
    }
    return { ...endpoints, ...pageEndpoints(endpoints), ...this.#playground.endpoints }
  }

  async #dump(): Promise<DumpSource> {
    const { inForce, refusal } = this.#options
    await this.#facts.refresh('dump')
    return {
      ...inForce(),
      ...this.#facts.dumped,
      addresses: this.#addresses,
      refusal: refusal(),
    }
  }

  /** Whoever is asked knows what the workers said just now. */
  #page(place: Place): Fallback {
    const { log } = this.#options
    const troubled = (error: unknown): void =>
      log.line('error', 'admin', 'internal error', ['cause', stackOf(error)])
    const tell = uiOverHttp(this.#ui, troubled, place)
    return (request, response, url) => {
      // A reload may have opened the page where nobody could look before.
      this.#readApi.follow()
      const needs = NEEDS[url.pathname]
      if (needs === undefined) return tell(request, response, url)
      void this.#facts.refresh(...needs).then(() => tell(request, response, url))
      return true
    }
  }

  /** The page's server is asked for a sample every second; what it is made of has to be had first. */
  #beatEvery(ms: number, act: () => void): () => void {
    let state: 'idle' | 'asking' | 'over' = 'idle'
    const callOff = this.#every(ms, () => {
      if (state !== 'idle') return
      state = 'asking'
      void this.#facts.refresh(...this.#wanted()).then(() => {
        if (state === 'over') return
        state = 'idle'
        act()
      })
    })
    return () => {
      state = 'over'
      callOff()
    }
  }

  /** As seldom as in one process while nobody looks; enough that little is lost with a worker that dies. */
  #wanted(): Part[] {
    const api = this.#readApi
    this.#quiet++
    const isDue = this.#quiet >= QUIET_BEATS
    const parts: Part[] = []
    if (isDue || api.isWanted('runtime')) {
      this.#quiet = 0
      parts.push('pulse')
    }
    if (isDue) parts.push('traffic')
    if (isDue || api.isWanted('limits')) parts.push('limits')
    if (isDue || api.isWanted('logs')) parts.push('logs')
    if (api.isWanted('mcp')) parts.push('mcp')
    return parts
  }

  /** Who could not be told. */
  async #tellLevel(level: string): Promise<string[]> {
    const said = await this.#crew.all((door) => setLevel(door, level))
    return said.flatMap((one) =>
      'problem' in one ? [`worker ${one.door.slot} could not be told: ${one.problem}`] : [],
    )
  }

  /** A worker begins with what the configuration says. */
  async #catchUp(door: WorkerDoor): Promise<void> {
    const { log } = this.#options
    if (log.filter === log.firstFilter) return
    try {
      await setLevel(door, filterText(log.filter))
    } catch (error) {
      const reason = messageOf(error)
      const fields = ['worker', door.slot, 'error', reason]
      log.line('warn', 'admin', 'a worker could not be told the log level', fields)
    }
  }

  /** Without those of slots that a restart has given up, and that finish what they have. */
  get #running(): number {
    const wanted = this.#options.wanted()
    return this.#crew.newest.filter(({ slot }) => slot <= wanted).length
  }

  #ownPage(): string {
    const { wanted, restarts, limitCounts } = this.#options
    return metricsText([
      gauge('workers', 'Worker processes', [
        [{ state: 'wanted' }, wanted()],
        [{ state: 'running' }, this.#running],
      ]),
      counter('worker_restarts_total', 'Workers that died and were replaced', [[{}, restarts()]]),
      gauge('trace_watchers', 'Who waits to see a request', [[{}, this.#trace.count]]),
      ...bucketFamilies(limitCounts()),
      ...processFamilies(),
    ])
  }
}

async function setLevel({ admin }: WorkerDoor, level: string): Promise<void> {
  const path = `/logging?reset&level=${encodeURIComponent(level)}`
  const { status } = await askAt(admin, { method: 'POST', path })
  if (status !== 200) throw new Error(`answered ${status}`)
}
