// `routes` → hung on the listeners they name.

import type { Path } from '../error.ts'
import { ANY_REQUEST } from '../shape/route.ts'
import type { RouteShape } from '../shape/route.ts'
import type { RouteMatch, RoutePolicies } from '../types.ts'
import { refuseUnread } from './ai.ts'
import { DEFAULT_GATEWAY, listenersFor } from './attach.ts'
import type { Attachments } from './attach.ts'
import { backendOf } from './backends.ts'
import type { NamedTargets, Target } from './backends.ts'
import type { Context } from './context.ts'
import { checkLevels } from './levels.ts'
import type { OpenListener, OpenRoute } from './gateways.ts'
import { limitsOf, refuseTokens } from './limits.ts'
import { checkPolicies, checkPrefixes } from './policies.ts'
import { warnOfUnread } from './unread.ts'

/** Routes have no namespaces of their own yet; keys have room for one. */
export const NAMESPACE = 'default'

/** A route before it has a listener. */
export interface LooseRoute {
  readonly name: string
  readonly hostnames: readonly string[]
  readonly matches: readonly RouteMatch[]
  readonly policies: RoutePolicies
  readonly limits: OpenRoute['limits']
  readonly backends: readonly { readonly target: Target; readonly weight: number }[]
}

export function checkRoutes(
  context: Context,
  routes: readonly (RouteShape | undefined)[],
  to: Attachments,
  named: NamedTargets,
): void {
  for (const [index, shape] of routes.entries()) {
    if (shape === undefined) continue
    const path = ['routes', index]
    const route = routeOf(context, path, shape, named)
    if ((shape.backends ?? []).length === 0 && !answersItself(route.policies))
      context.problem(
        path,
        'got no backends, expected some, or the policy requestRedirect or directResponse',
      )
    for (const listener of listenersOf(context, path, shape, route.name, to))
      hang(context, path, route, listener)
  }
}

function routeOf(context: Context, path: Path, shape: RouteShape, named: NamedTargets): LooseRoute {
  const { hostnames = [], matches = [ANY_REQUEST], backends = [], policies: written = {} } = shape
  const place = [...path, 'policies']
  const policies = checkPolicies(context, place, written)
  checkPrefixes(context, place, policies, matches)
  const found: { target: Target; weight: number }[] = []
  for (const [at, backend] of backends.entries()) {
    const target = backendOf(context, [...path, 'backends', at], backend, named)
    if (target !== undefined) found.push({ target, weight: backend.weight ?? 1 })
  }
  if (found.length > 1 && found.some(({ target }) => target.kind === 'mcp'))
    context.problem(
      [...path, 'backends'],
      'got an mcp backend beside others, expected it alone: its sessions are with it',
    )
  // What a backend that was refused would have been is not known.
  const kinds = found.length < backends.length ? null : found.map(({ target }) => target.kind)
  if (kinds?.every((kind) => kind === 'mcp')) refuseTokens(context, place, written)
  if (kinds?.every((kind) => kind !== 'ai'))
    refuseUnread(context, [...place, 'ai'], policies.ai, 'others')
  return {
    name: shape.name ?? `route${path[1]}`,
    hostnames,
    matches,
    policies,
    limits: limitsOf(context, place, written),
    backends: found,
  }
}

/** Gives a route the listener's key; `key` may be given. */
export function hang(
  context: Context,
  path: Path,
  { backends, ...route }: LooseRoute,
  listener: OpenListener,
  key = `${listener.key}/${NAMESPACE}/${route.name}`,
): void {
  const around = [listener.policies, route.policies]
  checkLevels(context, [...path, 'policies'], route.policies, listener)
  warnOfUnread(context, [...path, 'policies'], route.policies, around)
  for (const [at, { target }] of backends.entries())
    warnOfUnread(context, [...path, 'backends', at, 'policies'], target.policies, around)
  if (listener.routes.some((other) => other.key === key))
    context.problem(
      path,
      `got a second route named '${route.name}' on ${listener.key}, expected names to differ`,
    )
  context.mark(key, path)
  const own = backends.map(({ target, weight }, at) => {
    const one = `${key}/backend${at}`
    // A section is its own backend.
    context.mark(one, path[0] === 'routes' ? [...path, 'backends', at] : path)
    return { ...target, key: one, weight }
  })
  listener.routes.push({ key, ...route, backends: own })
}

function answersItself(policies: RoutePolicies): boolean {
  return policies.requestRedirect !== null || policies.directResponse !== null
}

function listenersOf(
  context: Context,
  path: Path,
  shape: RouteShape,
  name: string,
  to: Attachments,
): Iterable<OpenListener> {
  if (shape.gateways === undefined && !to.names.includes(DEFAULT_GATEWAY)) {
    context.problem(path, `routes.${name} must set gateways`)
    return []
  }
  return listenersFor(context, [...path, 'gateways'], shape.gateways ?? DEFAULT_GATEWAY, to)
}
