// Checks `routes` and attaches them to the listeners that they name.

import type { PathNormalization } from '../../core/bounds.ts'
import { RequestHead } from '../../core/head.ts'
import { normalizeTarget } from '../../http/normalize-path.ts'
import type { ConfigPath } from '../config-error.ts'
import { ANY_REQUEST } from '../shape/document-shapes.ts'
import type { RouteShape } from '../shape/document-shapes.ts'
import type { RouteMatch, RoutePolicies } from '../config-types.ts'
import { refuseUnusedAiPolicy } from './check-llm.ts'
import { DEFAULT_GATEWAY, DEFAULT_NAMESPACE, resolveListeners } from './check-gateways.ts'
import type { AttachmentTargets, ListenerDraft, RouteDraft } from './check-gateways.ts'
import { checkBackend } from './check-backends.ts'
import type { NamedBackends, UnattachedBackend } from './check-backends.ts'
import type { CheckContext } from './check-context.ts'
import { checkPolicyLevels, warnAboutUnsetIdentity } from './check-policy-use.ts'
import { checkLimits, refuseTokenLimits } from './check-limits.ts'
import { checkPolicies, checkPrefixes } from './check-policies.ts'

/** A route before it is attached to a listener. */
export interface UnattachedRoute {
  readonly name: string
  readonly namespace: string
  readonly hostnames: readonly string[]
  readonly matches: readonly RouteMatch[]
  readonly policies: RoutePolicies
  readonly limits: RouteDraft['limits']
  readonly backends: readonly { readonly target: UnattachedBackend; readonly weight: number }[]
}

export function checkRoutes(
  context: CheckContext,
  routes: readonly (RouteShape | undefined)[],
  targets: AttachmentTargets,
  named: NamedBackends,
): void {
  for (const [index, shape] of routes.entries()) {
    if (shape === undefined) continue
    const path = ['routes', index]
    const route = checkRoute(context, path, shape, named)
    const { requestRedirect, directResponse } = route.policies
    const needsBackend = requestRedirect === null && directResponse === null
    if (needsBackend && (shape.backends ?? []).length === 0)
      context.problem(
        path,
        'got no backends, expected at least one, or the policy requestRedirect or directResponse',
      )
    if (!needsBackend && (shape.backends ?? []).length > 0) {
      const answering = directResponse === null ? 'requestRedirect' : 'directResponse'
      context.warn([...path, 'backends'], `never called: ${answering} answers every request`)
    }
    for (const listener of resolveRouteListeners(context, path, shape, route.name, targets))
      attachRoute(context, path, route, listener)
  }
}

function checkRoute(
  context: CheckContext,
  path: ConfigPath,
  shape: RouteShape,
  named: NamedBackends,
): UnattachedRoute {
  const {
    hostnames = [],
    matches = [ANY_REQUEST],
    backends = [],
    policies: policiesShape = {},
  } = shape
  const policiesPath = [...path, 'policies']
  const policies = checkPolicies(context, policiesPath, policiesShape)
  checkPrefixes(context, policiesPath, policies, matches)
  const valid: { target: UnattachedBackend; weight: number }[] = []
  for (const [at, backend] of backends.entries()) {
    const target = checkBackend(context, [...path, 'backends', at], backend, named)
    if (target !== undefined) valid.push({ target, weight: backend.weight ?? 1 })
  }
  if (valid.length > 1 && valid.some(({ target }) => target.kind === 'mcp'))
    context.problem(
      [...path, 'backends'],
      'got an mcp backend together with other backends, expected it alone: its sessions cannot move to them',
    )
  // The kind of a backend with problems is not known.
  const kinds = valid.length < backends.length ? null : valid.map(({ target }) => target.kind)
  if (kinds?.every((kind) => kind === 'mcp'))
    refuseTokenLimits(context, policiesPath, policiesShape)
  if (kinds?.every((kind) => kind !== 'ai'))
    refuseUnusedAiPolicy(context, [...policiesPath, 'ai'], policies.ai, 'others')
  return {
    name: shape.name ?? `route${path[1]}`,
    namespace: shape.namespace ?? DEFAULT_NAMESPACE,
    hostnames,
    matches,
    policies,
    limits: checkLimits(context, policiesPath, policiesShape),
    backends: valid,
  }
}

/** A path that is not in the form of requests never matches. */
export function warnAboutUnmatchedPaths(
  context: CheckContext,
  routes: readonly (RouteShape | undefined)[],
  mode: PathNormalization,
): void {
  const head = new RequestHead('', [], 0)
  for (const [index, shape] of routes.entries())
    for (const [at, { path }] of (shape?.matches ?? []).entries()) {
      if (path.kind === 'regex') continue
      head.target = path.value
      const error = normalizeTarget(head, mode)
      if (error === null && head.target === path.value) continue
      const form = error === null ? `requests have '${head.target}'` : 'such requests are refused'
      context.warn(
        ['routes', index, 'matches', at, 'path'],
        `'${path.value}' matches no request: ${form}, see frontendPolicies.http.normalizePath`,
      )
    }
}

/** Adds a route to a listener; the default key starts with the key of the listener. */
export function attachRoute(
  context: CheckContext,
  path: ConfigPath,
  { backends, ...route }: UnattachedRoute,
  listener: ListenerDraft,
  key = `${listener.key}/${route.namespace}/${route.name}`,
): void {
  const active = [listener.policies, route.policies]
  checkPolicyLevels(context, [...path, 'policies'], route.policies, listener)
  warnAboutUnsetIdentity(context, [...path, 'policies'], route.policies, active)
  for (const [at, { target }] of backends.entries())
    warnAboutUnsetIdentity(context, [...path, 'backends', at, 'policies'], target.policies, active)
  // Each route has recorded its place: a search of the list would take quadratic time.
  if (context.places.has(key))
    context.problem(
      path,
      `got a second route named '${route.name}' on ${listener.key}, expected names to differ`,
    )
  context.recordPlace(key, path)
  const attached = backends.map(({ target, weight }, at) => {
    const backendKey = `${key}/backend${at}`
    // A section has no list of backends.
    context.recordPlace(backendKey, path[0] === 'routes' ? [...path, 'backends', at] : path)
    return { ...target, key: backendKey, weight }
  })
  listener.routes.push({ key, ...route, backends: attached })
}

function resolveRouteListeners(
  context: CheckContext,
  path: ConfigPath,
  shape: RouteShape,
  name: string,
  targets: AttachmentTargets,
): Iterable<ListenerDraft> {
  if (shape.gateways === undefined && !targets.names.includes(DEFAULT_GATEWAY)) {
    context.problem(
      path,
      `routes.${name} must set gateways, as no gateway is named ${DEFAULT_GATEWAY}`,
    )
    return []
  }
  return resolveListeners(
    context,
    [...path, 'gateways'],
    shape.gateways ?? DEFAULT_GATEWAY,
    targets,
  )
}
