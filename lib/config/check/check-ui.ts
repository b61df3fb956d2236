// `ui` → the listeners that serve the web UI, and whom they show it to.

import type { z } from 'zod'
import { isLoopback } from '../../core/addresses.ts'
import { UI_PATH, UI_PATHS } from '../../core/well-known-paths.ts'
import type { ConfigPath } from '../config-error.ts'
import type {
  GatewayConfig,
  GatewayPolicies,
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
import { checkPolicyLevels, warnAboutUnsetIdentity } from './check-policy-use.ts'

/** Behind the routes: it is told where they and the page get in each other's way. */
export function checkUi(
  context: CheckContext,
  shape: z.output<typeof UI> | undefined,
  to: AttachmentTargets,
): UiConfig | null {
  if (shape === undefined) return null
  const { gateways, policies: written = {} } = shape
  context.recordPlace('ui', ['ui'])
  const path = ['ui', 'policies']
  const { transformations: _none, ...checked } = checkGatewayPolicies(context, path, written)
  const policies = { ...checked, csrf: written.csrf ?? null }
  const listeners = resolveUiListeners(context, gateways, to)
  for (const listener of listeners) {
    checkPolicyLevels(context, path, { ...checked, mcpAuthentication: null }, listener)
    warnAboutUnsetIdentity(context, path, checked, [listener.policies, checked])
    warnAboutRoutes(context, listener)
  }
  warnAboutAuthModes(context, path, policies)
  for (const gateway of to.gateways)
    if (gateway.listeners.some((one) => listeners.includes(one) && isOpen(one, gateway, policies)))
      warnAboutOpenAccess(context, gateway)
  if (listeners.some((one) => !requiresCredential(policies) && !requiresCredential(one.policies)))
    warnAboutOrigins(context, path, policies)
  return { listeners: listeners.map(({ key }) => key), policies }
}

function resolveUiListeners(
  context: CheckContext,
  gateways: string | readonly string[] | undefined,
  to: AttachmentTargets,
): ListenerDraft[] {
  if (gateways === undefined && !to.names.includes(DEFAULT_GATEWAY)) {
    context.problem(['ui'], 'ui.gateways must be set')
    return []
  }
  return [...resolveListeners(context, ['ui', 'gateways'], gateways ?? DEFAULT_GATEWAY, to)]
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
    `anyone who can connect to ${formatAddress({ host: address, port })} can read the configuration, the log and ` +
      'traces of requests there: add basicAuth, jwtAuth or apiKey with mode: strict, or rules of authorization that ' +
      'allow or require something, to ui.policies',
  )
}

/** Wherever it is: who writes a credential down expects it to be asked for. */
function warnAboutAuthModes(context: CheckContext, path: ConfigPath, policies: UiPolicies): void {
  if (requiresKnownClient(policies)) return
  for (const name of ['jwtAuth', 'basicAuth', 'apiKey'] as const) {
    const { mode } = policies[name] ?? {}
    if (mode !== undefined)
      context.warn(
        [...path, name],
        `mode ${mode} lets in whoever shows no credential: set mode: strict`,
      )
  }
}

function warnAboutOrigins(context: CheckContext, path: ConfigPath, { cors }: UiPolicies): void {
  if (cors?.allowOrigins.includes('*') === true)
    context.warn(
      [...path, 'cors', 'allowOrigins'],
      "'*' lets every web page that a browser here shows read it: name origins, or add a credential with mode: strict",
    )
}

/** Where a route and the page have the same path, one of them is never asked. */
function warnAboutRoutes(context: CheckContext, { key, routes }: ListenerDraft): void {
  for (const route of routes) {
    const taken = new Set(route.matches.flatMap(({ path }) => uiPathsTakenByRoute(route, path)))
    const lost = new Set(route.matches.flatMap(({ path }) => routePathsLostToUi(route, path)))
    if (taken.size > 0)
      context.warn(
        ['ui'],
        `route '${route.name}' answers ${formatList(taken)} on ${key}, and not the web UI`,
      )
    if (lost.size > 0)
      context.warn(
        ['ui'],
        `the web UI answers ${formatList(lost)} on ${key}, and not route '${route.name}'`,
      )
  }
}

/** A route that names its hosts goes first there, whatever its paths are. */
function uiPathsTakenByRoute({ hostnames }: RouteConfig, path: PathMatch): string[] {
  const value = path.kind === 'prefix' ? trimTrailingSlash(path.value) : path.value
  if (path.kind !== 'regex' && value.startsWith(`${UI_PATH}/`)) return [value]
  const isFirst = hostnames.length > 0 || path.kind === 'exact' || value === UI_PATH
  return isFirst && (path.kind !== 'regex' || hostnames.length > 0) ? coveredUiPaths(path) : []
}

/** A route for everything gives way to all that is named, and nobody has to be told. */
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

// Whether policies let in only whom they know.

type AuthPolicies = Pick<GatewayPolicies, 'jwtAuth' | 'basicAuth' | 'apiKey' | 'authorization'>

/** A credential that may be missing keeps nobody out, nor do rules that only say who may not. */
function requiresKnownClient(policies: AuthPolicies): boolean {
  const { authorization } = policies
  const lists = authorization?.rules.some(({ mode }) => mode !== 'deny') ?? false
  return lists || requiresCredential(policies)
}

/** One that a web page does not have, whatever name it is reached by. */
export function requiresCredential({
  jwtAuth,
  basicAuth,
  apiKey,
}: Omit<AuthPolicies, 'authorization'>): boolean {
  return [jwtAuth, basicAuth, apiKey].some((one) => one?.mode === 'strict')
}
