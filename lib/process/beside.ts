// What stands beside the traffic: the admin interface, statistics and readiness, each on an address of its own.

import type { DumpSource } from '../admin/config-dump.ts'
import { adminEndpoints } from '../admin/endpoints.ts'
import { metricsEndpoints } from '../admin/metrics.ts'
import { Profilers } from '../admin/pprof/profiler.ts'
import { readinessEndpoints } from '../admin/readiness.ts'
import { connectionsFor } from '../admin/server.ts'
import { ADMIN, AdminServers, READINESS, STATS } from '../admin/servers.ts'
import { addressesOf } from '../base/config/check/process.ts'
import type { Refusal } from '../base/config/error.ts'
import type { AdminAddress, Config } from '../base/config/types.ts'
import { stackOf } from '../base/errors.ts'
import type { Log } from '../base/log/log.ts'
import type { Sockets } from '../base/processes/sockets.ts'
import { watching } from '../base/trace/watching.ts'
import { factsEndpoints } from '../front/worker-facts.ts'
import type { Gateway } from '../gateway.ts'
import { mcpPlaces } from '../ui/mcp-places.ts'
import { uiOverHttp } from '../ui/over-http.ts'
import { playground } from '../ui/playground/endpoints.ts'
import type { Playground } from '../ui/playground/endpoints.ts'

export interface BesideOptions {
  readonly config: Config
  readonly env: Readonly<Record<string, string | undefined>>
  readonly gateway: Gateway
  readonly reloader: { readonly refusal: Refusal | null }
  readonly log: Log
  readonly sockets?: Sockets
  /** Begins a graceful shutdown. */
  readonly quit: () => void
  /** `worker`: one of several, and what it says of itself is asked by their supervisor. */
  readonly role?: 'alone' | 'worker'
}

export class Beside {
  readonly #options: BesideOptions
  readonly #addresses: DumpSource['addresses']
  readonly #servers: AdminServers
  readonly #playground: Playground

  /** Throws for an address of the environment that is none. */
  constructor(options: BesideOptions) {
    this.#options = options
    const { log, sockets, role } = options
    // Of those of a worker only its supervisor makes use.
    const level = role === 'worker' ? 'debug' : 'info'
    this.#servers = new AdminServers(log, sockets, level, options.gateway.refusals)
    this.#addresses = addressesOf(options.config.process, options.env)
    const { gateway, reloader } = options
    gateway.readApi.start({ addresses: this.#addresses, refusal: () => reloader.refusal })
    const operators = Object.values(this.#addresses)
    this.#playground = playground(() => mcpPlaces(options.gateway.plan.config), operators)
  }

  /** Throws when an address that somebody wrote cannot be had. */
  async open(): Promise<void> {
    const { gateway } = this.#options
    const { admin, stats, readiness } = this.#addresses
    if (admin.kind !== 'off') await this.#openAdmin(admin)
    await this.#servers.tryServe(
      STATS,
      stats,
      metricsEndpoints(() => gateway.measures),
    )
    await this.#servers.tryServe(
      READINESS,
      readiness,
      readinessEndpoints(() => gateway.readiness),
    )
  }

  /** A successor answers from now on. */
  leave(): void {
    this.#servers.leave()
  }

  /** The files of unix sockets go with it. */
  close(): void {
    this.#servers.close()
    this.#playground.close()
  }

  async #openAdmin(address: AdminAddress): Promise<void> {
    const { log, quit, gateway, role } = this.#options
    const profiles = new Profilers()
    // §4.2: a heap profile has samples on Linux only.
    if (process.platform === 'linux') await profiles.watchHeap()
    const endpoints = adminEndpoints({
      dump: () => this.#dump(),
      live: () => gateway.live,
      log,
      watch: (source) => watching(gateway.watchers, source),
      profiles,
      quit,
    })
    const told = role === 'worker' ? factsEndpoints(gateway) : {}
    const all = { ...endpoints, ...told, ...this.#playground.endpoints }
    const page = uiOverHttp(gateway.ui, (error) =>
      log.line('error', 'admin', 'internal error', ['cause', stackOf(error)]),
    )
    const place = { ...ADMIN, connections: connectionsFor(this.#options.config.process) }
    await this.#servers.serve(place, address, all, page)
  }

  async #dump(): Promise<DumpSource> {
    const { gateway, reloader } = this.#options
    await gateway.look()
    const { plan, keySets, limits, backends } = gateway
    const { refusal } = reloader
    const statusOf: DumpSource['statusOf'] = (key) => backends.of(key)
    return { ...plan, addresses: this.#addresses, keySets, limits, statusOf, refusal }
  }
}
