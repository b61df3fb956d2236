// `gateways` → listeners by port, before routes are hung on them.

import { nearest } from '../../text/nearest-name.ts'
import { Secret } from '../../text/secret.ts'
import { bindKeyOf } from '../bind-key.ts'
import type { ConfigPath } from '../config-error.ts'
import type { GatewayConfig, ListenerConfig, ListenerTls, RouteConfig } from '../config-types.ts'
import type { LimitConfig } from '../policy-types.ts'
import type { GatewayShape, ListenerShape, TlsShape } from '../shape/document-shapes.ts'
import type { CheckContext } from './check-context.ts'
import { checkGatewayPolicies } from './check-policies.ts'
import { warnAboutUnsetIdentity } from './check-policy-use.ts'

/** While it is made, more can be hung on it. */
export interface RouteDraft extends RouteConfig {
  /** One list for all copies of a route. */
  readonly limits: LimitConfig[]
}

export interface ListenerDraft extends ListenerConfig {
  readonly routes: RouteDraft[]
}

export interface GatewayDraft extends GatewayConfig {
  readonly listeners: readonly ListenerDraft[]
  readonly limits: LimitConfig[]
}

/** Dual stack: IPv4 as well. */
export const ANY_ADDRESS = '::'

export function checkGateways(
  context: CheckContext,
  written: ReadonlyMap<string, GatewayShape | undefined>,
): GatewayDraft[] {
  const gateways: GatewayDraft[] = []
  for (const [name, shape] of written) {
    if (!/^[^/\s]+$/.test(name))
      context.problem(['gateways', name], 'expected a name without slashes and spaces', 'key')
    if (shape === undefined) continue
    const { port, address = ANY_ADDRESS } = shape
    context.recordPlace(bindKeyOf(port), ['gateways', name])
    const listeners = checkListeners(context, name, shape)
    gateways.push({ name, port, address, listeners, limits: [] })
  }
  return gateways
}

export interface PortUse {
  readonly port: number
  /** Of the section that uses it. */
  readonly path: ConfigPath
}

/** Each section that listens has a port of its own. */
export function checkPorts(context: CheckContext, uses: readonly PortUse[]): void {
  const ports = new Map<number, ConfigPath>()
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

function checkListeners(context: CheckContext, name: string, shape: GatewayShape): ListenerDraft[] {
  const path = ['gateways', name]
  const { listeners } = shape
  if (listeners === undefined)
    return [checkListener(context, path, shape, { key: `gateway/${name}`, name })]
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
    return checkListener(context, [...path, 'listeners', index], listener, { key, name: own })
  })
  checkHostnamesDiffer(context, path, made)
  return made
}

function checkHostnamesDiffer(
  context: CheckContext,
  path: ConfigPath,
  listeners: readonly ListenerDraft[],
): void {
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

function checkListener(
  context: CheckContext,
  path: ConfigPath,
  shape: ListenerShape,
  names: { key: string; name: string },
): ListenerDraft {
  const { tls, hostname = '' } = shape
  context.recordPlace(names.key, path)
  const protocol = shape.protocol ?? (tls === undefined ? 'HTTP' : 'HTTPS')
  if (protocol === 'HTTP' && tls !== undefined)
    context.problem(path, 'protocol HTTP cannot set tls')
  if (protocol === 'HTTPS' && tls === undefined)
    context.problem(path, 'protocol HTTPS requires tls')
  const checked = tls === undefined ? null : checkListenerTls(context, [...path, 'tls'], tls)
  const policies = checkGatewayPolicies(context, path, shape)
  warnAboutUnsetIdentity(context, path, policies, [policies])
  return { ...names, hostname, protocol, tls: checked, policies, routes: [] }
}

const VERSIONS = { TLS_V1_2: 'TLSv1.2', TLS_V1_3: 'TLSv1.3' } as const

function checkListenerTls(context: CheckContext, path: ConfigPath, shape: TlsShape): ListenerTls {
  const { minTLSVersion = 'TLS_V1_2', maxTLSVersion = 'TLS_V1_3' } = shape
  if (minTLSVersion > maxTLSVersion)
    context.problem(path, 'got minTLSVersion above maxTLSVersion, expected it not to be')
  const cert = context.readFile([...path, 'cert'], shape.cert)
  const key = context.readFile([...path, 'key'], shape.key)
  context.checkTls(path, { cert, key })
  return {
    cert,
    key: new Secret(key),
    minVersion: VERSIONS[minTLSVersion],
    maxVersion: VERSIONS[maxTLSVersion],
  }
}

// Which listeners a name of a gateway stands for.

export interface AttachmentTargets {
  readonly gateways: readonly GatewayDraft[]
  /** Names of all gateways written, also of those that were refused. */
  readonly names: readonly string[]
}

/** What is used where no gateway is named. */
export const DEFAULT_GATEWAY = 'default'

/** `path` is that of the field that names them; each listener once. */
export function resolveListeners(
  context: CheckContext,
  path: ConfigPath,
  references: string | readonly string[],
  to: AttachmentTargets,
): Set<ListenerDraft> {
  const found = new Set<ListenerDraft>()
  for (const [at, reference] of [references].flat().entries()) {
    const listeners = resolve(reference, to)
    if (listeners === undefined) {
      const meant = nearest(reference, namesToRefer(to))
      const hint = meant === undefined ? '' : `, did you mean '${meant}'?`
      const place = typeof references === 'string' ? path : [...path, at]
      context.problem(place, `unknown gateway reference ${reference}${hint}`)
    }
    for (const listener of listeners ?? []) found.add(listener)
  }
  return found
}

/** None for a gateway that was refused: what it would have had is not known. */
function resolve(reference: string, to: AttachmentTargets): readonly ListenerDraft[] | undefined {
  const [name = '', part, ...rest] = reference.split('/')
  if (!to.names.includes(name) || rest.length > 0) return undefined
  const gateway = to.gateways.find((one) => one.name === name)
  if (gateway === undefined) return []
  if (part === undefined) return gateway.listeners
  const key = `gateway/${name}/${part}`
  const listener = gateway.listeners.find((one) => one.key === key)
  return listener === undefined ? undefined : [listener]
}

function namesToRefer(to: AttachmentTargets): string[] {
  const keys = to.gateways.flatMap(({ listeners }) => listeners.map(({ key }) => key.slice(8)))
  return [...to.names, ...keys]
}
