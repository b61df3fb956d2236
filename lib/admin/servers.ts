// The servers beside the traffic, each on an address of its own, and what the log is told of them.

import type { Refusals } from '../base/bounds/refusals.ts'
import { isPreset } from '../base/config/check/process.ts'
import type { AdminAddress } from '../base/config/types.ts'
import type { Endpoints, Fallback } from '../base/endpoints.ts'
import { messageOf } from '../base/errors.ts'
import type { Level, Log } from '../base/log/log.ts'
import { UI_PATH } from '../base/places/ui-paths.ts'
import { Sockets } from '../base/processes/sockets.ts'
import { AdminServer } from './server.ts'
import type { Place } from './server.ts'

export const ADMIN: Place = { name: 'the admin interface', setting: 'config.adminAddr' }
export const STATS: Place = { name: 'statistics', setting: 'config.statsAddr' }
export const READINESS: Place = { name: 'readiness', setting: 'config.readinessAddr' }

export class AdminServers {
  readonly #log: Log
  readonly #level: Level
  readonly #sockets: Sockets
  readonly #refusals: Refusals | null
  readonly #servers: AdminServer[] = []

  /** `level`: how much it matters where they are. */
  constructor(
    log: Log,
    sockets = new Sockets(),
    level: Level = 'info',
    refusals: Refusals | null = null,
  ) {
    this.#refusals = refusals
    this.#log = log
    this.#level = level
    this.#sockets = sockets
  }

  /** Two gateways on one machine are no mistake: what nobody asked for may be missing. */
  async tryServe(place: Place, address: AdminAddress, endpoints: Endpoints): Promise<void> {
    try {
      await this.serve(place, address, endpoints)
    } catch (error) {
      if (!isPreset(address)) throw error
      const reason = messageOf(error)
      this.#log.line('warn', 'admin', `not serving ${place.name}`, ['error', reason])
    }
  }

  async serve(
    place: Place,
    address: AdminAddress,
    endpoints: Endpoints,
    fallback?: Fallback,
  ): Promise<void> {
    const log = this.#log
    const troubled = (message: string): void =>
      log.line('warn', 'admin', 'cannot accept', ['error', message])
    const refusals = this.#refusals
    const server = new AdminServer(endpoints, troubled, { ...place, refusals }, fallback)
    this.#servers.push(server)
    for (const label of await server.listen(address, this.#sockets))
      log.line(this.#level, 'admin', `serving ${place.name.replace('the ', '')}`, [
        'address',
        label,
        'ui',
        fallback === undefined ? undefined : pageUrl(label),
      ])
  }

  /** A successor has them, too: no more connections come. */
  leave(): void {
    for (const server of this.#servers) server.leave()
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
