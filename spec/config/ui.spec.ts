// The section `ui`: its listeners, policies and warnings.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { configOf, problemsOf } from '../support/config.ts'

const ui = suite('config: ui')

const CAN_READ =
  'can read the configuration, the log and traces of requests: add basicAuth, jwtAuth or apiKey with mode: strict, or authorization rules with allow or require, to ui.policies'
const MODE =
  'policies.apiKey: mode optional accepts requests without a credential: set mode: strict'
const ORIGINS =
  "policies.cors.allowOrigins: '*' allows every web page in the user's browser to read it: name origins, or add a credential with mode: strict"
const BASIC = 'basicAuth: { htpasswd: "a:b" }'
const LOCAL = 'gateways: { default: { port: 3000, address: 127.0.0.1 } }'
const OPEN = 'gateways: { default: { port: 3000 } }'

/** Warnings without the source position. */
function warningsOf(...lines: string[]): string[] {
  return configOf(lines.join('\n')).warnings.map((line) =>
    line.replace(/^c\.yaml:\d+:\d+: ui(?:: |\.)/, ''),
  )
}

function routes(...texts: string[]): string {
  const whole = texts.map(
    (text, at) => `{ name: r${at}, ${text}, policies: { directResponse: { status: 200 } } }`,
  )
  return `routes: [${whole.join(', ')}]`
}

function path(kind: string, value: string): string {
  return `matches: [{ path: { ${kind}: "${value}" } }]`
}

ui('is attached to the gateway named default, to named gateways, or to one listener', () => {
  const gateways = `gateways:
  default: { port: 1, address: 127.0.0.1 }
  second:
    port: 2
    address: 127.0.0.1
    listeners: [{ name: a, hostname: a.example }, { name: b, hostname: b.example }]
`
  const keysOf = (text: string): readonly string[] => configOf(`${gateways}${text}\n`).ui!.listeners
  assert.equal(keysOf('ui: {}'), ['gateway/default'])
  assert.equal(keysOf('ui: { gateways: second }'), ['gateway/second/a', 'gateway/second/b'])
  assert.equal(keysOf('ui: { gateways: [second/b, default, second/b] }'), [
    'gateway/second/b',
    'gateway/default',
  ])
  assert.is(configOf(`${gateways}${routes(path('exact', '/'))}\n`).ui, null)
})

ui('is refused without a gateway', () => {
  const text = 'gateways: { first: { port: 1 } }\nui: {}\n'
  assert.equal(problemsOf(text), ['c.yaml:2:5: ui: ui.gateways must be set'])
  assert.equal(problemsOf(text.replace('{}', '{ gateways: firts }')), [
    "c.yaml:2:17: ui.gateways: unknown gateway reference firts, did you mean 'first'?",
  ])
})

ui('refuses csrf, which is not enforced, and oidc, which is not supported', () => {
  assert.equal(problemsOf(`${LOCAL}\nui: { policies: { csrf: {} } }\n`), [
    'c.yaml:2:19: ui.policies.csrf: is checked but not enforced by this version: remove it',
  ])
  assert.equal(problemsOf(`${LOCAL}\nui: { policies: { oidc: {} } }\n`), [
    'c.yaml:2:19: ui.policies.oidc: is not supported',
  ])
})

ui('refuses a policy that reads the same credential as the listener', () => {
  const text = `gateways: { default: { port: 1, ${BASIC} } }\nui: { policies: { ${BASIC} } }\n`
  assert.equal(problemsOf(text), [
    'c.yaml:2:19: ui.policies.basicAuth: got basicAuth in addition to basicAuth of gateway/default, expected one of them: both read the same credential',
  ])
})

ui('warns about access without a credential from other machines', () => {
  assert.equal(warningsOf(OPEN, 'ui: {}'), [
    `every client that can connect to [::]:3000 ${CAN_READ}`,
  ])
  const elsewhere = 'gateways: { default: { port: 3000, address: 10.0.0.1 } }'
  const optional = 'apiKey: { keys: [{ key: k }], mode: optional }'
  const cors = 'cors: { allowOrigins: ["*"] }'
  assert.equal(warningsOf(elsewhere, `ui: { policies: { ${optional}, ${cors} } }`), [
    MODE,
    `every client that can connect to 10.0.0.1:3000 ${CAN_READ}`,
    ORIGINS,
  ])
  const deny = 'authorization: { rules: [{ deny: \'request.path == "/api/config"\' }] }'
  assert.equal(warningsOf(OPEN, `ui: { policies: { ${deny} } }`), [
    `every client that can connect to [::]:3000 ${CAN_READ}`,
  ])
})

ui('has mode strict by default for tokens and keys', () => {
  const key = 'apiKey: { keys: [{ key: k }] }'
  const token = 'jwtAuth: { issuer: "http://i", jwks: "http://i/k" }'
  const tokens = 'jwtAuth: { providers: [{ issuer: "http://i", jwks: "http://i/k" }] }'
  for (const policy of [key, token, tokens]) {
    const { policies } = configOf(`${OPEN}\nui: { policies: { ${policy} } }\n`).ui!
    assert.is((policies.apiKey ?? policies.jwtAuth)?.mode, 'strict', policy)
    assert.equal(warningsOf(OPEN, `ui: { policies: { ${policy} } }`), [], policy)
  }
  const outer = configOf(`gateways: { default: { port: 3000, ${key} } }\nui: {}\n`)
  assert.is(outer.gateways[0]?.listeners[0]?.policies.apiKey?.mode, 'optional')
})

ui('warns about an optional credential, on loopback too', () => {
  const optional = 'apiKey: { keys: [{ key: k }], mode: optional }'
  assert.equal(warningsOf(LOCAL, `ui: { policies: { ${optional} } }`), [MODE])
  const rule = 'authorization: { rules: [\'apiKey.name == "a"\'] }'
  assert.equal(warningsOf(LOCAL, `ui: { policies: { ${optional}, ${rule} } }`), [])
})

ui('warns about allowing every origin unless a credential is required', () => {
  const cors = 'cors: { allowOrigins: ["*"] }'
  const rule = 'authorization: { rules: [\'source.address == "127.0.0.1"\'] }'
  assert.equal(warningsOf(LOCAL, `ui: { policies: { ${cors} } }`), [ORIGINS])
  assert.equal(warningsOf(LOCAL, `ui: { policies: { ${cors}, ${rule} } }`), [ORIGINS])
  assert.equal(warningsOf(LOCAL, `ui: { policies: { ${cors}, ${BASIC} } }`), [])
  const named = 'cors: { allowOrigins: ["https://a.example"] }'
  assert.equal(warningsOf(LOCAL, `ui: { policies: { ${named} } }`), [])
})

ui('does not warn if a credential or a rule is required, or on loopback', () => {
  const policies = [
    BASIC,
    'apiKey: { keys: [{ key: k }], mode: strict }',
    'authorization: { rules: [{ allow: \'source.address == "10.0.0.2"\' }] }',
    'jwtAuth: { issuer: "http://i", jwks: "http://i/k", mode: strict }',
  ]
  for (const policy of policies) {
    assert.equal(warningsOf(OPEN, `ui: { policies: { ${policy} } }`), [], policy)
    const outer = `gateways: { default: { port: 3000, ${policy} } }`
    assert.equal(warningsOf(outer, 'ui: {}'), [], policy)
  }
  assert.equal(warningsOf(LOCAL, 'ui: {}'), [])
})

ui('warns about rules that read an identity which no policy sets', () => {
  const rule = 'authorization: { rules: [{ allow: \'jwt.sub == "a"\' }] }'
  assert.equal(configOf(`${LOCAL}\nui: { policies: { ${rule} } }\n`).warnings, [
    'c.yaml:2:44: ui.policies.authorization.rules[0]: reads jwt, which is never set without jwtAuth or mcpAuthentication',
  ])
})

const PARTS = ['runtime', 'map', 'limits', 'logs', 'mcp', 'config', 'trace', 'live']
const ALL_PARTS = PARTS.map((part) => `/api/${part}`).join(', ')

ui('warns about a route that takes paths of the web UI', () => {
  const answers = (name: string, paths: string): string =>
    `route '${name}' answers ${paths} on gateway/default instead of the web UI`
  const warnings = warningsOf(
    LOCAL,
    routes(
      path('pathPrefix', '/ui/own/'),
      path('exact', '/ui'),
      path('exact', '/api/runtime'),
      `hostnames: [a.example], ${path('pathPrefix', '/')}`,
    ),
    'ui: {}',
  )
  assert.equal(warnings, [
    answers('r0', '/ui/own'),
    answers('r1', '/ui'),
    answers('r2', '/api/runtime'),
    answers('r3', `/ui, ${ALL_PARTS}`),
  ])
  assert.equal(warningsOf(LOCAL, routes(path('pathPrefix', '/ui')), 'ui: {}'), [
    answers('r0', '/ui'),
  ])
})

ui('warns about a route that loses paths to the web UI', () => {
  const takes = (name: string, paths: string): string =>
    `the web UI answers ${paths} on gateway/default instead of route '${name}'`
  assert.equal(
    warningsOf(
      LOCAL,
      routes(path('pathPrefix', '/api'), path('regex', '/api/(logs|mine)')),
      'ui: {}',
    ),
    [takes('r0', ALL_PARTS), takes('r1', '/api/logs')],
  )
})

ui('does not warn about catch-all routes, other paths, or other listeners', () => {
  const others = [
    path('pathPrefix', '/'),
    path('pathPrefix', '/uix'),
    path('exact', '/api'),
    path('exact', '/api/other'),
    path('pathPrefix', '/v1'),
    `hostnames: [a.example], ${path('pathPrefix', '/v1')}`,
  ]
  assert.equal(warningsOf(LOCAL, routes(...others), 'ui: {}'), [])
  const second = 'gateways: { default: { port: 1, address: 127.0.0.1 }, second: { port: 2 } }'
  assert.equal(
    warningsOf(
      second,
      routes(`gateways: second, ${path('exact', '/ui')}`),
      'ui: { gateways: default }',
    ),
    [],
  )
})

ui.run()
