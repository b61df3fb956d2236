// The servers for operators of a gateway in one process or of one worker: admin interface, statistics and readiness.

import type { ConfigDumpSource } from '../admin/config-dump.ts'
import { createAdminEndpoints, createReadinessEndpoints } from '../admin/admin-endpoints.ts'
import { createMetricsEndpoints } from '../admin/prometheus-text.ts'
import { V8Profilers } from '../admin/pprof/profiler.ts'
import { maxConnectionsFor } from '../admin/admin-server.ts'
import {
  ADMIN_INTERFACE,
  AdminServerSet,
  READINESS_INTERFACE,
  STATS_INTERFACE,
} from '../admin/open-servers.ts'
import { resolveAddresses } from '../config/check/check-process.ts'
import type { ConfigRefusal } from '../config/config-error.ts'
import type { AdminAddress, Config } from '../config/config-types.ts'
import { errorStackOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { ListeningSockets } from '../core/listening-sockets.ts'
import { startTrace } from '../trace/trace-watchers.ts'
import { createFactsEndpoints } from './aggregated/worker-facts.ts'
import type { Gateway } from '../gateway.ts'
import { listMcpLocations } from '../admin/page-api/mcp-locations.ts'
import { createUiFallback } from '../admin/page-api/page-service.ts'
import { createPlayground } from '../admin/playground/playground-endpoints.ts'
import type { Playground } from '../admin/playground/playground-endpoints.ts'

export interface AdminServersOptions {
  readonly config: Config
  readonly env: Readonly<Record<string, string | undefined>>
  readonly gateway: Gateway
  readonly reloader: { readonly refusal: ConfigRefusal | null }
  readonly log: Log
  readonly sockets?: ListeningSockets
  /** Begins a graceful shutdown. */
  readonly quit: () => void
  /** `worker`: one of several workers; its supervisor asks it for its facts. */
  readonly role?: 'alone' | 'worker'
}

export class AdminServers {
  readonly #options: AdminServersOptions
  readonly #addresses: ConfigDumpSource['addresses']
  readonly #servers: AdminServerSet
  readonly #playground: Playground

  /** Throws when an address in the environment is invalid. */
  constructor(options: AdminServersOptions) {
    this.#options = options
    const { log, sockets, role } = options
    // Only the supervisor uses the servers of a worker.
    const level = role === 'worker' ? 'debug' : 'info'
    this.#servers = new AdminServerSet(log, sockets, level, options.gateway.refusals)
    this.#addresses = resolveAddresses(options.config.process, options.env)
    const { gateway, reloader } = options
    gateway.readApi.start({ addresses: this.#addresses, refusal: () => reloader.refusal })
    const operators = Object.values(this.#addresses)
    this.#playground = createPlayground(
      () => listMcpLocations(options.gateway.plan.config),
      operators,
    )
  }

  /** Throws when a configured address cannot be opened. */
  async open(): Promise<void> {
    const { gateway } = this.#options
    const { admin, stats, readiness } = this.#addresses
    if (admin.kind !== 'off') await this.#openAdmin(admin)
    await this.#servers.tryServe(
      STATS_INTERFACE,
      stats,
      createMetricsEndpoints(() => gateway.metricFamilies),
    )
    await this.#servers.tryServe(
      READINESS_INTERFACE,
      readiness,
      createReadinessEndpoints(() => gateway.readiness),
    )
  }

  /** Called when a successor process has taken over the addresses. */
  stopAccepting(): void {
    this.#servers.stopAccepting()
  }

  /** Also removes the files of unix sockets. */
  close(): void {
    this.#servers.close()
    this.#playground.close()
  }

  async #openAdmin(address: AdminAddress): Promise<void> {
    const { log, quit, gateway, role } = this.#options
    const profiles = new V8Profilers()
    // §4.2: a heap profile has samples on Linux only.
    if (process.platform === 'linux') await profiles.startHeapSampling()
    const endpoints = createAdminEndpoints({
      dump: () => this.#dump(),
      live: () => gateway.liveSnapshot,
      log,
      watch: (selector) => startTrace(gateway.watchers, selector),
      profiles,
      quit,
    })
    const factsEndpoints = role === 'worker' ? createFactsEndpoints(gateway) : {}
    const all = { ...endpoints, ...factsEndpoints, ...this.#playground.endpoints }
    const page = createUiFallback(gateway.ui, (error) =>
      log.write('error', 'admin', 'internal error', ['cause', errorStackOf(error)]),
    )
    const settings = {
      ...ADMIN_INTERFACE,
      connections: maxConnectionsFor(this.#options.config.process),
    }
    await this.#servers.serve(settings, address, all, page)
  }

  async #dump(): Promise<ConfigDumpSource> {
    const { gateway, reloader } = this.#options
    await gateway.refreshLimits()
    const { plan, keySets, limitStatus, backendStats } = gateway
    const { refusal } = reloader
    const statusOf: ConfigDumpSource['statusOf'] = (key) => backendStats.get(key)
    return { ...plan, addresses: this.#addresses, keySets, limits: limitStatus, statusOf, refusal }
  }
}
