import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { GatewayConfig, RouteConfig } from '../../../lib/config/config-types.ts'
import { Log } from '../../../lib/core/log.ts'
import type { RateLimitRule } from '../../../lib/enforce/limit/limit-rule.ts'
import { LimitRegistry } from '../../../lib/enforce/limit/limits.ts'
import { RateLimitServices } from '../../../lib/enforce/limit/rate-limit-service.ts'
import { LimitPlanner } from '../../../lib/config/live/plan-limits.ts'
import { configOf } from '../../support/config.ts'

const planning = suite('config/plan limits')

const TOKENS = '{ tokens: 5, unit: Hours }'
const REQUESTS = '{ requests: 9, unit: Hours }'

function routeWith(name: string, ...entries: string[]): string {
  const limits = `policies: { rateLimit: { local: [${entries.join(', ')}] } }`
  return `- { name: ${name}, ${limits}, backends: [{ host: "a:1" }] }\n`
}

const LOG = new Log({ level: 'error', format: 'text', write: (_text, done) => done() })

function routesOf(text: string): [readonly RouteConfig[], GatewayConfig] {
  const [gateway] = configOf(`gateways: { default: { port: 1 } }\nroutes:\n${text}`).gateways
  return [gateway!.listeners[0]!.routes, gateway!]
}

/** The rules of each route. */
function rulesOf(limits: LimitRegistry, routes: string): Map<string, RateLimitRule[]> {
  return new Map([...planOf(limits, routes)].map(([name, rules]) => [name, [...rules.keys()]]))
}

/** The rules of each route with their names. */
function planOf(limits: LimitRegistry, text: string) {
  const [routes, gateway] = routesOf(text)
  const of = (route: RouteConfig) => {
    const planner = new LimitPlanner(limits, new RateLimitServices(LOG), LOG)
    planner.planRoute(route, gateway)
    return planner.rules
  }
  return new Map(routes.map((route) => [route.name, of(route)]))
}

planning('keeps the bucket of an entry when others are inserted before it', () => {
  const limits = new LimitRegistry()
  const [kept] = rulesOf(limits, routeWith('r', TOKENS)).get('r')!
  const [, afterInsert] = rulesOf(limits, routeWith('r', REQUESTS, TOKENS)).get('r')!
  assert.is(afterInsert, kept)
  const later = rulesOf(limits, routeWith('q', REQUESTS) + routeWith('r', TOKENS))
  assert.is(later.get('r')![0], kept)
})

const [ZERO, ONE] = ['policies.rateLimit.local[0]', 'policies.rateLimit.local[1]']

planning('names each entry by its place in the list, also after it has moved', () => {
  const limits = new LimitRegistry()
  const first = planOf(limits, routeWith('r', TOKENS, REQUESTS)).get('r')!
  limits.retain(first)
  assert.equal(namesIn(limits), ['tokens ' + ZERO, 'requests ' + ONE])
  const moved = planOf(limits, routeWith('r', REQUESTS, TOKENS)).get('r')!
  assert.equal([...moved.values()], [ZERO, ONE])
  assert.equal([...moved.keys()], [...first.keys()].toReversed())
  limits.retain(moved)
  assert.equal(namesIn(limits), ['tokens ' + ONE, 'requests ' + ZERO])
  const equal = planOf(new LimitRegistry(), routeWith('r', TOKENS, TOKENS)).get('r')!
  assert.equal([...equal.values()], [ZERO])
})

planning('keeps the names of the active limits while a plan is built that is then refused', () => {
  const limits = new LimitRegistry()
  const active = planOf(limits, routeWith('r', TOKENS, REQUESTS)).get('r')!
  limits.retain(active)
  planOf(limits, routeWith('r', REQUESTS, TOKENS))
  assert.equal(namesIn(limits), ['tokens ' + ZERO, 'requests ' + ONE])
  limits.retain(active)
  assert.equal(namesIn(limits), ['tokens ' + ZERO, 'requests ' + ONE])
})

/** What each limit counts, with its name in the status, which is also its name in the metrics. */
function namesIn(limits: LimitRegistry): string[] {
  const shown = limits.status().map(({ counts, name }) => `${counts} ${name}`)
  assert.equal(
    limits.decisions.map(([{ counts, limit }]) => `${String(counts)} ${String(limit)}`),
    shown,
  )
  return shown
}

planning('keeps what was learned about remote token costs until the entry changes', () => {
  const services = new RateLimitServices(LOG)
  const historyOf = (user: string, name = 'r', timeout = '1s') => {
    const descriptor = `{ type: tokens, entries: [{ key: user, value: '${user}' }] }`
    const remote = `{ host: "s:1", domain: d, timeout: ${timeout}, descriptors: [${descriptor}] }`
    const policies = `policies: { remoteRateLimit: ${remote} }`
    const [[route], gateway] = routesOf(
      `- { name: ${name}, ${policies}, backends: [{ host: "a:1" }] }`,
    )
    const planner = new LimitPlanner(new LimitRegistry(), services, LOG)
    planner.planRoute(route!, gateway)
    const [costs] = planner.costHistories
    return {
      costs: costs!,
      activate: () => services.retain(planner.services, planner.costHistories),
    }
  }
  const first = historyOf('jwt.sub')
  first.activate()
  const again = historyOf('jwt.sub', 'r', '2s')
  assert.is(again.costs, first.costs)
  const other = historyOf('jwt.iss')
  assert.is.not(other.costs, first.costs)
  assert.is.not(historyOf('jwt.sub', 'q').costs, first.costs)
  again.activate()
  assert.is(historyOf('jwt.sub').costs, first.costs)
  assert.is.not(historyOf('jwt.iss').costs, other.costs)
})

planning('gives each route its own buckets', () => {
  const rules = rulesOf(new LimitRegistry(), routeWith('q', TOKENS) + routeWith('r', TOKENS))
  assert.is.not(rules.get('q')![0], rules.get('r')![0])
})

planning.run()
