// Checks `gateways` and their listeners, and resolves references to them.

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

/** Drafts can still get routes and limits until the configuration is frozen. */
export interface RouteDraft extends RouteConfig {
  /** The same list in all copies of a route. */
  readonly limits: LimitConfig[]
}

export interface ListenerDraft extends ListenerConfig {
  readonly routes: RouteDraft[]
}

export interface GatewayDraft extends GatewayConfig {
  readonly listeners: readonly ListenerDraft[]
  readonly limits: LimitConfig[]
}

/** The namespace of routes and gateways that set none. */
export const DEFAULT_NAMESPACE = 'default'

/** All addresses, IPv6 and IPv4. */
export const ANY_ADDRESS = '::'

export function checkGateways(
  context: CheckContext,
  shapes: ReadonlyMap<string, GatewayShape | undefined>,
): GatewayDraft[] {
  const gateways: GatewayDraft[] = []
  for (const [name, shape] of shapes) {
    if (!/^[^/\s]+$/.test(name))
      context.problem(['gateways', name], 'expected a name without slashes and spaces', 'key')
    if (shape === undefined) continue
    const { port, address = ANY_ADDRESS, namespace = DEFAULT_NAMESPACE } = shape
    context.recordPlace(bindKeyOf(port), ['gateways', name])
    const listeners = checkListeners(context, name, shape)
    gateways.push({ name, namespace, port, address, listeners, limits: [] })
  }
  return gateways
}

export interface PortUse {
  readonly port: number
  /** Path of the section that uses the port. */
  readonly path: ConfigPath
}

/** Reports ports that are used twice. */
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
  const others = { ...shape, namespace: undefined, port: undefined, address: undefined }
  for (const [field, value] of Object.entries(others))
    if (value !== undefined && field !== 'listeners')
      context.problem(
        [...path, field],
        `got ${field} next to listeners, expected only port, address and namespace`,
        'key',
      )
  const drafts = listeners.map((listener, index) => {
    const listenerName = listener.name ?? `listener${index}`
    const key = `gateway/${name}/${listenerName}`
    const at = [...path, 'listeners', index]
    return checkListener(context, at, listener, { key, name: listenerName })
  })
  checkListenersDiffer(context, path, drafts)
  return drafts
}

function checkListenersDiffer(
  context: CheckContext,
  path: ConfigPath,
  listeners: readonly ListenerDraft[],
): void {
  listeners.forEach((listener, index) => {
    const at = [...path, 'listeners', index]
    const previous = listeners.slice(0, index)
    if (previous.some(({ name }) => name === listener.name))
      context.problem(
        at,
        `got a second listener named '${listener.name}', expected names to differ`,
      )
    if (previous.some(({ hostname }) => hostname === listener.hostname))
      context.problem(at, 'got the hostname of another listener, expected hostnames to differ')
    if (listener.protocol !== listeners[0]!.protocol)
      context.problem(at, 'got HTTP and HTTPS on one port, expected one protocol for all listeners')
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
    context.problem(
      path,
      'got minTLSVersion above maxTLSVersion, expected it to be at most that version',
    )
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

/** The gateways that routes and sections can refer to. */
export interface AttachmentTargets {
  readonly gateways: readonly GatewayDraft[]
  /** Names of all configured gateways, including those with problems. */
  readonly names: readonly string[]
}

/** The gateway that is used when no gateway is named. */
export const DEFAULT_GATEWAY = 'default'

/** Resolves gateway references to listeners without duplicates; `path` is the field with the references. */
export function resolveListeners(
  context: CheckContext,
  path: ConfigPath,
  references: string | readonly string[],
  targets: AttachmentTargets,
): Set<ListenerDraft> {
  const found = new Set<ListenerDraft>()
  for (const [at, reference] of [references].flat().entries()) {
    const listeners = resolveReference(reference, targets)
    if (listeners === undefined) {
      const suggestion = nearest(reference, referenceNamesOf(targets))
      const hint =
        suggestion === undefined
          ? `, expected one of ${targets.names.join(', ') || 'the names under gateways'}`
          : `, did you mean '${suggestion}'?`
      const referencePath = typeof references === 'string' ? path : [...path, at]
      context.problem(referencePath, `unknown gateway reference ${reference}${hint}`)
    }
    for (const listener of listeners ?? []) found.add(listener)
  }
  return found
}

/** An empty list for a gateway with problems, because its listeners are not known. */
function resolveReference(
  reference: string,
  targets: AttachmentTargets,
): readonly ListenerDraft[] | undefined {
  const [name = '', part, ...rest] = reference.split('/')
  if (!targets.names.includes(name) || rest.length > 0) return undefined
  const gateway = targets.gateways.find((one) => one.name === name)
  if (gateway === undefined) return []
  if (part === undefined) return gateway.listeners
  const key = `gateway/${name}/${part}`
  const listener = gateway.listeners.find((one) => one.key === key)
  return listener === undefined ? undefined : [listener]
}

function referenceNamesOf({ gateways, names }: AttachmentTargets): string[] {
  const keys = gateways.flatMap(({ listeners }) => listeners.map(({ key }) => key.slice(8)))
  return [...names, ...keys]
}
