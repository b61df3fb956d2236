// Which requests of a gateway's listener are for the web UI: its page, and what that reads, each by name. Nothing else of
// the admin interface can be reached from there.

import { asksCredential } from '../base/config/asks-who.ts'
import { ANY_REQUEST } from '../base/config/shape/route.ts'
import type {
  GatewayConfig,
  ListenerConfig,
  PathMatch,
  RouteMatch,
  UiPolicies,
} from '../base/config/types.ts'
import { isLoopback } from '../base/places/loopback.ts'
import { partPath, UI_PARTS, UI_PATH } from '../base/places/ui-paths.ts'
import type { RequestHead } from '../base/wire/head.ts'
import type { ListenerTable } from '../choose/listener-table.ts'
import type { RouteTable } from '../choose/route-table.ts'
import type { RouteEntry } from '../choose/route-table.ts'
import { Origins } from '../enforce/origins.ts'
import type { Door } from '../ui/backend.ts'

type Listener = Pick<ListenerConfig, 'key'>

export function uiKey({ key }: Listener): string {
  return `${key}/ui`
}

export function uiEntry<T>(listener: ListenerConfig, value: T): RouteEntry<T> {
  const paths: PathMatch[] = [
    { kind: 'prefix', value: UI_PATH },
    ...UI_PARTS.map((part): PathMatch => ({ kind: 'exact', value: partPath(part) })),
  ]
  // What the configuration has at the root, for one host or for all, stays there.
  if (!hasRoot(listener)) paths.push({ kind: 'exact', value: '/' })
  const matches = paths.map((path): RouteMatch => ({ ...ANY_REQUEST, path }))
  return { key: uiKey(listener), hostnames: [], matches, value }
}

interface Choosing extends Listener {
  readonly hostname: string
  readonly routes: RouteTable<{ readonly key: string }>
}

/** Whether the web UI is what a request would reach on a port. */
export function isForUi(request: RequestHead, port: ListenerTable<Choosing> | undefined): boolean {
  const { path } = request
  const isNear = path === '/' || path.startsWith(UI_PATH) || path.startsWith('/api/')
  if (!isNear) return false
  const listener = port?.find(request.authority)
  return listener !== undefined && listener.routes.find(request)?.value.key === uiKey(listener)
}

/**
 * Where everybody on this machine may see it, so may every page that a browser here shows, by a name that is pointed
 * there: only names that mean this machine are answered. Rules alone do not change that, as a page here may well be what they
 * let in. Origins are let in by its own `cors` only: that of the listener
 * was written for other traffic.
 */
export function doorFor(
  policies: UiPolicies,
  listener: ListenerConfig,
  { address }: GatewayConfig,
): Door {
  const isKnown =
    listener.hostname !== '' || asksCredential(policies) || asksCredential(listener.policies)
  const origins = new Origins(policies.cors?.allowOrigins ?? [])
  return {
    hosts: isLoopback(address) && !isKnown ? 'loopback' : 'any',
    letsIn: (origin) => origins.allows(origin),
  }
}

function hasRoot({ routes }: ListenerConfig): boolean {
  return routes.some(({ matches }) =>
    matches.some(({ path }) => {
      if (path.kind === 'regex') return path.regex.test('/')
      return path.value === '/' || (path.kind === 'prefix' && path.value === '')
    }),
  )
}
