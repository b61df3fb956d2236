// The open ports: opened at start, and on a reload opened, kept or drained as the new configuration says.

import { Listener } from './accept/listener.ts'
import type { Certificate } from './accept/tls.ts'
import type { GatewayConfig } from './base/config/types.ts'
import type { Exchange } from './base/exchange.ts'
import type { WireLimits } from './base/limits.ts'
import type { Log } from './base/log.ts'
import type { Steps } from './base/types.ts'

export interface PortsOwner extends Steps {
  serve(exchange: Exchange, port: number): void
}

interface Open {
  readonly config: GatewayConfig
  readonly listener: Listener
}

export class Ports {
  readonly #owner: PortsOwner
  readonly #log: Log
  /** By port. */
  readonly #open = new Map<number, Open>()
  /** No longer in the configuration, but with requests under way. */
  readonly #leaving = new Set<Listener>()

  constructor(owner: PortsOwner, log: Log) {
    this.#owner = owner
    this.#log = log
  }

  /**
   * Makes the open ports those of `gateways`: all of them or, when one cannot be opened, none, and it throws. What
   * `swap` does happens between opening the new ones and draining the old ones.
   */
  async apply(
    gateways: readonly GatewayConfig[],
    limits: WireLimits,
    swap: () => void,
  ): Promise<void> {
    const opened: Open[] = []
    const replaced: Open[] = []
    try {
      for (const config of gateways) {
        const before = this.#open.get(config.port)
        if (before !== undefined && isSame(before.config, config)) continue
        // The same port with another address or protocol must be closed before it can be opened.
        if (before !== undefined) replaced.push(this.#drain(before))
        opened.push(await this.#listen(config, limits))
      }
    } catch (error) {
      for (const open of opened) this.#drain(open)
      for (const { config } of replaced) await this.#listen(config, limits)
      throw error
    }
    swap()
    this.#settle(gateways, limits)
  }

  /** Stops accepting everywhere; resolves when no connection is left. */
  async drain(): Promise<void> {
    for (const open of this.#open.values()) this.#leaving.add(open.listener)
    this.#open.clear()
    await Promise.all([...this.#leaving].map((listener) => listener.drain()))
  }

  /** The time is up. */
  cut(): void {
    for (const listener of this.#leaving) listener.cut()
  }

  #settle(gateways: readonly GatewayConfig[], limits: WireLimits): void {
    for (const [port, open] of this.#open) {
      const config = gateways.find((gateway) => gateway.port === port)
      if (config === undefined) this.#drain(open)
      else {
        open.listener.update(limits, certificatesOf(config))
        this.#open.set(port, { config, listener: open.listener })
      }
    }
  }

  async #listen(config: GatewayConfig, limits: WireLimits): Promise<Open> {
    const { address, port } = config
    const listener = new Listener({
      address,
      port,
      certificates: certificatesOf(config),
      limits,
      steps: this.#owner,
      serve: (exchange) => this.#owner.serve(exchange, port),
      troubled: ({ message }) =>
        this.#log.line('warn', 'accept', 'cannot accept', [
          'bind',
          `bind/${port}`,
          'error',
          message,
        ]),
    })
    await listener.listen()
    const open = { config, listener }
    this.#open.set(port, open)
    this.#log.line('info', 'gateway', 'started bind', ['bind', `bind/${port}`, 'address', address])
    return open
  }

  #drain(open: Open): Open {
    const { listener, config } = open
    if (this.#open.get(config.port) === open) this.#open.delete(config.port)
    this.#leaving.add(listener)
    this.#log.line('info', 'gateway', 'draining bind', ['bind', `bind/${config.port}`])
    void listener.drain().then(() => this.#leaving.delete(listener))
    return open
  }
}

/** Whether one socket can serve both. */
function isSame(a: GatewayConfig, b: GatewayConfig): boolean {
  return a.address === b.address && isSecure(a) === isSecure(b)
}

function isSecure({ listeners }: GatewayConfig): boolean {
  return listeners.some(({ tls }) => tls !== null)
}

function certificatesOf({ listeners }: GatewayConfig): Certificate[] {
  const certificates: Certificate[] = []
  for (const { hostname, tls } of listeners) if (tls !== null) certificates.push({ hostname, tls })
  return certificates
}
