// What of the plan a request meets: its route and, of that, a backend. Told to whoever watches.

import { GatewayError } from './base/errors.ts'
import type { Exchange } from './base/exchange.ts'
import type { Backend } from './base/types.ts'
import type { PlannedListener, Route } from './plan/plan.ts'

export function routeOf(exchange: Exchange, listener: PlannedListener): Route {
  const found = listener.routes.find(exchange.request)
  exchange.trace?.route(found?.value.key ?? null, listener.routes.keysFor(exchange.request))
  if (found === undefined) throw new GatewayError('ROUTE_NOT_FOUND', 'route not found')
  const route = found.value
  exchange.route = route.key
  exchange.matchedPrefix = found.prefix
  exchange.policies = route.allPolicies
  exchange.dialect = route.dialect
  exchange.trace?.policies('route', route.shown())
  return route
}

export function pick(exchange: Exchange, route: Route): Backend {
  const picked = route.backends.pick()
  if (picked === undefined) throw new GatewayError('NO_BACKENDS', 'no valid backends')
  exchange.backend = picked.facts
  exchange.trace?.policies('backend', picked.shown())
  return picked.backend
}
