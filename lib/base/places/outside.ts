// Hosts of the world outside: what a stranger's document names must not lead to this machine or to the network it is in.

import { lookup } from 'node:dns'
import { BlockList } from 'node:net'
import type { LookupFunction } from 'node:net'

/** Of this machine, its network, or nobody (RFC 6890, RFC 4193, RFC 6052); an IPv4 address within IPv6 counts as itself. */
const INNER: readonly (readonly [net: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
  ['::', 127],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
]

const inner = new BlockList()
for (const [net, prefix] of INNER) inner.addSubnet(net, prefix, familyOf(net))

export class InnerAddress extends Error {}

/** Of an address without brackets. */
export function isInner(address: string): boolean {
  return inner.check(address, familyOf(address))
}

/** For connections: looked at when one is made, so that a name cannot lead elsewhere a moment later. */
export function outsideLookup(resolve: typeof lookup = lookup): LookupFunction {
  return (name, options, told) => {
    resolve(name, { ...options, all: true }, (error, found) => {
      if (error !== null) return told(error, '')
      if (found.some(({ address }) => isInner(address)))
        return told(new InnerAddress(`${name} is inside`), '')
      const [first] = found
      if (options.all === true) told(null, found)
      else told(null, first?.address ?? '', first?.family)
    })
  }
}

/** By its look: what Node knows them by takes five milliseconds of each start to compile. */
function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4'
}
