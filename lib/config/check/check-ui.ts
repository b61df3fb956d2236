// Checks the section `ui`: the listeners that serve the web UI, its policies, and warnings about open access.

import type { z } from 'zod'
import { isLoopback } from '../../core/addresses.ts'
import { UI_PATH, UI_PATHS } from '../../core/well-known-paths.ts'
import type { ConfigPath } from '../config-error.ts'
import type {
  GatewayConfig,
  PathMatch,
  RouteConfig,
  UiConfig,
  UiPolicies,
} from '../config-types.ts'
import type { UI } from '../shape/document-shapes.ts'
import { formatAddress } from '../show.ts'
import type { CheckContext } from './check-context.ts'
import { DEFAULT_GATEWAY, resolveListeners } from './check-gateways.ts'
import type { AttachmentTargets, ListenerDraft } from './check-gateways.ts'
import { checkGatewayPolicies } from './check-policies.ts'
import {
  checkPolicyLevels,
  requiresCredential,
  requiresKnownClient,
  warnAboutUnsetIdentity,
} from './check-policy-use.ts'

/** Runs after the routes are checked, because it warns about paths that a route and the web UI share. */
export function checkUi(
  context: CheckContext,
  shape: z.output<typeof UI> | undefined,
  targets: AttachmentTargets,
): UiConfig | null {
  if (shape === undefined) return null
  const { gateways, policies: policiesShape = {} } = shape
  context.recordPlace('ui', ['ui'])
  const path = ['ui', 'policies']
  const { transformations: _unused, ...checked } = checkGatewayPolicies(
    context,
    path,
    policiesShape,
  )
  const policies = { ...checked, csrf: policiesShape.csrf ?? null }
  const listeners = resolveUiListeners(context, gateways, targets)
  for (const listener of listeners) {
    checkPolicyLevels(context, path, { ...checked, mcpAuthentication: null }, listener)
    warnAboutUnsetIdentity(context, path, checked, [listener.policies, checked])
    warnAboutRoutes(context, listener)
  }
  warnAboutAuthModes(context, path, policies)
  for (const gateway of targets.gateways)
    if (gateway.listeners.some((one) => listeners.includes(one) && isOpen(one, gateway, policies)))
      warnAboutOpenAccess(context, gateway)
  if (listeners.some((one) => !requiresCredential(policies) && !requiresCredential(one.policies)))
    warnAboutOrigins(context, path, policies)
  return { listeners: listeners.map(({ key }) => key), policies }
}

function resolveUiListeners(
  context: CheckContext,
  gateways: string | readonly string[] | undefined,
  targets: AttachmentTargets,
): ListenerDraft[] {
  if (gateways === undefined && !targets.names.includes(DEFAULT_GATEWAY)) {
    context.problem(['ui'], 'ui.gateways must be set')
    return []
  }
  return [...resolveListeners(context, ['ui', 'gateways'], gateways ?? DEFAULT_GATEWAY, targets)]
}

function isOpen(
  listener: ListenerDraft,
  { address }: GatewayConfig,
  policies: UiPolicies,
): boolean {
  return (
    !isLoopback(address) &&
    !requiresKnownClient(policies) &&
    !requiresKnownClient(listener.policies)
  )
}

function warnAboutOpenAccess(context: CheckContext, { address, port }: GatewayConfig): void {
  context.warn(
    ['ui'],
    `every client that can connect to ${formatAddress({ host: address, port })} can read the configuration, the log ` +
      'and traces of requests: add basicAuth, jwtAuth or apiKey with mode: strict, or authorization rules with ' +
      'allow or require, to ui.policies',
  )
}

/** Warns on any address: an operator who configures a credential expects it to be required. */
function warnAboutAuthModes(context: CheckContext, path: ConfigPath, policies: UiPolicies): void {
  if (requiresKnownClient(policies)) return
  for (const name of ['jwtAuth', 'basicAuth', 'apiKey'] as const) {
    const { mode } = policies[name] ?? {}
    if (mode !== undefined)
      context.warn(
        [...path, name],
        `mode ${mode} accepts requests without a credential: set mode: strict`,
      )
  }
}

function warnAboutOrigins(context: CheckContext, path: ConfigPath, { cors }: UiPolicies): void {
  if (cors?.allowOrigins.includes('*') === true)
    context.warn(
      [...path, 'cors', 'allowOrigins'],
      "'*' allows every web page in the user's browser to read it: name origins, or add a credential with mode: strict",
    )
}

/** If a route and the web UI share a path, only one of them answers there. */
function warnAboutRoutes(context: CheckContext, { key, routes }: ListenerDraft): void {
  for (const route of routes) {
    const taken = new Set(route.matches.flatMap(({ path }) => uiPathsTakenByRoute(route, path)))
    const lost = new Set(route.matches.flatMap(({ path }) => routePathsLostToUi(route, path)))
    if (taken.size > 0)
      context.warn(
        ['ui'],
        `route '${route.name}' answers ${formatList(taken)} on ${key} instead of the web UI`,
      )
    if (lost.size > 0)
      context.warn(
        ['ui'],
        `the web UI answers ${formatList(lost)} on ${key} instead of route '${route.name}'`,
      )
  }
}

/** A route with hostnames has precedence over the web UI on any path. */
function uiPathsTakenByRoute({ hostnames }: RouteConfig, path: PathMatch): string[] {
  const value = path.kind === 'prefix' ? trimTrailingSlash(path.value) : path.value
  if (path.kind !== 'regex' && value.startsWith(`${UI_PATH}/`)) return [value]
  const isFirst = hostnames.length > 0 || path.kind === 'exact' || value === UI_PATH
  return isFirst && (path.kind !== 'regex' || hostnames.length > 0) ? coveredUiPaths(path) : []
}

/** A catch-all route is expected to lose paths to the web UI, so it gets no warning. */
function routePathsLostToUi({ hostnames }: RouteConfig, path: PathMatch): string[] {
  if (hostnames.length > 0 || path.kind === 'exact') return []
  const value = trimTrailingSlash(path.value)
  return path.kind === 'prefix' && (value === '' || value === UI_PATH) ? [] : coveredUiPaths(path)
}

function coveredUiPaths(path: PathMatch): string[] {
  return UI_PATHS.filter((one) => {
    if (path.kind === 'regex') return path.regex.test(one)
    const value = path.kind === 'prefix' ? trimTrailingSlash(path.value) : path.value
    return one === value || (path.kind === 'prefix' && one.startsWith(`${value}/`))
  })
}

function trimTrailingSlash(path: string): string {
  return path.replace(/\/+$/, '')
}

function formatList(paths: ReadonlySet<string>): string {
  return [...paths].join(', ')
}
