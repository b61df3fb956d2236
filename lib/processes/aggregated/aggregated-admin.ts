// What stands beside the traffic of several workers: the same interfaces on the same addresses as with one process, asked
// of all of them.

import {
  createIndexEndpoints,
  createQuitEndpoints,
  createReadinessEndpoints,
  createTraceEndpoints,
  describeProcessMemory,
} from '../../admin/admin-endpoints.ts'
import type { Readiness } from '../../admin/admin-endpoints.ts'
import { AdminServer, maxConnectionsFor, sendJson } from '../../admin/admin-server.ts'
import { buildConfigDump } from '../../admin/config-dump.ts'
import type { ConfigDumpSource } from '../../admin/config-dump.ts'
import { countResources } from '../../admin/debug-tasks.ts'
import type { EndpointHandler, EndpointTable, FallbackHandler } from '../../admin/endpoint-types.ts'
import { createLoggingEndpoints } from '../../admin/logging-endpoint.ts'
import {
  bucketFamilies,
  counterFamily,
  gaugeFamily,
  processFamilies,
  refusedFamily,
} from '../../admin/metric-sources.ts'
import {
  ADMIN_INTERFACE,
  AdminServerSet,
  READINESS_INTERFACE,
  STATS_INTERFACE,
} from '../../admin/open-servers.ts'
import type { ConfigInForce } from '../../admin/page-api/gateway-facts.ts'
import { listMcpLocations } from '../../admin/page-api/mcp-locations.ts'
import type { UiPlace } from '../../admin/page-api/page-api-types.ts'
import { createUiFallback, UiService } from '../../admin/page-api/page-service.ts'
import { ReadApi, TICKS_PER_QUIET_SAMPLE } from '../../admin/page-api/read-api.ts'
import { playground } from '../../admin/playground/playground-endpoints.ts'
import type { Playground } from '../../admin/playground/playground-endpoints.ts'
import { V8Profilers } from '../../admin/pprof/profiler.ts'
import { createPagedEndpoints, formatMetrics } from '../../admin/prometheus-text.ts'
import { resolveAddresses } from '../../config/check/check-process.ts'
import type { ConfigRefusal } from '../../config/config-error.ts'
import type { Config } from '../../config/config-types.ts'
import { errorMessageOf, errorStackOf } from '../../core/errors.ts'
import type { ListeningSockets } from '../../core/listening-sockets.ts'
import { formatLogFilter } from '../../core/log-filter.ts'
import type { Log } from '../../core/log.ts'
import type { RefusalCounter } from '../../core/refusal-counter.ts'
import type { BucketCounts } from '../../core/runtime-views.ts'
import { startInterval } from '../../core/scheduling.ts'
import type { StartInterval } from '../../core/scheduling.ts'
import { parseJsonObject } from '../../text/json-edit.ts'
import type { WorkerEndpoints, WorkerId } from '../worker-messages.ts'
import { AggregatedFacts } from './aggregated-facts.ts'
import { AggregatedMetrics } from './aggregated-metrics.ts'
import { createAggregatedProfileEndpoints } from './aggregated-profiles.ts'
import { AggregatedTrace } from './aggregated-trace.ts'
import { requestWorker, WorkerSet } from './ask-workers.ts'
import type { FactsPart } from './worker-facts.ts'

export interface AggregatedAdminOptions {
  /** As at the start. */
  readonly config: Config
  readonly env: Readonly<Record<string, string | undefined>>
  /** Of this process. */
  readonly log: Log
  readonly sockets?: ListeningSockets
  /** How many workers there are to be. */
  readonly wanted: () => number
  /** What the workers run. */
  readonly inForce: () => ConfigInForce
  /** Of the last attempt to load another configuration; null when it was taken. */
  readonly refusal: () => ConfigRefusal | null
  readonly readiness: () => Readiness
  /** Workers that died and were replaced. */
  readonly restarts: () => number
  /** Of the owner of limits. */
  readonly limitCounts: () => BucketCounts
  /** What this process itself had no room for. */
  readonly refusals: RefusalCounter
  /** Begins a graceful shutdown of all. */
  readonly quit: () => void
  /** The private socket on which workers ask for the page, when one of theirs shows it. */
  readonly pages: { readonly path: string; readonly sockets: ListeningSockets }
}

const PAGE_SOCKET_INTERFACE = { name: 'the page of workers', setting: 'config.workers' }

/** What has to be asked for before each part of the page can be told. */
const FACTS_BY_PATH: Readonly<Record<string, readonly FactsPart[]>> = {
  '/api/runtime': ['pulse', 'traffic'],
  '/api/map': ['pulse', 'traffic'],
  '/api/limits': ['limits'],
  '/api/logs': ['logs'],
  '/api/mcp': ['mcp'],
}

export class AggregatedAdmin {
  readonly #options: AggregatedAdminOptions
  readonly #addresses: ConfigDumpSource['addresses']
  readonly #servers: AdminServerSet
  readonly #pages: AdminServer
  readonly #workers = new WorkerSet()
  readonly #trace: AggregatedTrace
  readonly #facts: AggregatedFacts
  readonly #metrics: AggregatedMetrics
  readonly #readApi: ReadApi
  readonly #ui: UiService
  readonly #playground: Playground
  readonly #every: StartInterval
  /** Beats since the workers were last asked for samples. */
  #quietTicks = 0

  /** Throws for an address of the environment that is none. */
  constructor(options: AggregatedAdminOptions, timer: StartInterval = startInterval) {
    const { config, env, log, wanted, inForce, readiness, refusal } = options
    this.#options = options
    this.#every = timer
    this.#addresses = resolveAddresses(config.process, env)
    this.#servers = new AdminServerSet(log, options.sockets, 'info', options.refusals)
    this.#trace = new AggregatedTrace(this.#workers, config.process.maxWatchers, options.refusals)
    const { watch } = this.#trace
    this.#facts = new AggregatedFacts(this.#workers, { log, inForce, readiness, watch })
    const refused = (): string => formatMetrics([refusedFamily(options.refusals.counts)])
    this.#metrics = new AggregatedMetrics(this.#workers, () => this.#ownMetrics(), refused)
    this.#readApi = new ReadApi(this.#facts, (ms, act) => this.#tickEvery(ms, act))
    this.#ui = new UiService(this.#readApi, config.process, options.refusals)
    const pages = { ...PAGE_SOCKET_INTERFACE, connections: maxConnectionsFor(config.process) }
    this.#pages = new AdminServer({}, () => {}, pages, this.#page('listener'))
    this.#playground = playground(
      () => listMcpLocations(inForce().config),
      Object.values(this.#addresses),
    )
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
      const profiles = new V8Profilers()
      if (process.platform === 'linux') await profiles.startHeapSampling()
      const place = {
        ...ADMIN_INTERFACE,
        connections: maxConnectionsFor(this.#options.config.process),
      }
      await this.#servers.serve(place, admin, this.#endpoints(profiles), this.#page('admin'))
    }
    const page = createPagedEndpoints(async () => (await this.#metrics.page()).parts())
    await this.#servers.tryServe(STATS_INTERFACE, stats, page)
    const ready = createReadinessEndpoints(this.#options.readiness)
    await this.#servers.tryServe(READINESS_INTERFACE, readiness, ready)
  }

  /** A worker can be asked from now on. */
  workerReady(door: WorkerEndpoints): void {
    this.#workers.add(door)
    this.#trace.workerReady(door)
    void this.#sendCurrentLevel(door)
  }

  /** It has stopped, and will be gone: resolves when what it counted is known, or cannot be. */
  async collectLast(id: WorkerId): Promise<void> {
    await Promise.all([this.#metrics.collectLast(id), this.#facts.collectLast(id)])
  }

  /** It is gone. */
  workerLeft(id: WorkerId): void {
    this.#workers.delete(id)
    this.#metrics.workerLeft(id)
    this.#facts.workerLeft(id)
  }

  /** The files of unix sockets go with it. */
  close(): void {
    this.#servers.close()
    this.#pages.close()
    this.#playground.close()
    this.#readApi.stop()
  }

  #endpoints(profiles: V8Profilers): EndpointTable {
    const { log, quit } = this.#options
    const endpoints: EndpointTable = {
      '/config_dump': {
        GET: async (_request, response) => sendJson(response, buildConfigDump(await this.#dump())),
      },
      ...createTraceEndpoints(this.#trace.watch),
      ...createLoggingEndpoints(log, (level) => this.#broadcastLevel(level)),
      ...createPerProcessEndpoints(this.#workers),
      ...createAggregatedProfileEndpoints(this.#workers, profiles, process.platform),
      ...createQuitEndpoints(quit),
    }
    return { ...endpoints, ...createIndexEndpoints(endpoints), ...this.#playground.endpoints }
  }

  async #dump(): Promise<ConfigDumpSource> {
    const { inForce, refusal } = this.#options
    await this.#facts.refresh('dump')
    return {
      ...inForce(),
      ...this.#facts.dumpFacts,
      addresses: this.#addresses,
      refusal: refusal(),
    }
  }

  /** Whoever is asked knows what the workers said just now. */
  #page(place: UiPlace): FallbackHandler {
    const { log } = this.#options
    const troubled = (error: unknown): void =>
      log.write('error', 'admin', 'internal error', ['cause', errorStackOf(error)])
    const tell = createUiFallback(this.#ui, troubled, place)
    return (request, response, url) => {
      // A reload may have opened the page where nobody could look before.
      this.#readApi.applyConfig()
      const needs = FACTS_BY_PATH[url.pathname]
      if (needs === undefined) return tell(request, response, url)
      void this.#facts.refresh(...needs).then(() => tell(request, response, url))
      return true
    }
  }

  /** The page's server is asked for a sample every second; what it is made of has to be had first. */
  #tickEvery(ms: number, act: () => void): () => void {
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
  #wanted(): FactsPart[] {
    const api = this.#readApi
    this.#quietTicks++
    const isDue = this.#quietTicks >= TICKS_PER_QUIET_SAMPLE
    const parts: FactsPart[] = []
    if (isDue || api.hasReaders('runtime')) {
      this.#quietTicks = 0
      parts.push('pulse')
    }
    if (isDue) parts.push('traffic')
    if (isDue || api.hasReaders('limits')) parts.push('limits')
    if (isDue || api.hasReaders('logs')) parts.push('logs')
    if (api.hasReaders('mcp')) parts.push('mcp')
    return parts
  }

  /** Who could not be told. */
  async #broadcastLevel(level: string): Promise<string[]> {
    const said = await this.#workers.all((door) => setWorkerLogLevel(door, level))
    return said.flatMap((one) =>
      'problem' in one ? [`worker ${one.door.slot} could not be told: ${one.problem}`] : [],
    )
  }

  /** A worker begins with what the configuration says. */
  async #sendCurrentLevel(door: WorkerEndpoints): Promise<void> {
    const { log } = this.#options
    if (log.filter === log.initialFilter) return
    try {
      await setWorkerLogLevel(door, formatLogFilter(log.filter))
    } catch (error) {
      const reason = errorMessageOf(error)
      const fields = ['worker', door.slot, 'error', reason]
      log.write('warn', 'admin', 'a worker could not be told the log level', fields)
    }
  }

  /** Without those of slots that a restart has given up, and that finish what they have. */
  get #running(): number {
    const wanted = this.#options.wanted()
    return this.#workers.newestPerSlot.filter(({ slot }) => slot <= wanted).length
  }

  #ownMetrics(): string {
    const { wanted, restarts, limitCounts } = this.#options
    return formatMetrics([
      gaugeFamily('workers', 'Worker processes', [
        [{ state: 'wanted' }, wanted()],
        [{ state: 'running' }, this.#running],
      ]),
      counterFamily('worker_restarts_total', 'Workers that died and were replaced', [
        [{}, restarts()],
      ]),
      gaugeFamily('trace_watchers', 'Who waits to see a request', [[{}, this.#trace.count]]),
      ...bucketFamilies(limitCounts()),
      ...processFamilies(),
    ])
  }
}

async function setWorkerLogLevel({ admin }: WorkerEndpoints, level: string): Promise<void> {
  const path = `/logging?reset&level=${encodeURIComponent(level)}`
  const { status } = await requestWorker(admin, { method: 'POST', path })
  if (status !== 200) throw new Error(`answered ${status}`)
}

// /memory and /debug/tasks of this process and of every worker, in one answer: one entry for each process.

function createPerProcessEndpoints(crew: WorkerSet): EndpointTable {
  return {
    '/memory': { GET: createPerProcessHandler(crew, '/memory', describeProcessMemory) },
    '/debug/tasks': {
      GET: createPerProcessHandler(crew, '/debug/tasks', () => ({ resources: countResources() })),
    },
  }
}

function createPerProcessHandler(
  crew: WorkerSet,
  path: string,
  own: () => object,
): EndpointHandler {
  return async (_request, response) => {
    const said = await crew.all(async ({ admin }) => {
      const { status, body } = await requestWorker(admin, { path })
      const told = status === 200 ? parseJsonObject(body.toString()) : null
      if (told === null) throw new Error(`answered ${status}`)
      return told
    })
    sendJson(response, {
      captured_at_unix_ms: Date.now(),
      supervisor: { pid: process.pid, ...own() },
      workers: said.map((one) => {
        const { slot, pid } = one.door
        if ('problem' in one) return { worker: slot, pid, error: one.problem }
        const { captured_at_unix_ms: _at, ...told } = one.value
        return { worker: slot, pid, ...told }
      }),
    })
  }
}
