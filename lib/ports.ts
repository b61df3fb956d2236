// The open ports: opened at start, and on a reload opened, kept or drained as the new configuration says.

import { LRUMapWithDelete } from 'mnemonist'
import type { Leaving, PortNeighbours } from './accept/door.ts'
import type { Gate } from './accept/gate.ts'
import { Listener } from './accept/listener.ts'
import { Certificates } from './accept/tls.ts'
import type { Certificate } from './accept/tls.ts'
import { isOutOfDescriptors } from './base/bounds/descriptors.ts'
import type { PortLimits } from './base/bounds/limits.ts'
import { bindKey } from './base/config/bind-key.ts'
import type { GatewayConfig } from './base/config/types.ts'
import { messageOf } from './base/errors.ts'
import type { Exchange } from './base/exchange.ts'
import type { ListenerCounts } from './base/live/views.ts'
import type { Log } from './base/log/log.ts'
import type { OpenPort } from './base/processes/open-port.ts'
import type { Manner, Steps } from './base/types.ts'
import { closeHandle } from './base/wire/handle.ts'

/** Closed ports whose counts are kept; above this the counts of the port closed longest ago are dropped. */
const MAX_PAST = 1_024

/** What a port is to be. */
interface Wanted {
  readonly config: GatewayConfig
  readonly limits: PortLimits
  /** Null where it speaks plain HTTP. */
  readonly certificates: Certificates | null
}

interface Open extends Wanted {
  readonly listener: Listener
}

export interface PortsOptions {
  /** Of a request, by the port it came in by. */
  readonly serve: (exchange: Exchange, port: number) => void
  readonly gate: Gate
  /** Milliseconds that requests on a closed port may go on. */
  readonly deadline: number
  readonly openPort: OpenPort
  /** Other workers, as a port sees them; null where there are none. */
  readonly neighbours: ((port: number) => PortNeighbours) | null
}

export class Ports {
  readonly #steps: Steps
  readonly #log: Log
  readonly #options: PortsOptions
  /** By port. */
  readonly #open = new Map<number, Open>()
  /** No longer in the configuration, but with requests under way; each with its end. */
  readonly #leaving = new Map<Listener, Promise<void>>()
  /** Those that are closed. */
  readonly #past = new LRUMapWithDelete<string, ListenerCounts>(MAX_PAST)
  #state: 'open' | 'draining' = 'open'

  constructor(steps: Steps, log: Log, options: PortsOptions) {
    this.#steps = steps
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
    const all = gateways.map((config) => wantedOf(config, limits))
    const opened: Open[] = []
    const closed: Open[] = []
    try {
      // Those that disturb nobody come first: they are the likeliest to fail.
      for (const wanted of all)
        if (!this.#open.has(wanted.config.port)) opened.push(await this.#listen(wanted))
      for (const wanted of all) {
        const before = this.#open.get(wanted.config.port)
        if (before === undefined || isSame(before, wanted)) continue
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
  get past(): readonly ListenerCounts[] {
    return [...this.#past.values()]
  }

  /** Takes over a connection that another worker accepted on its port; without that it is closed. */
  adopt(port: number, leaving: Leaving): void {
    const listener = this.listeners.find(({ bind }) => bind === port)
    if (listener === undefined) closeHandle(leaving.handle)
    else listener.adopt(leaving)
  }

  /** Stops accepting everywhere; resolves when no connection is left. */
  async drain(manner: Manner): Promise<void> {
    this.#state = 'draining'
    for (const { listener } of this.#open.values()) void this.#leave(listener, manner)
    this.#open.clear()
    await Promise.all(this.#leaving.values())
  }

  /** The time is up. */
  cut(): void {
    for (const listener of this.#leaving.keys()) listener.cut()
  }

  #settle(all: readonly Wanted[]): void {
    for (const [port, open] of this.#open) {
      const wanted = all.find(({ config }) => config.port === port)
      if (wanted === undefined) this.#drain(open)
      else if (wanted.config !== open.config) {
        open.listener.update(wanted.limits, wanted.certificates)
        this.#open.set(port, { ...wanted, listener: open.listener })
      }
    }
  }

  async #listen(wanted: Wanted): Promise<Open> {
    const { config, limits, certificates } = wanted
    const { address, port } = config
    const bind = bindKey(port)
    const listener = new Listener({
      address,
      port,
      certificates,
      limits,
      steps: this.#steps,
      gate: this.#options.gate,
      openPort: this.#options.openPort,
      neighbours: this.#options.neighbours?.(port) ?? null,
      serve: (exchange) => this.#options.serve(exchange, port),
      opened: ({ remoteAddress, remotePort }) => {
        if (this.#log.allows('debug', 'accept'))
          this.#log.line('debug', 'accept', 'accepted connection', [
            'bind',
            bind,
            'src.addr',
            `${remoteAddress}:${remotePort}`,
          ])
      },
      troubled: (error) => {
        if (isOutOfDescriptors(error)) return this.#options.gate.outOfDescriptors()
        const { message } = error
        this.#log.line('warn', 'accept', 'cannot accept', ['bind', bind, 'error', message])
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
    this.#log.line('info', 'gateway', 'started bind', fields)
    return open
  }

  /** Puts back what a refused reload closed. Who took its place meanwhile is told of; the next reload tries again. */
  async #reopen(open: Open): Promise<void> {
    try {
      await this.#listen(open)
    } catch (error) {
      const reason = messageOf(error)
      const fields = ['bind', bindKey(open.config.port), 'error', reason]
      this.#log.line('error', 'gateway', 'cannot open bind again', fields)
    }
  }

  #drain(open: Open): Open {
    const { listener, config } = open
    const bind = bindKey(config.port)
    if (this.#open.get(config.port) === open) this.#open.delete(config.port)
    this.#log.line('info', 'gateway', 'draining bind', ['bind', bind])
    const timer = setTimeout(() => {
      this.#log.line('warn', 'gateway', 'cutting what still runs on bind', ['bind', bind])
      listener.cut()
    }, this.#options.deadline).unref()
    void this.#leave(listener).then(() => clearTimeout(timer))
    return open
  }

  async #leave(listener: Listener, manner: Manner = 'now'): Promise<void> {
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

function wantedOf(config: GatewayConfig, limits: PortLimits): Wanted {
  const certificates: Certificate[] = []
  for (const { hostname, tls } of config.listeners)
    if (tls !== null) certificates.push({ hostname, tls })
  return {
    config,
    limits,
    certificates: certificates.length > 0 ? new Certificates(certificates) : null,
  }
}

/** Whether one socket can serve both. */
function isSame(a: Wanted, b: Wanted): boolean {
  const isSecure = a.certificates !== null
  return a.config.address === b.config.address && isSecure === (b.certificates !== null)
}
