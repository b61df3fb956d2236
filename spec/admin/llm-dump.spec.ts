// LLM providers, models and limits in the dump: in the form of the file, with the remaining quota, and never a key.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildConfigDump } from '../../lib/admin/config-dump.ts'
import { compileExpression } from '../../lib/expressions/compile.ts'
import { at, dumpOf, sourceOf } from '../support/dump.ts'
import type { Shown } from '../support/dump.ts'

const GATEWAY = 'gateways: { default: { port: 3000 } }\n'

function routeDump(fields: string): { dump: Shown; policies: unknown } {
  const dump = dumpOf(`${GATEWAY}routes: [{ name: r, ${fields} }]\n`)
  const routes = at(dump, 'binds', 0, 'listeners', 'gateway/default', 'routes')
  return { dump, policies: at(routes, 'gateway/default/default/r', 'inlinePolicies') }
}

/** The target of the first backend. */
function targetOf(dump: Shown, kind: string): unknown {
  return at(dump, 'backends', 0, 'backend', kind, 'target')
}

const HOST = 'backends: [{ host: "a:1" }]'

const test = suite('LLMs and limits in the dump')

test('shows providers in their groups, without their keys', () => {
  const { dump } = routeDump(`backends: [{ ai: { groups: [
    { providers: [
      { name: a, provider: { openAI: { model: gpt-x } }, hostOverride: 'h:1', pathPrefix: /p, policies: { backendAuth: { key: s3cret } } },
      { name: b, provider: { azure: { resourceName: r, resourceType: foundry } }, policies: { backendTLS: { hostname: n } } }] },
    { providers: [{ name: c, provider: { mock: {} } }] }] } }]`)
  assert.equal(targetOf(dump, 'ai'), {
    groups: [
      [
        {
          name: 'a',
          provider: { openAI: { model: 'gpt-x' } },
          endpoint: 'h:1',
          pathPrefix: '/p',
          auth: { header: { key: '<redacted>', name: 'authorization', prefix: 'Bearer ' } },
        },
        {
          name: 'b',
          provider: { azure: { resourceName: 'r', resourceType: 'foundry' } },
          tls: { hostname: 'n', insecure: false, alpn: ['h2', 'http/1.1'] },
        },
      ],
      [{ name: 'c', provider: { mock: {} } }],
    ],
  })
})

test('shows models with their providers, and virtual models with their targets', () => {
  const dump = dumpOf(`llm:
  providers: [{ name: main, provider: openAI, params: { apiKey: s3cret, baseUrl: 'https://h/v1' } }]
  models:
  - { name: small, provider: { reference: main }, params: { model: gpt-x }, overrides: { max_tokens: 5 } }
  - { name: big-*, provider: mock, visibility: internal, authorization: { rules: ['jwt.sub == "a"'] } }
  virtualModels:
  - { name: v, routing: { conditional: { targets: [{ model: small, when: 'jwt.sub == "b"' }] } } }
`)
  const llm = targetOf(dump, 'llm')
  assert.equal(at(llm, 'models', 0), {
    name: 'small',
    visibility: 'public',
    entry: {
      name: 'main',
      provider: { openAI: { model: 'gpt-x' } },
      endpoint: 'h:443',
      pathPrefix: '/v1',
      auth: { header: { key: '<redacted>', name: 'authorization', prefix: 'Bearer ' } },
      tls: { insecure: false, alpn: ['h2', 'http/1.1'] },
    },
    defaults: {},
    overrides: { max_tokens: 5 },
  })
  assert.equal(at(llm, 'models', 1, 'authorization'), {
    rules: [{ mode: 'require', expression: 'jwt.sub == "a"' }],
  })
  assert.equal(at(llm, 'virtualModels'), [
    {
      name: 'v',
      routing: { conditional: { targets: [{ model: 'small', when: 'jwt.sub == "b"' }] } },
    },
  ])
})

test('shows the ai policy in the form of the file, with any names of aliases', () => {
  const ai =
    'ai: { modelAliases: { kind: gpt-x, "fast*": m }, routes: { /x: messages }, usage: passthrough }'
  const { policies } = routeDump(
    `backends: [{ ai: { name: a, provider: { mock: {} } } }], policies: { ${ai} }`,
  )
  assert.equal(policies, [
    {
      ai: {
        modelAliases: { kind: 'gpt-x', 'fast*': 'm' },
        routes: { '/x': 'messages' },
        defaults: {},
        overrides: {},
        usage: 'passthrough',
      },
    },
  ])
})

test('shows limits in the form of the file, those of a service with their descriptors', () => {
  const local =
    'rateLimit: { local: [{ requests: 5, unit: Seconds, burst: 2, key: jwt.sub }, { tokens: 9, unit: Hours }] }'
  const remote =
    'remoteRateLimit: { host: "rls:8081", domain: d, descriptors: [{ entries: [{ key: user, value: jwt.sub }], type: tokens }] }'
  const { policies } = routeDump(`${HOST}, policies: { ${local}, ${remote} }`)
  const name = 'routes[0].policies.rateLimit.local'
  assert.equal(policies, [
    {
      remoteRateLimit: {
        endpoint: 'rls:8081',
        domain: 'd',
        failureMode: 'failClosed',
        descriptors: [{ entries: [{ key: 'user', value: 'jwt.sub' }], counts: 'tokens' }],
      },
    },
    {
      rateLimit: {
        local: [
          { name: `${name}[0]`, requests: 5, burst: 2, interval: '1s', key: 'jwt.sub' },
          { name: `${name}[1]`, tokens: 9, burst: 0, interval: '1h' },
        ],
      },
    },
  ])
})

const RESOURCE = `---
apiVersion: gateway.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: quota }
spec:
  targetRefs: [{ kind: HTTPRoute, name: r }, { kind: Gateway, name: default }]
  traffic: { rateLimit: { local: [{ tokens: 5, unit: Minutes, key: jwt.sub }] } }
`

test('accepts and attaches policy resources, and shows them where they apply', () => {
  const dump = dumpOf(`${GATEWAY}routes: [{ name: r, ${HOST} }]\n${RESOURCE}`)
  for (const target of [0, 1]) {
    const conditions = at(dump, 'policies', 0, 'status', 'ancestors', target, 'conditions')
    assert.equal(
      (conditions as Shown[]).map(({ type, status, message }) => [type, status, message]),
      [
        ['Accepted', 'True', 'Policy accepted'],
        ['Attached', 'True', 'Attached to all targets'],
      ],
    )
  }
  const limit = {
    name: 'GatewayPolicy default/quota local[0]',
    tokens: 5,
    burst: 0,
    interval: '1m',
    key: 'jwt.sub',
  }
  const bind = at(dump, 'binds', 0)
  assert.equal(at(bind, 'inlinePolicies'), [{ rateLimit: { local: [limit] } }])
  const route = at(bind, 'listeners', 'gateway/default', 'routes', 'gateway/default/default/r')
  assert.equal(at(route, 'inlinePolicies'), [{ rateLimit: { local: [limit] } }])
})

const NAME = 'routes[0].policies.rateLimit.local[0]'

/** The dump of a limit with this key, and of its buckets. */
function limitDump(key: string, tightest: { key: string; remaining: number }[]): unknown {
  const source = sourceOf(`${GATEWAY}routes: [{ ${HOST} }]\n`)
  const status = {
    id: 'x',
    decisions: { allow: 1, deny: 2, failed: 3 },
    key: key === '' ? null : compileExpression(key, 'requestLimitKey'),
    name: NAME,
    owner: 'route/route0',
    counts: 'requests',
    amount: 5,
    limit: 5,
    interval: 60_000,
    keys: tightest.length,
    shared: { limit: 5, remaining: 3, reset: 42 },
    tightest,
  } as const
  return at(buildConfigDump({ ...source, limits: [status] }), 'limits', 0)
}

test('hides values of a key whose header name is computed', () => {
  const hidden = limitDump('request.headers["author" + "ization"]', [
    { key: 'Bearer x', remaining: 0 },
  ])
  assert.not.match(JSON.stringify(hidden), 'Bearer x')
})

test('shows the remaining quota of a limit, in total and for the tightest keys', () => {
  const common = {
    name: NAME,
    owner: 'route/route0',
    counts: 'requests',
    limit: 5,
    interval: '1m',
    reset: 42,
  }
  assert.equal(limitDump('', []), { ...common, remaining: 3 })
  const tightest = [
    { key: 'alice', remaining: 0 },
    { key: 'bob', remaining: 4 },
  ]
  for (const key of ['jwt.sub', 'apiKey.user_id', 'request.headers["x-user"]'])
    assert.equal(limitDump(key, tightest), {
      ...common,
      key,
      keys: 2,
      remaining: { shared: 3, tightest },
    })
})

test('hides the values of a limit key that is a credential', () => {
  const redacted = [{ key: '<redacted>', remaining: 1 }]
  for (const key of [
    'request.headers["authorization"]',
    'request.headers.cookie',
    'request.headers["x-api-key"]',
    'apiKey.token',
  ])
    assert.equal(
      at(limitDump(key, [{ key: 's3cret', remaining: 1 }]), 'remaining', 'tightest'),
      redacted,
      key,
    )
  assert.equal(
    at(
      limitDump('request.uri', [{ key: '/a?api_key=s3cret', remaining: 1 }]),
      'remaining',
      'tightest',
      0,
      'key',
    ),
    '/a?api_key=<redacted>',
  )
})

test('shows no secret of any field that can hold one', () => {
  const secret = (where: string): string => `s3cret-${where}`
  const text = `gateways: { default: { port: 3000 } }
backends:
- name: shared
  ai: { name: a, provider: { anthropic: {} }, policies: { backendAuth: { key: { value: ${secret('value')}, location: { header: { name: x-api-key } } } } } }
  policies: { backendAuth: { key: ${secret('backend')} }, ai: { defaults: { api_key: ${secret('default')} } } }
routes:
- name: r
  policies:
    backendAuth: { key: { value: ${secret('route')}, location: { queryParameter: { name: key } } } }
    ai: { overrides: { metadata: { clientSecret: ${secret('override')}, callback: 'https://u:${secret('userinfo')}@h/?token=${secret('parameter')}' } } }
    apiKey: { keys: [{ key: ${secret('client')}, metadata: { user_id: u, token: ${secret('metadata')} } }] }
  backends:
  - { backend: shared }
  - ai: { groups: [{ providers: [{ name: b, provider: { openAI: {} }, policies: { backendAuth: { key: '\${KEY}' } } }] }] }
llm:
  port: 4000
  providers: [{ name: p, provider: gemini, params: { apiKey: '\${KEY}' } }]
  models:
  - { name: one, provider: { reference: p } }
  - name: two
    provider: mock
    params: { apiKey: ${secret('model')} }
    defaults: { password: ${secret('password')} }
    overrides: { deep: [{ access_token: ${secret('deep')} }] }
    requestHeaders: { set: { authorization: Bearer ${secret('header')}, x-goog-api-key: ${secret('google')} } }
    responseHeaders: { add: { set-cookie: a=${secret('cookie')} } }
`
  const json = JSON.stringify(buildConfigDump(sourceOf(text, { KEY: secret('variable') })))
  assert.not.match(json, /s3cret/)
  assert.ok(json.includes('"x-goog-api-key":"<redacted>"'))
  assert.ok(json.includes('https://<redacted>@h/?token=<redacted>'))
})

test.run()
