// `routes` → hung on the listeners they name.

import type { ConfigPath } from '../config-error.ts'
import { ANY_REQUEST } from '../shape/document-shapes.ts'
import type { RouteShape } from '../shape/document-shapes.ts'
import type { RouteMatch, RoutePolicies } from '../config-types.ts'
import { refuseUnusedAiPolicy } from './check-llm.ts'
import { DEFAULT_GATEWAY, resolveListeners } from './check-gateways.ts'
import type { AttachmentTargets, ListenerDraft, RouteDraft } from './check-gateways.ts'
import { checkBackend } from './check-backends.ts'
import type { NamedBackends, UnattachedBackend } from './check-backends.ts'
import type { CheckContext } from './check-context.ts'
import { checkPolicyLevels, warnAboutUnsetIdentity } from './check-policy-use.ts'
import { checkLimits, refuseTokenLimits } from './check-limits.ts'
import { checkPolicies, checkPrefixes } from './check-policies.ts'

/** Routes have no namespaces of their own yet; keys have room for one. */
export const NAMESPACE = 'default'

/** A route before it has a listener. */
export interface UnattachedRoute {
  readonly name: string
  readonly hostnames: readonly string[]
  readonly matches: readonly RouteMatch[]
  readonly policies: RoutePolicies
  readonly limits: RouteDraft['limits']
  readonly backends: readonly { readonly target: UnattachedBackend; readonly weight: number }[]
}

export function checkRoutes(
  context: CheckContext,
  routes: readonly (RouteShape | undefined)[],
  to: AttachmentTargets,
  named: NamedBackends,
): void {
  for (const [index, shape] of routes.entries()) {
    if (shape === undefined) continue
    const path = ['routes', index]
    const route = checkRoute(context, path, shape, named)
    if ((shape.backends ?? []).length === 0 && !answersItself(route.policies))
      context.problem(
        path,
        'got no backends, expected some, or the policy requestRedirect or directResponse',
      )
    for (const listener of resolveRouteListeners(context, path, shape, route.name, to))
      attachRoute(context, path, route, listener)
  }
}

function checkRoute(
  context: CheckContext,
  path: ConfigPath,
  shape: RouteShape,
  named: NamedBackends,
): UnattachedRoute {
  const { hostnames = [], matches = [ANY_REQUEST], backends = [], policies: written = {} } = shape
  const place = [...path, 'policies']
  const policies = checkPolicies(context, place, written)
  checkPrefixes(context, place, policies, matches)
  const found: { target: UnattachedBackend; weight: number }[] = []
  for (const [at, backend] of backends.entries()) {
    const target = checkBackend(context, [...path, 'backends', at], backend, named)
    if (target !== undefined) found.push({ target, weight: backend.weight ?? 1 })
  }
  if (found.length > 1 && found.some(({ target }) => target.kind === 'mcp'))
    context.problem(
      [...path, 'backends'],
      'got an mcp backend beside others, expected it alone: its sessions are with it',
    )
  // What a backend that was refused would have been is not known.
  const kinds = found.length < backends.length ? null : found.map(({ target }) => target.kind)
  if (kinds?.every((kind) => kind === 'mcp')) refuseTokenLimits(context, place, written)
  if (kinds?.every((kind) => kind !== 'ai'))
    refuseUnusedAiPolicy(context, [...place, 'ai'], policies.ai, 'others')
  return {
    name: shape.name ?? `route${path[1]}`,
    hostnames,
    matches,
    policies,
    limits: checkLimits(context, place, written),
    backends: found,
  }
}

/** Gives a route the listener's key; `key` may be given. */
export function attachRoute(
  context: CheckContext,
  path: ConfigPath,
  { backends, ...route }: UnattachedRoute,
  listener: ListenerDraft,
  key = `${listener.key}/${NAMESPACE}/${route.name}`,
): void {
  const around = [listener.policies, route.policies]
  checkPolicyLevels(context, [...path, 'policies'], route.policies, listener)
  warnAboutUnsetIdentity(context, [...path, 'policies'], route.policies, around)
  for (const [at, { target }] of backends.entries())
    warnAboutUnsetIdentity(context, [...path, 'backends', at, 'policies'], target.policies, around)
  if (listener.routes.some((other) => other.key === key))
    context.problem(
      path,
      `got a second route named '${route.name}' on ${listener.key}, expected names to differ`,
    )
  context.recordPlace(key, path)
  const own = backends.map(({ target, weight }, at) => {
    const one = `${key}/backend${at}`
    // A section is its own backend.
    context.recordPlace(one, path[0] === 'routes' ? [...path, 'backends', at] : path)
    return { ...target, key: one, weight }
  })
  listener.routes.push({ key, ...route, backends: own })
}

function answersItself(policies: RoutePolicies): boolean {
  return policies.requestRedirect !== null || policies.directResponse !== null
}

function resolveRouteListeners(
  context: CheckContext,
  path: ConfigPath,
  shape: RouteShape,
  name: string,
  to: AttachmentTargets,
): Iterable<ListenerDraft> {
  if (shape.gateways === undefined && !to.names.includes(DEFAULT_GATEWAY)) {
    context.problem(path, `routes.${name} must set gateways`)
    return []
  }
  return resolveListeners(context, [...path, 'gateways'], shape.gateways ?? DEFAULT_GATEWAY, to)
}
