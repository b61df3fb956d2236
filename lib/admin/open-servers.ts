// Opens the admin servers, each on its own address, and logs where they are.

import type { RefusalCounter } from '../core/refusal-counter.ts'
import { isDefaultAddress } from '../config/check/check-process.ts'
import type { AdminAddress } from '../config/config-types.ts'
import { formatAddress } from '../config/show.ts'
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

  /** `level`: the log level of the addresses. */
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

  /** If a default address cannot be opened, only logs it: several gateways may run on one machine. */
  async tryServe(
    served: AdminInterface,
    address: AdminAddress,
    endpoints: EndpointTable,
  ): Promise<void> {
    try {
      await this.serve(served, address, endpoints)
    } catch (error) {
      if (!isDefaultAddress(address)) throw error
      const reason = errorMessageOf(error)
      this.#log.write('warn', 'admin', `not serving ${served.name}`, ['error', reason])
    }
  }

  async serve(
    served: AdminInterface,
    address: AdminAddress,
    endpoints: EndpointTable,
    fallback?: FallbackHandler,
  ): Promise<void> {
    const log = this.#log
    const reportError = (message: string): void =>
      log.write('warn', 'admin', 'cannot accept', ['error', message])
    const refusals = this.#refusals
    const server = new AdminServer(endpoints, reportError, { ...served, refusals }, fallback)
    this.#servers.push(server)
    if (served.setting === ADMIN_INTERFACE.setting && isOnAllInterfaces(address))
      log.write('warn', 'admin', 'admin interface listens on all interfaces', [
        'address',
        formatAddress({ ...address }),
        'key',
        served.setting,
        'risk',
        'it has no authentication: any host that reaches it can stop the gateway and trace requests',
      ])
    for (const label of await server.listen(address, this.#sockets))
      log.write(this.#level, 'admin', `serving ${served.name.replace('the ', '')}`, [
        'address',
        label,
        'ui',
        fallback === undefined ? undefined : pageUrl(label),
      ])
  }

  /** Called when a successor process has taken over: accepts no more connections. */
  stopAccepting(): void {
    for (const server of this.#servers) server.stopAccepting()
  }

  /** Also removes the files of unix sockets. */
  close(): void {
    for (const server of this.#servers) server.close()
  }
}

/** The unspecified addresses of IPv4 and IPv6, in any spelling. */
const ALL_INTERFACES = new Set(['0.0.0.0', '[::]', '[::ffff:0:0]'])

function isOnAllInterfaces(address: AdminAddress): boolean {
  if (address.kind !== 'tcp') return false
  const { host } = address
  const url = `http://${host.includes(':') ? `[${host}]` : host}`
  return URL.canParse(url) && ALL_INTERFACES.has(new URL(url).hostname)
}

/** The URL of the page for the log line (§4.2); none for a unix socket, which a browser cannot open. */
function pageUrl(label: string): string | undefined {
  return label.startsWith('unix:') ? undefined : `http://${label}${UI_PATH}`
}
