// The open ports: opened at start, and on a reload opened, kept or drained as the new configuration says.

import { LRUMapWithDelete } from 'mnemonist'
import type { ConnectionHandover, PortPeers } from './connection-listener.ts'
import type { ConnectionAdmission } from './admission.ts'
import { Listener, ListenerCertificates } from './listener.ts'
import type { ListenerCertificate } from './listener.ts'
import { isOutOfDescriptors } from '../core/descriptors.ts'
import type { PortLimits } from '../core/bounds.ts'
import { bindKeyOf } from '../config/bind-key.ts'
import type { GatewayConfig } from '../config/config-types.ts'
import { errorMessageOf } from '../core/errors.ts'
import type { ListenerCounts } from '../core/runtime-views.ts'
import type { Log } from '../core/log.ts'
import type { OpenPort } from '../core/listening-sockets.ts'
import type { DrainMode, ExchangeHandler } from '../core/types.ts'
import { closeHandle } from '../core/socket-handle.ts'

/** Closed ports whose counts are kept; above this the counts of the port closed longest ago are dropped. */
const MAX_PAST = 1_024

/** What a port is to be. */
interface ListenerSpec {
  readonly config: GatewayConfig
  readonly limits: PortLimits
  /** Null where it speaks plain HTTP. */
  readonly certificates: ListenerCertificates | null
}

interface BoundListener extends ListenerSpec {
  readonly listener: Listener
}

export interface ListenerSetOptions {
  readonly admission: ConnectionAdmission
  /** Milliseconds that requests on a closed port may go on. */
  readonly drainDeadline: number
  readonly openPort: OpenPort
  /** Other workers, as a port sees them; null where there are none. */
  readonly peersForPort: ((port: number) => PortPeers) | null
}

export class ListenerSet {
  readonly #handler: ExchangeHandler
  readonly #log: Log
  readonly #options: ListenerSetOptions
  /** By port. */
  readonly #open = new Map<number, BoundListener>()
  /** No longer in the configuration, but with requests under way; each with its end. */
  readonly #leaving = new Map<Listener, Promise<void>>()
  /** Those that are closed. */
  readonly #past = new LRUMapWithDelete<string, ListenerCounts>(MAX_PAST)
  #state: 'open' | 'draining' = 'open'

  constructor(handler: ExchangeHandler, log: Log, options: ListenerSetOptions) {
    this.#handler = handler
    this.#log = log
    this.#options = options
  }

  /**
   * Makes the open ports those of `gateways`: all of them or, when one cannot be opened, none, and it throws. What
   * `swap` does happens between opening the new ones and draining the old ones.
   */
  async apply(
    gateways: readonly GatewayConfig[],
    limits: PortLimits,
    swap: () => void,
  ): Promise<void> {
    const all = gateways.map((config) => specifyListener(config, limits))
    const opened: BoundListener[] = []
    const closed: BoundListener[] = []
    try {
      // Those that disturb nobody come first: they are the likeliest to fail.
      for (const wanted of all)
        if (!this.#open.has(wanted.config.port)) opened.push(await this.#listen(wanted))
      for (const wanted of all) {
        const before = this.#open.get(wanted.config.port)
        if (before === undefined || canShareSocket(before, wanted)) continue
        // The same port with another address or protocol must be closed before it can be opened.
        closed.push(this.#drain(before))
        opened.push(await this.#listen(wanted))
      }
    } catch (error) {
      for (const open of opened) this.#drain(open)
      if (this.#state === 'open') for (const open of closed) await this.#reopen(open)
      throw error
    }
    swap()
    this.#settle(all)
  }

  /** Those that are open, and those that still have connections. */
  get listeners(): Listener[] {
    return [...[...this.#open.values()].map(({ listener }) => listener), ...this.#leaving.keys()]
  }

  /** What came by ports that are closed: sums must not go down. */
  get closedListenerCounts(): readonly ListenerCounts[] {
    return [...this.#past.values()]
  }

  /** Takes over a connection that another worker accepted on its port; without that it is closed. */
  adoptConnection(port: number, leaving: ConnectionHandover): void {
    const listener = this.listeners.find(({ configuredPort }) => configuredPort === port)
    if (listener === undefined) closeHandle(leaving.handle)
    else listener.adoptConnection(leaving)
  }

  /** Stops accepting everywhere; resolves when no connection is left. */
  async drain(manner: DrainMode): Promise<void> {
    this.#state = 'draining'
    for (const { listener } of this.#open.values()) void this.#leave(listener, manner)
    this.#open.clear()
    await Promise.all(this.#leaving.values())
  }

  /** The time is up. */
  cut(): void {
    for (const listener of this.#leaving.keys()) listener.cut()
  }

  #settle(all: readonly ListenerSpec[]): void {
    for (const [port, open] of this.#open) {
      const wanted = all.find(({ config }) => config.port === port)
      if (wanted === undefined) this.#drain(open)
      else if (wanted.config !== open.config) {
        open.listener.update(wanted.limits, wanted.certificates)
        this.#open.set(port, { ...wanted, listener: open.listener })
      }
    }
  }

  async #listen(wanted: ListenerSpec): Promise<BoundListener> {
    const { config, limits, certificates } = wanted
    const { address, port } = config
    const bind = bindKeyOf(port)
    const listener = new Listener({
      address,
      port,
      certificates,
      limits,
      handler: this.#handler,
      admission: this.#options.admission,
      openPort: this.#options.openPort,
      peers: this.#options.peersForPort?.(port) ?? null,
      onConnection: ({ remoteAddress, remotePort }) => {
        if (this.#log.allows('debug', 'accept'))
          this.#log.write('debug', 'accept', 'accepted connection', [
            'bind',
            bind,
            'src.addr',
            `${remoteAddress}:${remotePort}`,
          ])
      },
      onAcceptError: (error) => {
        if (isOutOfDescriptors(error)) return this.#options.admission.reportOutOfDescriptors()
        const { message } = error
        this.#log.write('warn', 'accept', 'cannot accept', ['bind', bind, 'error', message])
      },
    })
    await listener.listen()
    if (this.#state === 'draining') {
      void this.#leave(listener)
      throw new Error('the gateway is stopping')
    }
    const open = { ...wanted, listener }
    this.#open.set(port, open)
    const chosen = port === 0 ? listener.port : undefined
    const fields = ['bind', bind, 'address', address, 'port', chosen]
    this.#log.write('info', 'gateway', 'started bind', fields)
    return open
  }

  /** Puts back what a refused reload closed. Who took its place meanwhile is told of; the next reload tries again. */
  async #reopen(open: BoundListener): Promise<void> {
    try {
      await this.#listen(open)
    } catch (error) {
      const reason = errorMessageOf(error)
      const fields = ['bind', bindKeyOf(open.config.port), 'error', reason]
      this.#log.write('error', 'gateway', 'cannot open bind again', fields)
    }
  }

  #drain(open: BoundListener): BoundListener {
    const { listener, config } = open
    const bind = bindKeyOf(config.port)
    if (this.#open.get(config.port) === open) this.#open.delete(config.port)
    this.#log.write('info', 'gateway', 'draining bind', ['bind', bind])
    const timer = setTimeout(() => {
      this.#log.write('warn', 'gateway', 'cutting what still runs on bind', ['bind', bind])
      listener.cut()
    }, this.#options.drainDeadline).unref()
    void this.#leave(listener).then(() => clearTimeout(timer))
    return open
  }

  async #leave(listener: Listener, manner: DrainMode = 'now'): Promise<void> {
    const gone = listener.drain(manner)
    this.#leaving.set(listener, gone)
    await gone
    this.#leaving.delete(listener)
    this.#remember(listener.counts)
  }

  #remember(counts: ListenerCounts): void {
    const { bind } = counts
    const before = this.#past.get(bind)
    this.#past.set(bind, {
      ...counts,
      accepted: counts.accepted + (before?.accepted ?? 0),
      bytesIn: counts.bytesIn + (before?.bytesIn ?? 0),
      bytesOut: counts.bytesOut + (before?.bytesOut ?? 0),
    })
  }
}

function specifyListener(config: GatewayConfig, limits: PortLimits): ListenerSpec {
  const certificates: ListenerCertificate[] = []
  for (const { hostname, tls } of config.listeners)
    if (tls !== null) certificates.push({ hostname, tls })
  return {
    config,
    limits,
    certificates: certificates.length > 0 ? new ListenerCertificates(certificates) : null,
  }
}

/** Whether one socket can serve both. */
function canShareSocket(a: ListenerSpec, b: ListenerSpec): boolean {
  const isSecure = a.certificates !== null
  return a.config.address === b.config.address && isSecure === (b.certificates !== null)
}
