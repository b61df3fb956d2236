// The open ports of the gateway: opens them at start; opens, updates and drains them on a reload.

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
import { describeListenError } from '../core/listening-sockets.ts'
import type { OpenPort } from '../core/listening-sockets.ts'
import type { DrainMode, ExchangeHandler } from '../core/types.ts'
import { closeHandle } from '../core/socket-handle.ts'

/** Closed ports whose counts are kept; above this the counts of the port closed longest ago are dropped. */
const MAX_CLOSED_COUNTS = 1_024

/** A port as the configuration describes it. */
interface ListenerSpec {
  readonly config: GatewayConfig
  readonly limits: PortLimits
  /** Null for plain HTTP. */
  readonly certificates: ListenerCertificates | null
}

interface BoundListener extends ListenerSpec {
  readonly listener: Listener
}

export interface ListenerSetOptions {
  readonly admission: ConnectionAdmission
  /** Milliseconds that requests on a closed port may continue. */
  readonly drainDeadline: number
  readonly openPort: OpenPort
  /** The other workers, for connections of a port; null in a gateway of one process. */
  readonly peersForPort: ((port: number) => PortPeers) | null
}

export class ListenerSet {
  readonly #handler: ExchangeHandler
  readonly #log: Log
  readonly #options: ListenerSetOptions
  /** By port. */
  readonly #open = new Map<number, BoundListener>()
  /** Listeners that are no longer configured but have requests in progress, each with the promise of its end. */
  readonly #draining = new Map<Listener, Promise<void>>()
  readonly #closedCounts = new LRUMapWithDelete<string, ListenerCounts>(MAX_CLOSED_COUNTS)
  #state: 'open' | 'draining' = 'open'

  constructor(handler: ExchangeHandler, log: Log, options: ListenerSetOptions) {
    this.#handler = handler
    this.#log = log
    this.#options = options
  }

  /**
   * Opens and closes ports to match `gateways`; if one cannot be opened, restores the old ports and throws.
   * Calls `swap` after opening the new ports and before draining the old ones.
   */
  async apply(
    gateways: readonly GatewayConfig[],
    limits: PortLimits,
    swap: () => void,
  ): Promise<void> {
    const specs = gateways.map((config) => specifyListener(config, limits))
    const opened: BoundListener[] = []
    const closed: BoundListener[] = []
    try {
      // New ports come first: they are the likeliest to fail, and opening them does not affect clients.
      for (const spec of specs)
        if (!this.#open.has(spec.config.port)) opened.push(await this.#listen(spec))
      for (const spec of specs) {
        const current = this.#open.get(spec.config.port)
        if (current === undefined || canShareSocket(current, spec)) continue
        // The same port with another address or protocol must be closed before it can be opened.
        closed.push(this.#drain(current))
        opened.push(await this.#listen(spec))
      }
    } catch (error) {
      for (const open of opened) this.#drain(open)
      if (this.#state === 'open') for (const open of closed) await this.#reopen(open)
      throw error
    }
    swap()
    this.#updateAndDrain(specs)
  }

  /** The open listeners, and the closed ones that still have connections. */
  get listeners(): Listener[] {
    return [...[...this.#open.values()].map(({ listener }) => listener), ...this.#draining.keys()]
  }

  /** The counts of closed ports, kept so that metric counters never decrease. */
  get closedListenerCounts(): readonly ListenerCounts[] {
    return [...this.#closedCounts.values()]
  }

  /** Takes over a connection that another worker accepted on the port; closes it if the port is not open here. */
  adoptConnection(port: number, handover: ConnectionHandover): void {
    const listener = this.listeners.find(({ configuredPort }) => configuredPort === port)
    if (listener === undefined) closeHandle(handover.handle)
    else listener.adoptConnection(handover)
  }

  /** Stops accepting on all ports; resolves when no connection is left. */
  async drain(mode: DrainMode): Promise<void> {
    this.#state = 'draining'
    for (const { listener } of this.#open.values()) void this.#drainListener(listener, mode)
    this.#open.clear()
    await Promise.all(this.#draining.values())
  }

  /** Closes all connections that are still open after `drain`. */
  cut(): void {
    for (const listener of this.#draining.keys()) listener.cut()
  }

  #updateAndDrain(specs: readonly ListenerSpec[]): void {
    for (const [port, open] of this.#open) {
      const spec = specs.find(({ config }) => config.port === port)
      if (spec === undefined) this.#drain(open)
      else if (spec.config !== open.config) {
        open.listener.update(spec.limits, spec.certificates)
        this.#open.set(port, { ...spec, listener: open.listener })
      }
    }
  }

  async #listen(spec: ListenerSpec): Promise<BoundListener> {
    const { config, limits, certificates } = spec
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
    try {
      await listener.listen()
    } catch (error) {
      throw nameConfigKey(error as NodeJS.ErrnoException, config)
    }
    if (this.#state === 'draining') {
      void this.#drainListener(listener)
      throw new Error('the gateway is stopping')
    }
    const open = { ...spec, listener }
    this.#open.set(port, open)
    const chosenPort = port === 0 ? listener.port : undefined
    const fields = ['bind', bind, 'address', address, 'port', chosenPort]
    this.#log.write('info', 'gateway', 'started bind', fields)
    return open
  }

  /** Opens a port again that a refused reload closed. A failure is logged; the next reload tries again. */
  async #reopen(open: BoundListener): Promise<void> {
    try {
      await this.#listen(open)
    } catch (error) {
      const reason = errorMessageOf(error)
      const fields = ['bind', bindKeyOf(open.config.port), 'error', reason]
      this.#log.write('error', 'gateway', 'cannot reopen bind', fields)
    }
  }

  #drain(open: BoundListener): BoundListener {
    const { listener, config } = open
    const bind = bindKeyOf(config.port)
    if (this.#open.get(config.port) === open) this.#open.delete(config.port)
    this.#log.write('info', 'gateway', 'draining bind', ['bind', bind])
    const timer = setTimeout(() => {
      this.#log.write('warn', 'gateway', 'drain deadline exceeded, closing bind', ['bind', bind])
      listener.cut()
    }, this.#options.drainDeadline).unref()
    void this.#drainListener(listener).then(() => clearTimeout(timer))
    return open
  }

  async #drainListener(listener: Listener, mode: DrainMode = 'now'): Promise<void> {
    const drained = listener.drain(mode)
    this.#draining.set(listener, drained)
    await drained
    this.#draining.delete(listener)
    const { counts } = listener
    const { bind } = counts
    const before = this.#closedCounts.get(bind)
    this.#closedCounts.set(bind, {
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

/** Says which setting to change; keeps the code of the error. */
function nameConfigKey(cause: NodeJS.ErrnoException, config: GatewayConfig): Error {
  const { code } = cause
  const { name, address, port, listeners } = config
  // The listener of the section `mcp` or `llm` has the name of the section as its key.
  const section = listeners[0]?.key === name ? name : `gateways.${name}`
  const key = `${section}.${code === 'EADDRNOTAVAIL' ? 'address' : 'port'}`
  const shown = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
  const message = `cannot listen on ${shown} (${key}): ${describeListenError(cause)}`
  return Object.assign(new Error(message, { cause }), code === undefined ? {} : { code })
}

/** Whether one socket can serve both. */
function canShareSocket(a: ListenerSpec, b: ListenerSpec): boolean {
  const isSecure = a.certificates !== null
  return a.config.address === b.config.address && isSecure === (b.certificates !== null)
}
