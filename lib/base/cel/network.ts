// Addresses and networks: `cidr("10.0.0.0/8").containsIP(source.address)`, `isIP(text)`.

import { BlockList, isIP } from 'node:net'
import type { Environment } from '@marcbachmann/cel-js'
import { CelFault } from './errors.ts'

const SYNC = { async: false }

const MAPPED = /^::ffff:(?=[\d.]+$)/i

/** A network in CIDR notation; an address of the other family is never in it. */
class Cidr {
  readonly #family: number
  readonly #addresses = new BlockList()

  constructor(text: string) {
    const [, network = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
    const family = isIP(network)
    if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) throw new CelFault('conversion')
    this.#family = family
    this.#addresses.addSubnet(network, Number(bits), family === 4 ? 'ipv4' : 'ipv6')
  }

  contains(text: string): boolean {
    const address = text.replace(MAPPED, '')
    const family = isIP(address)
    if (family === 0) throw new CelFault('conversion')
    return family === this.#family && this.#addresses.check(address, family === 4 ? 'ipv4' : 'ipv6')
  }
}

export function registerNetwork(environment: Environment): void {
  environment
    .registerType('Cidr', Cidr)
    .registerFunction('isIP(string): bool', (text: string) => isIP(text) !== 0, SYNC)
    .registerFunction('cidr(string): Cidr', (text: string) => new Cidr(text), SYNC)
    .registerFunction(
      'Cidr.containsIP(string): bool',
      (cidr: Cidr, address: string) => cidr.contains(address),
      SYNC,
    )
}
