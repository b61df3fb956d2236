// `routes` → hung on the listeners they name.

import { nearest } from '../nearest.ts'
import { ANY_REQUEST } from '../shape/route.ts'
import type { RouteShape } from '../shape/route.ts'
import type { RouteConfig, RoutePolicies } from '../types.ts'
import type { Context } from './context.ts'
import type { OpenGateway, OpenListener } from './gateways.ts'
import { checkPolicies, checkPrefixes } from './policies.ts'

/** Routes have no namespaces of their own yet; keys have room for one. */
const NAMESPACE = 'default'

export interface Attachments {
  readonly gateways: readonly OpenGateway[]
  /** Names of all gateways written, also of those that were refused. */
  readonly names: readonly string[]
}

export function checkRoutes(
  context: Context,
  routes: readonly (RouteShape | undefined)[],
  to: Attachments,
): void {
  for (const [index, shape] of routes.entries()) {
    if (shape === undefined) continue
    const path = ['routes', index]
    const policies = checkPolicies(context, [...path, 'policies'], shape.policies ?? {})
    const name = shape.name ?? `route${index}`
    const { hostnames = [], matches = [ANY_REQUEST], backends = [] } = shape
    checkPrefixes(context, [...path, 'policies'], policies, matches)
    if (backends.length === 0 && !answersItself(policies))
      context.problem(
        path,
        'got no backends, expected some, or the policy requestRedirect or directResponse',
      )
    for (const listener of listenersFor(context, shape, { index, name }, to)) {
      const key = `${listener.key}/${NAMESPACE}/${name}`
      const own = backends.map(({ host, weight = 1 }, at) => ({
        key: `${key}/backend${at}`,
        endpoint: host,
        weight,
      }))
      const route: RouteConfig = { key, name, hostnames, matches, policies, backends: own }
      if (listener.routes.some((other) => other.key === key))
        context.problem(
          path,
          `got a second route named '${name}' on ${listener.key}, expected names to differ`,
        )
      listener.routes.push(route)
    }
  }
}

function answersItself(policies: RoutePolicies): boolean {
  return policies.requestRedirect !== null || policies.directResponse !== null
}

function listenersFor(
  context: Context,
  shape: RouteShape,
  route: { index: number; name: string },
  to: Attachments,
): Set<OpenListener> {
  const path = ['routes', route.index, 'gateways']
  const found = new Set<OpenListener>()
  if (shape.gateways === undefined && !to.names.includes('default')) {
    context.problem(path.slice(0, 2), `routes.${route.name} must set gateways`)
    return found
  }
  const { gateways: references = 'default' } = shape
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
function resolve(reference: string, to: Attachments): readonly OpenListener[] | undefined {
  const [name = '', part, ...rest] = reference.split('/')
  if (!to.names.includes(name) || rest.length > 0) return undefined
  const gateway = to.gateways.find((one) => one.name === name)
  if (gateway === undefined) return []
  if (part === undefined) return gateway.listeners
  const key = `gateway/${name}/${part}`
  const listener = gateway.listeners.find((one) => one.key === key)
  return listener === undefined ? undefined : [listener]
}

function namesToRefer(to: Attachments): string[] {
  const keys = to.gateways.flatMap(({ listeners }) => listeners.map(({ key }) => key.slice(8)))
  return [...to.names, ...keys]
}
