// The read API of a running gateway: its traffic, its configuration, and its problems.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type {
  ListenerNode,
  MapView,
  PolicyNode,
  RouteNode,
} from '../../../lib/admin/page-api/page-api-types.ts'
import type { UiRequest } from '../../../lib/admin/page-api/page-request.ts'
import { MAX_ROUTES } from '../../../lib/admin/page-api/map-view.ts'
import { TICKS_PER_QUIET_SAMPLE } from '../../../lib/admin/page-api/read-api.ts'
import type { ReadApi } from '../../../lib/admin/page-api/read-api.ts'
import { McpClient, begin, server } from '../../forward/mcp/mcp-client.ts'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { HandTimer } from '../../support/hand-timer.ts'
import { KeyServer } from '../../support/key-server.ts'
import { answers, chatEventsOf, LlmBackend } from '../../support/llm-backend.ts'
import { chatAsking, post } from '../../support/llm/asking.ts'
import { Signer } from '../../support/signer.ts'

const test = suite('ui/read-api')
const stage = new Stage()
test.after.each(() => stage.clear())

function ask(query = ''): UiRequest {
  return { method: 'GET', path: '', query: new URLSearchParams(query), ifNoneMatch: undefined }
}

async function get(gateway: RunningGateway, path: string, fields = ''): Promise<string> {
  const client = await stage.client(gateway)
  client.send(`GET ${path} HTTP/1.1\r\nhost: a\r\n${fields}\r\n`)
  return client.until(/\r\n\r\n/)
}

const HI =
  '{ name: hi, matches: [{ path: { exact: /hi } }], policies: { directResponse: { status: 200, body: hi } } }'
const NO =
  '{ name: no, matches: [{ path: { exact: /no } }], policies: { directResponse: { status: 403, body: no } } }'
const DOWN =
  '{ name: down, matches: [{ path: { exact: /down } }], backends: [{ host: "127.0.0.1:1" }] }'

test('version, listeners, and traffic by route', async () => {
  const timer = new HandTimer()
  const gateway = await stage.gateway(`routes: [${HI}, ${NO}, ${DOWN}]\nui: {}\n`, timer.every)
  for (const path of ['/hi', '/hi', '/no', '/down', '/nowhere']) await get(gateway, path)
  await gateway.logged(5)
  timer.turn(TICKS_PER_QUIET_SAMPLE)
  const runtime = gateway.readApi.runtime(ask(), 'listener')
  assert.is(runtime.place, 'listener')
  assert.is(runtime.node, process.version)
  assert.equal([runtime.readiness, runtime.generation, runtime.isRefused], ['ready', 1, false])
  assert.is(runtime.file, 'c.yaml')
  assert.ok(runtime.startedAt <= runtime.loadedAt && runtime.loadedAt <= Date.now())
  const [listener] = runtime.listeners
  assert.equal(
    { ...listener, open: 0 },
    {
      ...{ name: 'default', bind: `127.0.0.1:${gateway.port}`, protocol: 'HTTP', state: 'open' },
      ...{ open: 0, accepted: 5, routes: 3 },
    },
  )
  assert.equal(
    runtime.routes.shown.map(({ key, requests, errors, refused }) => [
      key,
      requests,
      errors,
      refused,
    ]),
    [
      ['gateway/default/default/hi', 2, 0, 0],
      ['gateway/default/default/no', 1, 0, 1],
      ['gateway/default/default/down', 1, 1, 0],
      ['gateway/default', 1, 0, 1],
    ],
  )
  assert.is(runtime.samples.length, 1)
  assert.equal(gateway.readApi.runtime(ask('samples=0'), 'admin').samples, [])
  const [sample] = runtime.samples
  assert.equal([sample?.requests, sample?.errors, sample?.refused], [5, 1, 2])
  assert.ok(sample!.p50! > 0 && sample!.p99! >= sample!.p50!)
  assert.ok(sample!.bytesIn > 100 && sample!.bytesOut > 100 && sample!.rss > 1_000_000)
})

test('tokens, and the time to the first token', async () => {
  const timer = new HandTimer()
  const backend = stage.add(await LlmBackend.start(answers.events(chatEventsOf(7, 3))))
  const gateway = await stage.gateway(
    `routes: [{ backends: [{ ai: { name: p, provider: { openAI: {} }, hostOverride: "127.0.0.1:${backend.port}" } }] }]\nui: {}\n`,
    timer.every,
  )
  await post(gateway, chatAsking({ stream: true }))
  await gateway.logged(1)
  timer.turn(TICKS_PER_QUIET_SAMPLE)
  const [sample] = gateway.readApi.runtime(ask(), 'admin').samples
  assert.equal([sample?.tokensIn, sample?.tokensOut], [7, 3])
  assert.ok(sample!.firstToken! > 0)
})

function listenerOf({ readApi }: { readApi: ReadApi }): ListenerNode {
  return readApi.map(ask(), 'admin').gateways[0]!.listeners[0]!
}

function routeOf(gateway: { readApi: ReadApi }, name: string): RouteNode {
  return listenerOf(gateway).routes.find((route) => route.name === name)!
}

const MAPPED = `gateways:
  default:
    port: \${PORT}
    address: 127.0.0.1
    cors: { allowOrigins: ['*'] }
backends: [{ name: app, host: 'app:8080', policies: { backendAuth: { key: s3cret } } }]
routes:
  - name: api
    hostnames: [a.example]
    matches:
      - path: { regex: '/v[0-9]+/.*' }
        method: POST
        headers: [{ name: authorization, value: { exact: s3cret } }, { name: x-a, value: { regex: 'b.*' } }]
        query: [{ name: q, value: { exact: '1' } }]
      - path: { pathPrefix: / }
    policies:
      timeout: { requestTimeout: 5s }
      rateLimit: { local: [{ requests: 5, unit: Minutes }] }
    backends: [{ backend: app, weight: 2 }, { host: 'other:81' }]
  - name: tools
    matches: [{ path: { pathPrefix: /mcp } }]
    backends: [{ mcp: { targets: [{ name: a, stdio: { cmd: x } }, { name: b, mcp: { host: 'https://b.example/mcp' } }] } }]
`

test('the map: gateways, listeners, routes, policies and backends, with their file positions', async () => {
  const gateway = await stage.gateway(MAPPED)
  const view = gateway.readApi.map(ask(), 'admin')
  assert.equal([view.generation, view.more, view.problems], [1, 0, []])
  const [first] = view.gateways
  const { listeners, ...top } = first!
  const bind = `127.0.0.1:${gateway.port}`
  assert.equal(top, { name: 'default', bind, place: 'c.yaml:2:3', state: 'open' })
  const { routes, policies, ...listener } = listeners[0]!
  assert.equal(listener, {
    ...{ key: 'gateway/default', name: 'default', hostname: '', protocol: 'HTTP' },
    place: 'c.yaml:2:3',
  })
  assert.equal(
    policies.map(({ kind }) => kind),
    ['cors'],
  )
  const [api, tools] = routes
  assert.equal([api!.name, api!.place, api!.hostnames], ['api', 'c.yaml:8:5', ['a.example']])
  assert.equal(api!.matches, [
    'POST ~ /v[0-9]+/.*, header authorization = <redacted>, header x-a ~ b.*, query q = 1',
    '/*',
  ])
  assert.equal(
    api!.policies.map(({ kind, from }) => [kind, from]),
    [
      ['timeout', null],
      ['rateLimit', null],
    ],
  )
  assert.equal(api!.policies[0]!.config, { requestTimeout: '5s' })
  assert.equal(
    api!.backends.map(({ kind, label, weight }) => [kind, label, weight]),
    [
      ['host', 'app:8080', 2],
      ['host', 'other:81', 1],
    ],
  )
  assert.equal(api!.backends[0]!.pool, { open: 0, idle: 0, waiting: 0 })
  assert.is(api!.backends[0]!.policies[0]?.kind, 'backendAuth')
  assert.equal([tools!.backends[0]!.kind, tools!.backends[0]!.label], ['mcp', 'a, b'])
  assert.not.match(JSON.stringify(view), 's3cret')
})

function problemsOf({ policies }: { readonly policies: readonly PolicyNode[] }): unknown {
  return policies.flatMap(({ kind, from, problems }) =>
    problems.map((problem) => [kind, from, problem]),
  )
}

test('policy resources are shown where they are attached, with their problems', async () => {
  const resource = (name: string, targets: string, key = '') => `---
apiVersion: gateway.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: ${name} }
spec:
  targetRefs: [${targets}]
  traffic: { rateLimit: { local: [{ requests: 10, unit: Minutes ${key} }] } }
`
  const route = (name: string) => `{ kind: HTTPRoute, name: ${name} }`
  const gateway = await stage.gateway(
    `routes: [${HI}, ${NO}]\n` +
      resource('good', route('hi')) +
      resource('half', `${route('no')}, ${route('on')}`) +
      resource('lost', route('nothing-like-it')) +
      resource('all', '{ kind: Gateway, name: default }', ', key: "nonsense(("'),
  )
  const view: MapView = gateway.readApi.map(ask(), 'admin')
  assert.equal(problemsOf(routeOf(gateway, 'hi')), [])
  assert.is(routeOf(gateway, 'hi').policies.at(-1)?.from, 'default/good')
  const [half] = problemsOf(routeOf(gateway, 'no')) as [string, string, string][]
  assert.equal(half!.slice(0, 2), ['rateLimit', 'default/half'])
  assert.match(half![2], "no HTTPRoute named 'on', did you mean 'no'?")
  const [all] = problemsOf(listenerOf(gateway)) as [string, string, string][]
  assert.equal(all!.slice(0, 2), ['rateLimit', 'default/all'])
  assert.is(view.problems.length, 1)
  assert.match(view.problems[0]!, 'GatewayPolicy default/lost')
})

test('a route whose backends all have weight 0 has a problem', async () => {
  const backend = (weight: number) => `{ host: "127.0.0.1:1", weight: ${weight} }`
  const routes = [`{ name: dead, backends: [${backend(0)}, ${backend(0)}] }`]
  routes.push(`{ name: live, backends: [${backend(0)}, ${backend(1)}] }`, HI)
  const gateway = await stage.gateway(`routes: [${routes.join()}]`)
  assert.match(await get(gateway, '/'), ' 500 ')
  const problems = (name: string) => routeOf(gateway, name).problems
  assert.equal(problems('dead'), [
    "every backend has weight 0: requests fail with 'no valid backends'",
  ])
  assert.equal([problems('live'), problems('hi')], [[], []])
})

test('missing signing keys are shown at the policies that need them', async () => {
  const signer = await Signer.make('ES256', 'k')
  const keys = stage.add(await KeyServer.start(signer))
  keys.status = 500
  const jwt = `jwtAuth: { mode: strict, issuer: "https://i", jwks: { url: "${keys.url}?token=s3cret" } }`
  const guarded = HI.replace('policies: {', `policies: { ${jwt}, `)
  const gateway = await stage.gateway(`routes: [${guarded}, ${NO}]`)
  assert.equal(problemsOf(routeOf(gateway, 'hi')), [])
  const token = signer.token({ iss: 'https://i', exp: 4e9 })
  assert.match(await get(gateway, '/hi', `authorization: Bearer ${token}\r\n`), '503')
  const problem = 'cannot fetch the keys of https://i: status 500'
  assert.equal(problemsOf(routeOf(gateway, 'hi')), [['jwtAuth', null, problem]])
  assert.not.match(JSON.stringify(listenerOf(gateway)), 's3cret')
})

test('the map has the first of many routes, and counts the others', async () => {
  const routes = Array.from({ length: MAX_ROUTES + 4 }, (_, at) => HI.replace('hi', `r${at}`))
  const { readApi } = await stage.gateway(`routes: [${routes.join()}]`)
  const { gateways, more } = readApi.map(ask(), 'admin')
  assert.equal([gateways[0]!.listeners[0]!.routes.length, more], [MAX_ROUTES, 4])
  assert.equal(readApi.runtime(ask(), 'admin').routes.more, MAX_ROUTES + 4 - 100)
})

test('MCP: addresses, targets, sessions and children', async () => {
  const remote = '{ name: far, mcp: { host: "http://127.0.0.1:1/mcp?key=s3cret" } }'
  const [gateway, client] = await begin(stage, { targets: [server('one'), remote] })
  const { backends, children } = gateway.readApi.mcp()
  const [backend] = backends
  assert.equal(
    { ...backend!, sessions: null },
    {
      ...{ key: 'gateway/default/default/mcp/backend0', route: 'gateway/default/default/mcp' },
      ...{ port: gateway.port, path: '/mcp', hostname: '', protocol: 'HTTP' },
      bind: `127.0.0.1:${gateway.port}`,
      authentication: null,
      targets: [
        { name: 'one', kind: 'stdio', where: process.execPath },
        { name: 'far', kind: 'mcp', where: '127.0.0.1:1' },
      ],
      open: 1,
      sessions: null,
    },
  )
  const [session] = backend!.sessions.shown
  assert.ok(client.session.startsWith(session!.id) && session!.id.length === 8)
  assert.equal(session!.targets[0], { name: 'one', state: 'ready' })
  const [child] = children.shown
  assert.equal([child!.target, child!.session, child!.state], ['one', session!.id, 'running'])
  if (process.platform === 'linux') assert.ok(child!.rss! > 1_000_000)
  const map = JSON.stringify(gateway.readApi.map(ask(), 'admin'))
  assert.match(map, "target 'far'")
  assert.not.match(map + JSON.stringify(backends), 's3cret')
  await McpClient.open(stage, gateway)
  assert.is(gateway.readApi.mcp().backends[0]!.open, 2)
})

test.run()
