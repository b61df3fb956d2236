// Whose admin interface is asked: this machine's, one named on the command line, or one of the hosts file.

import { hostOf } from '../base/places/loopback.ts'
import { has, portOf, valueOf } from './command.ts'
import type { Call } from './command.ts'
import { addressNamed } from './hosts.ts'

/** Where an admin interface listens. */
export type Target =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly label: string }
  | { readonly kind: 'unix'; readonly path: string; readonly label: string }

const ADMIN_PORT = 15_000
const LOCAL_HOST = '127.0.0.1'
const RESOURCE = /^gateways?\/(.+)$/

/** Throws what does not fit together, and a name that nobody knows. */
export async function targetOf(call: Call): Promise<Target> {
  const [resource] = checkResource(call)
  const port = portOf(call, 'proxy-admin-port', ADMIN_PORT)
  const url = valueOf(call, 'admin-url')
  if (url !== undefined) {
    if (has(call, 'local')) throw new Error('at most one of --local or --admin-url may be passed')
    if (resource !== undefined) throw new Error('--admin-url does not accept a resource argument')
  }
  if (url === undefined && resource === undefined) return tcp(LOCAL_HOST, port)
  if (has(call, 'proxy-admin-port'))
    throw new Error('--proxy-admin-port is for this machine only: an address has its own port')
  if (url !== undefined) return addressOf(url, '--admin-url')
  const [, name = ''] = RESOURCE.exec(resource!) ?? []
  if (name === '') throw new Error(`invalid resource "${resource}": expected gateway/<name>`)
  const { address, file } = await addressNamed(name)
  return addressOf(address, `${file}: ${name}:`)
}

export function checkResource(call: Call): readonly string[] {
  const { length } = call.words
  if (length > 1) throw new Error(`accepts at most 1 resource arg, received ${length}`)
  if (length > 0 && has(call, 'local'))
    throw new Error('--local does not accept a resource argument')
  return call.words
}

function addressOf(text: string, place: string): Target {
  const [, path] = /^unix:(?:\/\/)?(\/.+)$/.exec(text) ?? []
  if (path !== undefined) return { kind: 'unix', path, label: `unix:${path}` }
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url?.pathname === '/' && url.search === '' && url.hash === ''
  if (url?.protocol !== 'http:' || !isPlain || url.username !== '')
    throw new Error(`invalid ${place} ${text}: expected http://host:port or unix:/path`)
  return tcp(hostOf(url.hostname), url.port === '' ? ADMIN_PORT : Number(url.port))
}

function tcp(host: string, port: number): Target {
  return { kind: 'tcp', host, port, label: `${host.includes(':') ? `[${host}]` : host}:${port}` }
}
