// Requests that never reach a backend: what the trace shows about the policy that answered, and why.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask } from '../support/ask.ts'
import { Stage } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { Signer } from '../support/signer.ts'
import { TraceWatcher } from '../support/trace-watcher.ts'

const trace = suite('trace of early responses')
const stage = new Stage()
trace.after.each(() => stage.clear())

const START = ['requestStarted', 'requestSnapshot initial request']
const TO_ROUTE = [
  ...START,
  'policySelection gateway',
  'requestSnapshot gateway policies',
  'routeSelection',
  'policySelection route',
]
const END = ['responseSnapshot final response', 'bodySnapshot response', 'requestFinished']
const EMPTY_END = END.filter((words) => words !== 'bodySnapshot response')

/** One route with these policies, and a backend that is never reached. */
async function guarded(policies: string): Promise<RunningGateway> {
  return stage.gateway(
    `routes: [{ name: all, backends: [{ host: 127.0.0.1:1 }], policies: { ${policies} } }]\n`,
  )
}

async function traced(
  gateway: RunningGateway,
  ...lines: string[]
): Promise<[number, TraceWatcher]> {
  const watched = TraceWatcher.at(gateway)
  const { status } = await ask(gateway, ...lines)
  await watched.all()
  return [status, watched]
}

/** The result of the policy that answered. */
function resultOf(watched: TraceWatcher, kind: string): unknown {
  return watched.messageOf(`policy ${kind}`)['result']
}

const UNSAID = { snapshot: null }

/** A limit adds headers to the response. */
const ANSWERED = ['policy localRateLimit']

const AUTH: readonly [kind: string, policies: string][] = [
  [
    'jwt',
    'jwtAuth: { mode: strict, issuer: https://i, audiences: [a], jwks: { url: "http://127.0.0.1:1/keys" } }',
  ],
  ['apiKey', 'apiKey: { mode: strict, keys: [{ key: k1 }] }'],
  ['basicAuth', 'basicAuth: { mode: strict, htpasswd: "u:secret" }'],
  [
    'mcpAuthentication',
    'mcpAuthentication: { issuer: https://i, audiences: [a], jwks: { url: "http://127.0.0.1:1/keys" }, ' +
      'resourceMetadata: { resource: "http://a/mcp" } }',
  ],
]

for (const [kind, policies] of AUTH)
  trace(`401 of ${kind}`, async () => {
    const [status, watched] = await traced(await guarded(policies), 'GET / HTTP/1.1')
    assert.is(status, 401)
    assert.equal(watched.list(), [...TO_ROUTE, `policy ${kind}`, ...END])
    assert.equal(resultOf(watched, kind), { type: 'apply', details: 'answered 401', ...UNSAID })
    assert.is(watched.events.at(-1)?.severity, 'info')
  })

trace('a policy is skipped if an optional token is missing', async () => {
  const jwt =
    'jwtAuth: { mode: optional, issuer: https://i, jwks: { url: "http://127.0.0.1:1/keys" } }, ' +
    'apiKey: { mode: optional, keys: [{ key: k1 }] }, cors: { allowOrigins: ["*"] }, ' +
    'directResponse: { status: 204 }'
  const [, watched] = await traced(await guarded(jwt), 'GET / HTTP/1.1')
  assert.equal(resultOf(watched, 'jwt'), {
    type: 'skip',
    reason: 'no token, and mode is optional',
  })
  assert.equal(resultOf(watched, 'apiKey'), {
    type: 'skip',
    reason: 'no known key, and mode is optional',
  })
  assert.equal(resultOf(watched, 'cors'), { type: 'skip', reason: 'the request has no Origin' })
})

trace('403 shows every rule and whether it held', async () => {
  const signer = await Signer.make('ES256', 'k')
  const jwks = JSON.stringify({ keys: [signer.jwk] })
  const gateway = await guarded(
    `jwtAuth: { issuer: https://i, jwks: ${JSON.stringify(jwks)} }, ` +
      `authorization: { rules: ['jwt.sub == "alice"', 'jwt.role == "admin"'] }`,
  )
  const token = signer.token({ iss: 'https://i', sub: 'alice', exp: 4e9 })
  const [status, watched] = await traced(
    gateway,
    'GET / HTTP/1.1',
    `authorization: Bearer ${token}`,
  )
  assert.is(status, 403)
  assert.equal(watched.list(), [
    ...TO_ROUTE,
    'policy jwt',
    'cel',
    'authorizationResult',
    'policy authorization',
    ...END,
  ])
  assert.equal(watched.messageOf('authorizationResult'), {
    type: 'authorizationResult',
    rules: [
      { name: 'jwt.sub == "alice"', mode: 'require', matched: true },
      { name: 'jwt.role == "admin"', mode: 'require', matched: false },
    ],
    result: 'deny',
  })
  const event = watched.events.find(({ message }) => message.type === 'authorizationResult')
  assert.is(event?.severity, 'error')
  assert.is(watched.messageOf('cel')['expr'], 'jwt.role == "admin"')
  const claims = watched.state('responseSnapshot final response', 'jwt')
  assert.is(claims['sub'], 'alice')
})

trace('404 if no listener has the host', async () => {
  const gateway = await stage.gateway(
    'gateways: { default: { port: ${PORT}, address: 127.0.0.1, listeners: [{ hostname: b }] } }\n' +
      'routes: [{ policies: { directResponse: { status: 200 } } }]\n',
  )
  const [status, watched] = await traced(gateway, 'GET / HTTP/1.1')
  assert.is(status, 404)
  assert.equal(watched.list(), [...START, ...END])
  assert.is(watched.messageOf('requestFinished')['error'], 'listener not found')
})

trace('404 if no route matches shows the evaluated routes', async () => {
  const gateway = await stage.gateway(
    'routes:\n' +
      '- { name: b, matches: [{ path: { exact: /b } }], policies: { directResponse: { status: 200 } } }\n' +
      '- { name: a, matches: [{ path: { exact: /a } }], policies: { directResponse: { status: 200 } } }\n' +
      '- { name: c, hostnames: [c], policies: { directResponse: { status: 200 } } }\n',
  )
  const [status, watched] = await traced(gateway, 'GET /c HTTP/1.1')
  assert.is(status, 404)
  const list = [...START, 'policySelection gateway', 'requestSnapshot gateway policies']
  assert.equal(watched.list(), [...list, 'routeSelection', ...END])
  assert.equal(watched.messageOf('routeSelection'), {
    type: 'routeSelection',
    selectedRoute: null,
    evaluatedRoutes: ['gateway/default/default/a', 'gateway/default/default/b'],
  })
})

trace('429 shows the bucket and what is left in it', async () => {
  const gateway = await guarded(
    'localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: 60s, ' +
      `key: 'request.headers["x-user"]' }], directResponse: { status: 204 }`,
  )
  const lines = ['GET / HTTP/1.1', 'x-user: ann']
  const [, first] = await traced(gateway, ...lines)
  const [status, second] = await traced(gateway, ...lines)
  assert.is(status, 429)
  assert.equal(second.list(), [
    ...TO_ROUTE,
    'rateLimit',
    'policy localRateLimit',
    ...ANSWERED,
    ...END,
  ])
  const { rule, reset, ...decided } = first.messageOf('rateLimit')
  assert.equal(decided, {
    type: 'rateLimit',
    counts: 'requests',
    bucket: 'ann',
    decision: 'allow',
    limit: 1,
    remaining: 0,
    error: null,
  })
  assert.match(String(rule), /localRateLimit\[0\]$/)
  assert.ok(Number(reset) > 0)
  assert.is(second.messageOf('rateLimit')['decision'], 'deny')
  assert.is(second.messageOf('rateLimit')['remaining'], 0)
})

trace('a bucket whose key is a credential is redacted', async () => {
  const gateway = await guarded(
    'localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: 60s, ' +
      `key: 'request.headers["authorization"]' }], directResponse: { status: 204 }`,
  )
  const [, watched] = await traced(gateway, 'GET / HTTP/1.1', 'authorization: Bearer s3cret')
  assert.is(watched.messageOf('rateLimit')['bucket'], '<redacted>')
  const [, none] = await traced(gateway, 'GET / HTTP/1.1')
  assert.is(none.messageOf('rateLimit')['bucket'], 'shared')
})

const ANSWERS: readonly [kind: string, policies: string, status: number, end: string[]][] = [
  ['directResponse', 'directResponse: { status: 418, body: tea }', 418, END],
  ['requestRedirect', 'requestRedirect: { scheme: https, status: 302 }', 302, EMPTY_END],
]

for (const [kind, policies, expected, end] of ANSWERS)
  trace(`${expected} of ${kind}`, async () => {
    const [status, watched] = await traced(await guarded(policies), 'GET / HTTP/1.1')
    assert.is(status, expected)
    assert.equal(watched.list(), [...TO_ROUTE, `policy ${kind}`, ...end])
  })

trace('a preflight is answered by cors', async () => {
  const [status, watched] = await traced(
    await guarded('cors: { allowOrigins: ["http://page"] }'),
    'OPTIONS / HTTP/1.1',
    'origin: http://page',
    'access-control-request-method: PUT',
  )
  assert.is(status, 200)
  assert.equal(watched.list().slice(TO_ROUTE.length), [
    'policy cors',
    'policy cors',
    'responseSnapshot final response',
    'requestFinished',
  ])
})

trace.run()
