// The servers beside the traffic, each on an address of its own, and what the log is told of them.

import type { RefusalCounter } from '../core/refusal-counter.ts'
import { isDefaultAddress } from '../config/check/check-process.ts'
import type { AdminAddress } from '../config/config-types.ts'
import type { EndpointTable, FallbackHandler } from './endpoint-types.ts'
import { errorMessageOf } from '../core/errors.ts'
import type { LoggingLevel, Log } from '../core/log.ts'
import { UI_PATH } from '../core/well-known-paths.ts'
import { ListeningSockets } from '../core/listening-sockets.ts'
import { AdminServer } from './admin-server.ts'
import type { AdminInterface } from './admin-server.ts'

export const ADMIN_INTERFACE: AdminInterface = {
  name: 'the admin interface',
  setting: 'config.adminAddr',
}
export const STATS_INTERFACE: AdminInterface = { name: 'statistics', setting: 'config.statsAddr' }
export const READINESS_INTERFACE: AdminInterface = {
  name: 'readiness',
  setting: 'config.readinessAddr',
}

export class AdminServerSet {
  readonly #log: Log
  readonly #level: LoggingLevel
  readonly #sockets: ListeningSockets
  readonly #refusals: RefusalCounter | null
  readonly #servers: AdminServer[] = []

  /** `level`: how much it matters where they are. */
  constructor(
    log: Log,
    sockets = new ListeningSockets(),
    level: LoggingLevel = 'info',
    refusals: RefusalCounter | null = null,
  ) {
    this.#refusals = refusals
    this.#log = log
    this.#level = level
    this.#sockets = sockets
  }

  /** Two gateways on one machine are no mistake: what nobody asked for may be missing. */
  async tryServe(
    place: AdminInterface,
    address: AdminAddress,
    endpoints: EndpointTable,
  ): Promise<void> {
    try {
      await this.serve(place, address, endpoints)
    } catch (error) {
      if (!isDefaultAddress(address)) throw error
      const reason = errorMessageOf(error)
      this.#log.write('warn', 'admin', `not serving ${place.name}`, ['error', reason])
    }
  }

  async serve(
    place: AdminInterface,
    address: AdminAddress,
    endpoints: EndpointTable,
    fallback?: FallbackHandler,
  ): Promise<void> {
    const log = this.#log
    const troubled = (message: string): void =>
      log.write('warn', 'admin', 'cannot accept', ['error', message])
    const refusals = this.#refusals
    const server = new AdminServer(endpoints, troubled, { ...place, refusals }, fallback)
    this.#servers.push(server)
    for (const label of await server.listen(address, this.#sockets))
      log.write(this.#level, 'admin', `serving ${place.name.replace('the ', '')}`, [
        'address',
        label,
        'ui',
        fallback === undefined ? undefined : pageUrl(label),
      ])
  }

  /** A successor has them, too: no more connections come. */
  stopAccepting(): void {
    for (const server of this.#servers) server.stopAccepting()
  }

  /** The files of unix sockets go with it. */
  close(): void {
    for (const server of this.#servers) server.close()
  }
}

/** §4.2: the log line tells it. No browser opens a unix socket. */
function pageUrl(label: string): string | undefined {
  return label.startsWith('unix:') ? undefined : `http://${label}${UI_PATH}`
}
