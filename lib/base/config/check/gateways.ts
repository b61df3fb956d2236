// `gateways` → listeners by port, before routes are hung on them.

import { bindKey } from '../bind-key.ts'
import type { Path } from '../error.ts'
import { Secret } from '../secret.ts'
import type { GatewayShape, ListenerShape, TlsShape } from '../shape/gateway.ts'
import type { GatewayConfig, ListenerConfig, ListenerTls, RouteConfig } from '../types.ts'
import type { LimitConfig } from '../limit-types.ts'
import type { Context } from './context.ts'
import { gatewayPoliciesOf } from './policies.ts'
import { warnOfUnread } from './unread.ts'

/** While it is made, more can be hung on it. */
export interface OpenRoute extends RouteConfig {
  /** One list for all copies of a route. */
  readonly limits: LimitConfig[]
}

export interface OpenListener extends ListenerConfig {
  readonly routes: OpenRoute[]
}

export interface OpenGateway extends GatewayConfig {
  readonly listeners: readonly OpenListener[]
  readonly limits: LimitConfig[]
}

/** Dual stack: IPv4 as well. */
export const ANY_ADDRESS = '::'

export function checkGateways(
  context: Context,
  written: ReadonlyMap<string, GatewayShape | undefined>,
): OpenGateway[] {
  const gateways: OpenGateway[] = []
  for (const [name, shape] of written) {
    if (!/^[^/\s]+$/.test(name))
      context.problem(['gateways', name], 'expected a name without slashes and spaces', 'key')
    if (shape === undefined) continue
    const { port, address = ANY_ADDRESS } = shape
    context.mark(bindKey(port), ['gateways', name])
    const listeners = listenersOf(context, name, shape)
    gateways.push({ name, port, address, listeners, limits: [] })
  }
  return gateways
}

export interface PortUse {
  readonly port: number
  /** Of the section that uses it. */
  readonly path: Path
}

/** Each section that listens has a port of its own. */
export function checkPorts(context: Context, uses: readonly PortUse[]): void {
  const ports = new Map<number, Path>()
  for (const { port, path } of uses) {
    const other = ports.get(port)
    if (other === undefined) ports.set(port, path)
    else {
      const both = `${other.join('.')} and ${path.join('.')}`
      const message = `port ${port} is configured by both ${both}, expected a port of its own for each`
      context.problem([...path, 'port'], message)
    }
  }
}

function listenersOf(context: Context, name: string, shape: GatewayShape): OpenListener[] {
  const path = ['gateways', name]
  const { listeners } = shape
  if (listeners === undefined)
    return [listenerOf(context, path, shape, { key: `gateway/${name}`, name })]
  const { port: _port, address: _address, listeners: _listeners, ...others } = shape
  for (const [field, value] of Object.entries(others))
    if (value !== undefined)
      context.problem(
        [...path, field],
        `got ${field} beside listeners, expected only port and address`,
        'key',
      )
  const made = listeners.map((listener, index) => {
    const own = listener.name ?? `listener${index}`
    const key = `gateway/${name}/${own}`
    return listenerOf(context, [...path, 'listeners', index], listener, { key, name: own })
  })
  checkApart(context, path, made)
  return made
}

function checkApart(context: Context, path: Path, listeners: readonly OpenListener[]): void {
  listeners.forEach((listener, index) => {
    const place = [...path, 'listeners', index]
    const before = listeners.slice(0, index)
    if (before.some(({ name }) => name === listener.name))
      context.problem(
        place,
        `got a second listener named '${listener.name}', expected names to differ`,
      )
    if (before.some(({ hostname }) => hostname === listener.hostname))
      context.problem(place, 'got the hostname of another listener, expected hostnames to differ')
    if (listener.protocol !== listeners[0]!.protocol)
      context.problem(
        place,
        'got HTTP and HTTPS on one port, expected one protocol for all listeners',
      )
  })
}

function listenerOf(
  context: Context,
  path: Path,
  shape: ListenerShape,
  names: { key: string; name: string },
): OpenListener {
  const { tls, hostname = '' } = shape
  context.mark(names.key, path)
  const protocol = shape.protocol ?? (tls === undefined ? 'HTTP' : 'HTTPS')
  if (protocol === 'HTTP' && tls !== undefined)
    context.problem(path, 'protocol HTTP cannot set tls')
  if (protocol === 'HTTPS' && tls === undefined)
    context.problem(path, 'protocol HTTPS requires tls')
  const checked = tls === undefined ? null : tlsOf(context, [...path, 'tls'], tls)
  const policies = gatewayPoliciesOf(context, path, shape)
  warnOfUnread(context, path, policies, [policies])
  return { ...names, hostname, protocol, tls: checked, policies, routes: [] }
}

const VERSIONS = { TLS_V1_2: 'TLSv1.2', TLS_V1_3: 'TLSv1.3' } as const

function tlsOf(context: Context, path: Path, shape: TlsShape): ListenerTls {
  const { minTLSVersion = 'TLS_V1_2', maxTLSVersion = 'TLS_V1_3' } = shape
  if (minTLSVersion > maxTLSVersion)
    context.problem(path, 'got minTLSVersion above maxTLSVersion, expected it not to be')
  const cert = context.read([...path, 'cert'], shape.cert)
  const key = context.read([...path, 'key'], shape.key)
  context.checkTls(path, { cert, key })
  return {
    cert,
    key: new Secret(key),
    minVersion: VERSIONS[minTLSVersion],
    maxVersion: VERSIONS[maxTLSVersion],
  }
}
