// What stands beside the traffic: the admin interface, statistics and readiness, each on an address of its own.

import type { DumpSource } from './admin/config-dump.ts'
import { adminEndpoints } from './admin/endpoints.ts'
import { Profilers } from './admin/pprof/profiler.ts'
import { metricsEndpoints } from './admin/metrics.ts'
import { readinessEndpoints } from './admin/readiness.ts'
import { AdminServer } from './admin/server.ts'
import type { Place } from './admin/server.ts'
import { addressesOf, isPreset } from './base/config/check/process.ts'
import type { AdminAddress, Config } from './base/config/types.ts'
import type { Endpoints, Fallback } from './base/endpoints.ts'
import { stackOf } from './base/errors.ts'
import type { Log } from './base/log.ts'
import { UI_PATH } from './base/ui-paths.ts'
import type { Gateway } from './gateway.ts'
import type { Reloader } from './reload.ts'
import { mcpPlaces } from './ui/mcp-places.ts'
import { uiOverHttp } from './ui/over-http.ts'
import { playground } from './ui/playground/endpoints.ts'
import type { Playground } from './ui/playground/endpoints.ts'

export interface BesideOptions {
  readonly config: Config
  readonly env: Readonly<Record<string, string | undefined>>
  readonly gateway: Gateway
  readonly reloader: Reloader
  readonly log: Log
  /** Begins a graceful shutdown. */
  readonly quit: () => void
}

const ADMIN: Place = { name: 'the admin interface', setting: 'config.adminAddr' }
const STATS: Place = { name: 'statistics', setting: 'config.statsAddr' }
const READINESS: Place = { name: 'readiness', setting: 'config.readinessAddr' }

export class Beside {
  readonly #options: BesideOptions
  readonly #addresses: DumpSource['addresses']
  readonly #servers: AdminServer[] = []
  readonly #playground: Playground

  /** Throws for an address of the environment that is none. */
  constructor(options: BesideOptions) {
    this.#options = options
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
    await this.#tryServe(
      STATS,
      stats,
      metricsEndpoints(() => gateway.measures),
    )
    await this.#tryServe(
      READINESS,
      readiness,
      readinessEndpoints(() => gateway.readiness),
    )
  }

  /** The files of unix sockets go with it. */
  close(): void {
    for (const server of this.#servers) server.close()
    this.#playground.close()
  }

  async #openAdmin(address: AdminAddress): Promise<void> {
    const { log, quit, gateway } = this.#options
    const profiles = new Profilers()
    // §4.2: a heap profile has samples on Linux only.
    if (process.platform === 'linux') await profiles.watchHeap()
    const { watchers } = gateway
    const endpoints = adminEndpoints({
      dump: () => this.#dump(),
      live: () => gateway.live,
      log,
      watchers,
      profiles,
      quit,
    })
    const all = { ...endpoints, ...this.#playground.endpoints }
    const page = uiOverHttp(gateway.ui, (error) =>
      log.line('error', 'admin', 'internal error', ['cause', stackOf(error)]),
    )
    await this.#serve(ADMIN, address, all, page)
  }

  /** Two gateways on one machine are no mistake: what nobody asked for may be missing. */
  async #tryServe(place: Place, address: AdminAddress, endpoints: Endpoints): Promise<void> {
    try {
      await this.#serve(place, address, endpoints)
    } catch (error) {
      if (!isPreset(address)) throw error
      const { log } = this.#options
      const reason = error instanceof Error ? error.message : String(error)
      log.line('warn', 'admin', `not serving ${place.name}`, ['error', reason])
    }
  }

  async #serve(
    place: Place,
    address: AdminAddress,
    endpoints: Endpoints,
    fallback?: Fallback,
  ): Promise<void> {
    const { log } = this.#options
    const troubled = (message: string): void =>
      log.line('warn', 'admin', 'cannot accept', ['error', message])
    const server = new AdminServer(endpoints, troubled, place, fallback)
    this.#servers.push(server)
    for (const label of await server.listen(address))
      log.line('info', 'admin', `serving ${place.name.replace('the ', '')}`, [
        'address',
        label,
        'ui',
        fallback === undefined ? undefined : pageUrl(label),
      ])
  }

  #dump(): DumpSource {
    const { gateway, reloader } = this.#options
    const { plan, keySets, limits, backends } = gateway
    const { refusal } = reloader
    const statusOf: DumpSource['statusOf'] = (key) => backends.of(key)
    return { ...plan, addresses: this.#addresses, keySets, limits, statusOf, refusal }
  }
}

/** §4.2: the log line tells it. No browser opens a unix socket. */
function pageUrl(label: string): string | undefined {
  return label.startsWith('unix:') ? undefined : `http://${label}${UI_PATH}`
}
