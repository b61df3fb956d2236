import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Config } from '../../lib/config/config-types.ts'
import { listResourceProblems } from '../../lib/config/policy-resources.ts'
import { configOf, problemsOf } from '../support/config.ts'

const MAIN = `gateways: { web: { port: 1 }, other: { port: 2 } }
routes:
- { name: api, gateways: [web, other], backends: [{ host: "a:1" }] }
`

const LOCAL = '[{ requests: 10, unit: Minutes, burst: 5, key: jwt.sub }]'

/** A resource of five lines with its limits on the last line. */
function resource(refs: string, local = LOCAL, name = 'p'): string {
  return `---
apiVersion: gateway.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: ${name}, namespace: default }
spec: { targetRefs: [${refs}], traffic: { rateLimit: { local: ${local} } } }
`
}

const ROUTE = '{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: api }'
const GATEWAY = '{ group: gateway.networking.k8s.io, kind: Gateway, name: web }'

/** The conditions of each target, such as `Accepted True …`. */
function statusOf(config: Config, at = 0): string[] {
  return config.resources[at]!.status.ancestors.map(({ conditions }) =>
    conditions.map(({ type, status, message }) => `${type} ${status} ${message}`).join('; '),
  )
}

const ACCEPTED = 'Accepted True Policy accepted; Attached True Attached to all targets'

const resources = suite('policy resources')

resources('attach their limits to a gateway and to a route on all its listeners', () => {
  const config = configOf(MAIN + resource(`${ROUTE}, ${GATEWAY}`))
  assert.equal(statusOf(config), [ACCEPTED, ACCEPTED])
  const [web, other] = config.gateways
  const [limit] = web!.limits
  assert.equal([limit!.amount, limit!.most, limit!.interval], [10, 15, 60_000])
  assert.is(limit!.name, 'GatewayPolicy default/p local[0]')
  assert.is(limit!.key!.source, 'jwt.sub')
  assert.equal(other!.limits, [])
  const routes = [web, other].map((gateway) => gateway!.listeners[0]!.routes[0]!)
  assert.is(routes[0]!.limits, routes[1]!.limits)
  assert.is(routes[0]!.limits.length, 1)
})

resources('keep their spec, position and targets', () => {
  const [found] = configOf(MAIN + resource(ROUTE)).resources
  assert.is(found!.apiVersion, 'gateway.dev/v1alpha1')
  assert.equal(found!.metadata, { name: 'p', namespace: 'default' })
  assert.is(found!.place, 'c.yaml:5:1')
  assert.equal(found!.status.ancestors[0]!.ancestorRef, {
    group: 'gateway.networking.k8s.io',
    kind: 'HTTPRoute',
    name: 'api',
    namespace: 'default',
  })
  assert.ok(JSON.stringify(found!.spec).includes('"requests":10'))
})

resources('accept any order, several in one file, any API group, and no namespace', () => {
  const bare = resource(GATEWAY, LOCAL, 'q')
    .replace(', namespace: default', ', labels: { a: b }')
    .replace('gateway.dev', 'policies.example.com')
  const config = configOf(`${resource(ROUTE)}---\n${MAIN}${bare}---\n# nothing\n`)
  assert.equal(statusOf(config, 0), [ACCEPTED])
  assert.equal(statusOf(config, 1), [ACCEPTED])
  assert.is(config.resources[1]!.metadata.namespace, 'default')
})

resources('that are invalid do not stop the process, and their status names the field', () => {
  const refusal = (local: string) => statusOf(configOf(MAIN + resource(ROUTE, local)))[0]!
  const position = (column: number) =>
    `Accepted False c.yaml:8:${column}: spec.traffic.rateLimit.local`
  const not = '; Attached False the policy is not accepted'
  assert.is(refusal('[{ requests: 1 }]'), `${position(121)}[0].unit is required${not}`)
  assert.is(
    refusal('[{ requests: 1, tokens: 1, unit: Hours }]'),
    `${position(121)}[0]: got requests and tokens, expected exactly one of 'requests', 'tokens'${not}`,
  )
  assert.match(refusal('[]'), `${position(120)}: got an empty list`)
  assert.match(
    refusal('[{ requests: 1, unit: Days }]'),
    /local\[0\]\.unit: got 'Days', expected one/,
  )
  const config = configOf(MAIN + resource(ROUTE, '[{ requests: 1 }]'))
  assert.equal(config.gateways[0]!.listeners[0]!.routes[0]!.limits, [])
  assert.is(config.resources[0]!.status.ancestors[0]!.ancestorRef, null)
})

resources('report all invalid fields at once', () => {
  const text = resource(
    '{ kind: Route, name: api }',
    '[{ tokens: 1, unit: Hours, burst: 1, x: 1 }]',
  )
  const [message] = statusOf(configOf(MAIN + text.replace('v1alpha1', 'v1')))
  for (const part of [
    'apiVersion: got',
    'targetRefs[0].kind: got',
    "local[0].x: unknown field 'x'",
  ])
    assert.match(message!, part)
})

resources('with an invalid key are partially valid: all requests share one bucket', () => {
  const text = MAIN + resource(ROUTE, '[{ requests: 1, unit: Hours, key: "jtw.sub" }]')
  const config = configOf(text)
  const [accepted, attached] = config.resources[0]!.status.ancestors[0]!.conditions
  assert.equal([accepted!.status, accepted!.reason], ['True', 'PartiallyValid'])
  assert.match(
    accepted!.message,
    'local rate limit key is not a valid CEL expression: unknown name',
  )
  assert.match(accepted!.message, 'c.yaml:8:')
  assert.is(attached!.status, 'True')
  assert.is(config.gateways[0]!.listeners[0]!.routes[0]!.limits[0]!.key, null)
})

resources('with a key outside its context are partially valid, too', () => {
  const text = MAIN + resource(ROUTE, '[{ requests: 1, unit: Hours, key: mcp.sessionId }]')
  const [accepted] = configOf(text).resources[0]!.status.ancestors[0]!.conditions
  assert.equal([accepted!.status, accepted!.reason], ['True', 'PartiallyValid'])
  assert.match(accepted!.message, 'reads mcp, not known when requests are counted')
})

resources('are attached to existing targets even if another target is missing', () => {
  const missing = '{ kind: HTTPRoute, name: apii }'
  const [first, second] = statusOf(configOf(MAIN + resource(`${missing}, ${ROUTE}`)))
  assert.match(
    first!,
    /Accepted True .*; Attached False c\.yaml:8:\d+: spec\.targetRefs\[0\]\.name: /,
  )
  assert.match(first!, "no HTTPRoute named 'apii', did you mean 'api'?")
  assert.is(second, ACCEPTED)
})

const inProd = (refs: string): string =>
  resource(refs).replace('namespace: default', 'namespace: prod')

resources('attach by name if no target sets a namespace, and the status says so', () => {
  const config = configOf(MAIN + inProd(`${ROUTE}, ${GATEWAY}`))
  const message = (kind: string) =>
    `Accepted True Policy accepted; Attached True Attached to all targets by name: no ${kind} sets a namespace`
  assert.equal(statusOf(config), [message('route'), message('gateway')])
  assert.is(config.gateways[0]!.limits.length, 1)
  assert.is(config.gateways[0]!.listeners[0]!.routes[0]!.limits.length, 1)
})

resources('attach within their namespace if targets set namespaces', () => {
  const text = `gateways: { web: { port: 1, namespace: prod }, other: { port: 2 } }
routes:
- { name: api, namespace: prod, gateways: web, backends: [{ host: "a:1" }] }
- { name: api, gateways: web, matches: [{ path: { exact: /x } }], backends: [{ host: "a:1" }] }
`
  const config = configOf(text + inProd(`${ROUTE}, ${GATEWAY}`))
  assert.equal(statusOf(config), [ACCEPTED, ACCEPTED])
  const [gateway] = config.gateways
  assert.equal([gateway!.namespace, gateway!.limits.length], ['prod', 1])
  assert.equal(
    gateway!.listeners[0]!.routes.map(({ key, limits }) => [key, limits.length]),
    [
      ['gateway/web/prod/api', 1],
      ['gateway/web/default/api', 0],
    ],
  )
})

resources('do not attach to targets of another namespace, not even of the default one', () => {
  const text = MAIN.replace('name: api,', 'name: api, namespace: default,')
  const config = configOf(text + inProd(`${ROUTE}, ${GATEWAY}`))
  const [route, gateway] = statusOf(config)
  assert.match(route!, 'Attached False c.yaml:8:')
  assert.match(route!, "no HTTPRoute named 'api' in namespace 'prod', it is in 'default'")
  assert.match(gateway!, 'Attached True')
  assert.equal(config.gateways[0]!.listeners[0]!.routes[0]!.limits, [])
  assert.equal(
    listResourceProblems(config.resources).map(({ level, event, policy }) => [
      level,
      event,
      policy,
    ]),
    [['error', 'policy not attached', 'prod/p']],
  )
})

resources('with a duplicate name are refused', () => {
  const config = configOf(MAIN + resource(ROUTE) + resource(GATEWAY))
  assert.equal(statusOf(config, 0), [ACCEPTED])
  assert.match(statusOf(config, 1)[0]!, 'metadata.name: got a second GatewayPolicy default/p')
  assert.equal(config.gateways[0]!.limits, [])
})

resources('may limit tokens on routes without an LLM', () => {
  const text = MAIN.replace('host: "a:1"', 'mcp: { targets: [{ name: a, stdio: { cmd: x } }] }')
  const config = configOf(text + resource(`${ROUTE}, ${GATEWAY}`, '[{ tokens: 9, unit: Hours }]'))
  assert.equal(statusOf(config), [ACCEPTED, ACCEPTED])
  assert.is(config.gateways[0]!.listeners[0]!.routes[0]!.limits[0]!.counts, 'tokens')
})

resources('add their limits after the inline limits of a route', () => {
  const inline = 'policies: { rateLimit: { local: [{ requests: 1, unit: Hours }] } }'
  const text = MAIN.replace('gateways: [web, other]', `gateways: web, ${inline}`)
  const { limits } = configOf(text + resource(ROUTE)).gateways[0]!.listeners[0]!.routes[0]!
  assert.equal(
    limits.map(({ name }) => name),
    ['routes[0].policies.rateLimit.local[0]', 'GatewayPolicy default/p local[0]'],
  )
})

resources('of unknown kinds and second configurations stop the process', () => {
  assert.equal(problemsOf(`${MAIN}---\nkind: GatewayPolicie\n`), [
    "c.yaml:5:7: kind: got 'GatewayPolicie', expected 'GatewayPolicy', did you mean 'GatewayPolicy'?",
  ])
  assert.equal(problemsOf(`${MAIN}---\napiVersion: v1\n`), ['c.yaml:5:1: kind is required'])
  assert.match(
    problemsOf(`${MAIN}---\nroutes: []\n`)[0]!,
    'a second configuration after c.yaml:1:1',
  )
  assert.equal(problemsOf(resource(ROUTE)), [
    'c.yaml:1:1: got no configuration, expected at least gateways, mcp or llm',
  ])
})

resources('need their environment variables', () => {
  const text = MAIN + resource(ROUTE, '[{ requests: "${ABSENT}", unit: Hours }]')
  assert.match(problemsOf(text)[0]!, 'environment variable not found: ABSENT')
})

resources.run()
