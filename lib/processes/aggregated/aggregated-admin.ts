// The operator interfaces of a gateway with several workers: the same endpoints on the same addresses as with one process,
// answered from data of all workers.

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
  policyFamily,
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
import type { UiInterface } from '../../admin/page-api/page-api-types.ts'
import { createUiFallback, UiService } from '../../admin/page-api/page-service.ts'
import { ReadApi, TICKS_PER_QUIET_SAMPLE } from '../../admin/page-api/read-api.ts'
import { createPlayground } from '../../admin/playground/playground-endpoints.ts'
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
  /** The configuration at the start. */
  readonly config: Config
  readonly env: Readonly<Record<string, string | undefined>>
  /** The log of the supervisor. */
  readonly log: Log
  readonly sockets?: ListeningSockets
  /** The configured number of workers. */
  readonly wanted: () => number
  /** The configuration that the workers run. */
  readonly inForce: () => ConfigInForce
  /** Why the last reload was refused; null when it was accepted. */
  readonly refusal: () => ConfigRefusal | null
  readonly readiness: () => Readiness
  /** Workers that died and were replaced. */
  readonly restarts: () => number
  /** Bucket counts of the limit owner. */
  readonly limitCounts: () => BucketCounts
  /** Refusals of the supervisor itself. */
  readonly refusals: RefusalCounter
  /** Begins a graceful shutdown of the gateway. */
  readonly quit: () => void
  /** The private socket on which workers fetch the page when one of their listeners shows it. */
  readonly pages: { readonly path: string; readonly sockets: ListeningSockets }
}

const PAGE_SOCKET_INTERFACE = { name: 'the page for workers', setting: 'config.workers' }

/** The facts that workers are asked for before the page API answers a path. */
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
  readonly #startInterval: StartInterval
  /** Ticks since the workers were last asked for samples. */
  #quietTicks = 0

  /** Throws when an address in the environment is invalid. */
  constructor(options: AggregatedAdminOptions, timer: StartInterval = startInterval) {
    const { config, env, log, wanted, inForce, readiness, refusal } = options
    this.#options = options
    this.#startInterval = timer
    this.#addresses = resolveAddresses(config.process, env)
    this.#servers = new AdminServerSet(log, options.sockets, 'info', options.refusals)
    this.#trace = new AggregatedTrace(this.#workers, config.process.maxWatchers, options.refusals)
    const { watch } = this.#trace
    this.#facts = new AggregatedFacts(this.#workers, { log, inForce, readiness, watch })
    const ownRefusals = (): string => formatMetrics([refusedFamily(options.refusals.counts)])
    this.#metrics = new AggregatedMetrics(this.#workers, () => this.#ownMetrics(), ownRefusals)
    this.#readApi = new ReadApi(this.#facts, (ms, act) => this.#tickEvery(ms, act))
    this.#ui = new UiService(this.#readApi, config.process, options.refusals)
    const pages = { ...PAGE_SOCKET_INTERFACE, connections: maxConnectionsFor(config.process) }
    this.#pages = new AdminServer({}, () => {}, pages, this.#page('listener'))
    this.#playground = createPlayground(
      () => listMcpLocations(inForce().config),
      Object.values(this.#addresses),
    )
    this.#readApi.start({
      addresses: this.#addresses,
      refusal,
      workers: () => ({ wanted: wanted(), running: this.#running }),
    })
  }

  /** Throws when a configured address cannot be opened. */
  async open(): Promise<void> {
    const { admin, stats, readiness } = this.#addresses
    const { pages } = this.#options
    await this.#pages.listen({ kind: 'unix', path: pages.path }, pages.sockets)
    if (admin.kind !== 'off') {
      const profiles = new V8Profilers()
      if (process.platform === 'linux') await profiles.startHeapSampling()
      const settings = {
        ...ADMIN_INTERFACE,
        connections: maxConnectionsFor(this.#options.config.process),
      }
      await this.#servers.serve(settings, admin, this.#endpoints(profiles), this.#page('admin'))
    }
    const page = createPagedEndpoints(async () => (await this.#metrics.page()).parts())
    await this.#servers.tryServe(STATS_INTERFACE, stats, page)
    const ready = createReadinessEndpoints(this.#options.readiness)
    await this.#servers.tryServe(READINESS_INTERFACE, readiness, ready)
  }

  /** Called when a worker can be asked. */
  workerReady(worker: WorkerEndpoints): void {
    this.#workers.add(worker)
    this.#trace.workerReady(worker)
    void this.#sendCurrentLevel(worker)
  }

  /** Called when a worker has stopped: resolves when its last counts are read, or cannot be. */
  async collectLast(id: WorkerId): Promise<void> {
    await Promise.all([this.#metrics.collectLast(id), this.#facts.collectLast(id)])
  }

  /** Called when a worker has ended. */
  workerLeft(id: WorkerId): void {
    this.#workers.delete(id)
    this.#metrics.workerLeft(id)
    this.#facts.workerLeft(id)
  }

  /** Also removes the files of unix sockets. */
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

  /** Refreshes the facts of the workers before the page API answers. */
  #page(place: UiInterface): FallbackHandler {
    const { log } = this.#options
    const reportError = (error: unknown): void =>
      log.write('error', 'admin', 'internal error', ['cause', errorStackOf(error)])
    const answer = createUiFallback(this.#ui, reportError, place)
    return (request, response, url) => {
      // A reload may have enabled the page on a listener.
      this.#readApi.applyConfig()
      const needs = FACTS_BY_PATH[url.pathname]
      if (needs === undefined) return answer(request, response, url)
      void this.#facts.refresh(...needs).then(() => answer(request, response, url))
      return true
    }
  }

  /** The timer of the read API: each tick refreshes the facts of the workers before it takes a sample. */
  #tickEvery(ms: number, act: () => void): () => void {
    let state: 'idle' | 'asking' | 'stopped' = 'idle'
    const stop = this.#startInterval(ms, () => {
      if (state !== 'idle') return
      state = 'asking'
      void this.#facts.refresh(...this.#partsForTick()).then(() => {
        if (state === 'stopped') return
        state = 'idle'
        act()
      })
    })
    return () => {
      state = 'stopped'
      stop()
    }
  }

  /** Without readers as seldom as in one process, yet often enough that a dying worker loses few counts. */
  #partsForTick(): FactsPart[] {
    const api = this.#readApi
    this.#quietTicks++
    const isDue = this.#quietTicks >= TICKS_PER_QUIET_SAMPLE
    const parts: FactsPart[] = []
    if (isDue || api.hasStreams('runtime')) {
      this.#quietTicks = 0
      parts.push('pulse')
    }
    if (isDue) parts.push('traffic')
    if (isDue || api.hasStreams('limits')) parts.push('limits')
    if (isDue || api.hasStreams('logs')) parts.push('logs')
    if (api.hasStreams('mcp')) parts.push('mcp')
    return parts
  }

  /** Returns a problem for each worker whose level could not be set. */
  async #broadcastLevel(level: string): Promise<string[]> {
    const results = await this.#workers.all((worker) => setWorkerLogLevel(worker, level))
    return results.flatMap((result) =>
      'problem' in result
        ? [`cannot set the level of worker ${result.worker.slot}: ${result.problem}`]
        : [],
    )
  }

  /** A worker starts with the configured level; the level set since then is sent to it. */
  async #sendCurrentLevel(worker: WorkerEndpoints): Promise<void> {
    const { log } = this.#options
    if (log.filter === log.initialFilter) return
    try {
      await setWorkerLogLevel(worker, formatLogFilter(log.filter))
    } catch (error) {
      const reason = errorMessageOf(error)
      const fields = ['worker', worker.slot, 'error', reason]
      log.write('warn', 'admin', 'cannot set the log level of a worker', fields)
    }
  }

  /** Without workers of slots that a restart removed, which only finish their requests. */
  get #running(): number {
    const wanted = this.#options.wanted()
    return this.#workers.newestPerSlot.filter(({ slot }) => slot <= wanted).length
  }

  #ownMetrics(): string {
    const { wanted, restarts, limitCounts, inForce } = this.#options
    return formatMetrics([
      gaugeFamily('workers', 'Worker processes', [
        [{ state: 'wanted' }, wanted()],
        [{ state: 'running' }, this.#running],
      ]),
      counterFamily('worker_restarts_total', 'Workers that died and were replaced', [
        [{}, restarts()],
      ]),
      gaugeFamily('trace_watchers', 'Clients that wait for the trace of a request', [
        [{}, this.#trace.count],
      ]),
      policyFamily(inForce().config.resources),
      ...bucketFamilies(limitCounts()),
      ...processFamilies(),
    ])
  }
}

async function setWorkerLogLevel({ admin }: WorkerEndpoints, level: string): Promise<void> {
  const path = `/logging?level=${encodeURIComponent(level)}`
  const { status } = await requestWorker(admin, { method: 'POST', path })
  if (status !== 200) throw new Error(`answered ${status}`)
}

/** /memory and /debug/tasks with one entry for the supervisor and one for each worker. */
function createPerProcessEndpoints(workers: WorkerSet): EndpointTable {
  return {
    '/memory': { GET: createPerProcessHandler(workers, '/memory', describeProcessMemory) },
    '/debug/tasks': {
      GET: createPerProcessHandler(workers, '/debug/tasks', () => ({
        resources: countResources(),
      })),
    },
  }
}

function createPerProcessHandler(
  workers: WorkerSet,
  path: string,
  own: () => object,
): EndpointHandler {
  return async (_request, response) => {
    const results = await workers.all(async ({ admin }) => {
      const { status, body } = await requestWorker(admin, { path })
      const facts = status === 200 ? parseJsonObject(body.toString()) : null
      if (facts === null) throw new Error(`answered ${status}`)
      return facts
    })
    sendJson(response, {
      captured_at_unix_ms: Date.now(),
      supervisor: { pid: process.pid, ...own() },
      workers: results.map((result) => {
        const { slot, pid } = result.worker
        if ('problem' in result) return { worker: slot, pid, error: result.problem }
        const { captured_at_unix_ms: _at, ...facts } = result.value
        return { worker: slot, pid, ...facts }
      }),
    })
  }
}
