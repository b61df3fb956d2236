// `ui` → the listeners that serve the web UI, and whom they show it to.

import type { z } from 'zod'
import { isLoopback } from '../../places/loopback.ts'
import { UI_PATH, UI_PATHS } from '../../places/ui-paths.ts'
import { asksCredential, asksWho } from '../asks-who.ts'
import type { Path } from '../error.ts'
import type { UI } from '../shape/ui.ts'
import { addressText } from '../show.ts'
import type { GatewayConfig, PathMatch, RouteConfig, UiConfig, UiPolicies } from '../types.ts'
import { DEFAULT_GATEWAY, listenersFor } from './attach.ts'
import type { Attachments } from './attach.ts'
import type { Context } from './context.ts'
import type { OpenListener } from './gateways.ts'
import { checkLevels } from './levels.ts'
import { gatewayPoliciesOf } from './policies.ts'
import { warnOfUnread } from './unread.ts'

/** Behind the routes: it is told where they and the page get in each other's way. */
export function uiOf(
  context: Context,
  shape: z.output<typeof UI> | undefined,
  to: Attachments,
): UiConfig | null {
  if (shape === undefined) return null
  const { gateways, policies: written = {} } = shape
  context.mark('ui', ['ui'])
  const path = ['ui', 'policies']
  const { transformations: _none, ...checked } = gatewayPoliciesOf(context, path, written)
  const policies = { ...checked, csrf: written.csrf ?? null }
  const listeners = listenersOf(context, gateways, to)
  for (const listener of listeners) {
    checkLevels(context, path, { ...checked, mcpAuthentication: null }, listener)
    warnOfUnread(context, path, checked, [listener.policies, checked])
    warnOfRoutes(context, listener)
  }
  warnOfModes(context, path, policies)
  for (const gateway of to.gateways)
    if (gateway.listeners.some((one) => listeners.includes(one) && isOpen(one, gateway, policies)))
      warnOfAnyone(context, gateway)
  if (listeners.some((one) => !asksCredential(policies) && !asksCredential(one.policies)))
    warnOfOrigins(context, path, policies)
  return { listeners: listeners.map(({ key }) => key), policies }
}

function listenersOf(
  context: Context,
  gateways: string | readonly string[] | undefined,
  to: Attachments,
): OpenListener[] {
  if (gateways === undefined && !to.names.includes(DEFAULT_GATEWAY)) {
    context.problem(['ui'], 'ui.gateways must be set')
    return []
  }
  return [...listenersFor(context, ['ui', 'gateways'], gateways ?? DEFAULT_GATEWAY, to)]
}

function isOpen(listener: OpenListener, { address }: GatewayConfig, policies: UiPolicies): boolean {
  return !isLoopback(address) && !asksWho(policies) && !asksWho(listener.policies)
}

function warnOfAnyone(context: Context, { address, port }: GatewayConfig): void {
  context.warn(
    ['ui'],
    `anyone who can connect to ${addressText({ host: address, port })} can read the configuration, the log and ` +
      'traces of requests there: add basicAuth, jwtAuth or apiKey with mode: strict, or rules of authorization that ' +
      'allow or require something, to ui.policies',
  )
}

/** Wherever it is: who writes a credential down expects it to be asked for. */
function warnOfModes(context: Context, path: Path, policies: UiPolicies): void {
  if (asksWho(policies)) return
  for (const name of ['jwtAuth', 'basicAuth', 'apiKey'] as const) {
    const { mode } = policies[name] ?? {}
    if (mode !== undefined)
      context.warn(
        [...path, name],
        `mode ${mode} lets in whoever shows no credential: set mode: strict`,
      )
  }
}

function warnOfOrigins(context: Context, path: Path, { cors }: UiPolicies): void {
  if (cors?.allowOrigins.includes('*') === true)
    context.warn(
      [...path, 'cors', 'allowOrigins'],
      "'*' lets every web page that a browser here shows read it: name origins, or add a credential with mode: strict",
    )
}

/** Where a route and the page have the same path, one of them is never asked. */
function warnOfRoutes(context: Context, { key, routes }: OpenListener): void {
  for (const route of routes) {
    const taken = new Set(route.matches.flatMap(({ path }) => takenBy(route, path)))
    const lost = new Set(route.matches.flatMap(({ path }) => lostBy(route, path)))
    if (taken.size > 0)
      context.warn(
        ['ui'],
        `route '${route.name}' answers ${listText(taken)} on ${key}, and not the web UI`,
      )
    if (lost.size > 0)
      context.warn(
        ['ui'],
        `the web UI answers ${listText(lost)} on ${key}, and not route '${route.name}'`,
      )
  }
}

/** A route that names its hosts goes first there, whatever its paths are. */
function takenBy({ hostnames }: RouteConfig, path: PathMatch): string[] {
  const value = path.kind === 'prefix' ? trimmed(path.value) : path.value
  if (path.kind !== 'regex' && value.startsWith(`${UI_PATH}/`)) return [value]
  const isFirst = hostnames.length > 0 || path.kind === 'exact' || value === UI_PATH
  return isFirst && (path.kind !== 'regex' || hostnames.length > 0) ? coveredBy(path) : []
}

/** A route for everything gives way to all that is named, and nobody has to be told. */
function lostBy({ hostnames }: RouteConfig, path: PathMatch): string[] {
  if (hostnames.length > 0 || path.kind === 'exact') return []
  const value = trimmed(path.value)
  return path.kind === 'prefix' && (value === '' || value === UI_PATH) ? [] : coveredBy(path)
}

function coveredBy(path: PathMatch): string[] {
  return UI_PATHS.filter((one) => {
    if (path.kind === 'regex') return path.regex.test(one)
    const value = path.kind === 'prefix' ? trimmed(path.value) : path.value
    return one === value || (path.kind === 'prefix' && one.startsWith(`${value}/`))
  })
}

function trimmed(path: string): string {
  return path.replace(/\/+$/, '')
}

function listText(paths: ReadonlySet<string>): string {
  return [...paths].join(', ')
}
