// `ui`: which listeners show the page, to whom, and what is warned of.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { configOf, problemsOf } from '../support/config.ts'

const ui = suite('config: ui')

const ANYONE =
  'can read the configuration, the log and traces of requests there: add basicAuth, jwtAuth or apiKey with mode: strict, or rules of authorization that allow or require something, to ui.policies'
const MODE = 'policies.apiKey: mode optional accepts requests without a credential: set mode: strict'
const ORIGINS =
  "policies.cors.allowOrigins: '*' allows every web page in the user's browser to read it: name origins, or add a credential with mode: strict"
const BASIC = 'basicAuth: { htpasswd: "a:b" }'
const LOCAL = 'gateways: { default: { port: 3000, address: 127.0.0.1 } }'
const OPEN = 'gateways: { default: { port: 3000 } }'

/** What is warned of, without the place. */
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

ui(
  'is attached to the gateway called default, to those it names, or to one listener of one',
  () => {
    const gateways = `gateways:
  default: { port: 1, address: 127.0.0.1 }
  second:
    port: 2
    address: 127.0.0.1
    listeners: [{ name: a, hostname: a.example }, { name: b, hostname: b.example }]
`
    const keysOf = (text: string): readonly string[] =>
      configOf(`${gateways}${text}\n`).ui!.listeners
    assert.equal(keysOf('ui: {}'), ['gateway/default'])
    assert.equal(keysOf('ui: { gateways: second }'), ['gateway/second/a', 'gateway/second/b'])
    assert.equal(keysOf('ui: { gateways: [second/b, default, second/b] }'), [
      'gateway/second/b',
      'gateway/default',
    ])
    assert.is(configOf(`${gateways}${routes(path('exact', '/'))}\n`).ui, null)
  },
)

ui('does not start without a gateway to be on', () => {
  const text = 'gateways: { first: { port: 1 } }\nui: {}\n'
  assert.equal(problemsOf(text), ['c.yaml:2:5: ui: ui.gateways must be set'])
  assert.equal(problemsOf(text.replace('{}', '{ gateways: firts }')), [
    "c.yaml:2:17: ui.gateways: unknown gateway reference firts, did you mean 'first'?",
  ])
})

ui('csrf is checked and not enforced: it does not start', () => {
  assert.equal(problemsOf(`${LOCAL}\nui: { policies: { csrf: {} } }\n`), [
    'c.yaml:2:19: ui.policies.csrf: is checked but not enforced by this version: remove it',
  ])
  assert.equal(problemsOf(`${LOCAL}\nui: { policies: { oidc: {} } }\n`), [
    'c.yaml:2:19: ui.policies.oidc: is not supported',
  ])
})

ui('a credential that the listener takes off already is not looked for again', () => {
  const text = `gateways: { default: { port: 1, ${BASIC} } }\nui: { policies: { ${BASIC} } }\n`
  assert.equal(problemsOf(text), [
    'c.yaml:2:19: ui.policies.basicAuth: got basicAuth behind basicAuth of gateway/default, expected one of them: both read the same credential',
  ])
})

ui('warns of what anyone could read who can connect', () => {
  assert.equal(warningsOf(OPEN, 'ui: {}'), [`anyone who can connect to [::]:3000 ${ANYONE}`])
  const elsewhere = 'gateways: { default: { port: 3000, address: 10.0.0.1 } }'
  const optional = 'apiKey: { keys: [{ key: k }], mode: optional }'
  const cors = 'cors: { allowOrigins: ["*"] }'
  assert.equal(warningsOf(elsewhere, `ui: { policies: { ${optional}, ${cors} } }`), [
    MODE,
    `anyone who can connect to 10.0.0.1:3000 ${ANYONE}`,
    ORIGINS,
  ])
  const deny = 'authorization: { rules: [{ deny: \'request.path == "/api/config"\' }] }'
  assert.equal(warningsOf(OPEN, `ui: { policies: { ${deny} } }`), [
    `anyone who can connect to [::]:3000 ${ANYONE}`,
  ])
})

ui('asks for a token or a key unless it is told that none will do', () => {
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

ui('warns of a credential that may be missing, on this machine as well', () => {
  const optional = 'apiKey: { keys: [{ key: k }], mode: optional }'
  assert.equal(warningsOf(LOCAL, `ui: { policies: { ${optional} } }`), [MODE])
  const rule = 'authorization: { rules: [\'apiKey.name == "a"\'] }'
  assert.equal(warningsOf(LOCAL, `ui: { policies: { ${optional}, ${rule} } }`), [])
})

ui('warns of letting every page read it, unless a credential is asked for', () => {
  const cors = 'cors: { allowOrigins: ["*"] }'
  const rule = 'authorization: { rules: [\'source.address == "127.0.0.1"\'] }'
  assert.equal(warningsOf(LOCAL, `ui: { policies: { ${cors} } }`), [ORIGINS])
  assert.equal(warningsOf(LOCAL, `ui: { policies: { ${cors}, ${rule} } }`), [ORIGINS])
  assert.equal(warningsOf(LOCAL, `ui: { policies: { ${cors}, ${BASIC} } }`), [])
  const named = 'cors: { allowOrigins: ["https://a.example"] }'
  assert.equal(warningsOf(LOCAL, `ui: { policies: { ${named} } }`), [])
})

ui('does not warn where somebody is asked who they are, or on this machine', () => {
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

ui('warns of rules over somebody whom no policy knows', () => {
  const rule = 'authorization: { rules: [{ allow: \'jwt.sub == "a"\' }] }'
  assert.equal(configOf(`${LOCAL}\nui: { policies: { ${rule} } }\n`).warnings, [
    'c.yaml:2:44: ui.policies.authorization.rules[0]: reads jwt, which is never set without jwtAuth or mcpAuthentication',
  ])
})

const PARTS = ['runtime', 'map', 'limits', 'logs', 'mcp', 'config', 'trace', 'live']
const ALL_PARTS = PARTS.map((part) => `/api/${part}`).join(', ')

ui('warns of a route that answers where the page is', () => {
  const answers = (name: string, paths: string): string =>
    `route '${name}' answers ${paths} on gateway/default, and not the web UI`
  const told = warningsOf(
    LOCAL,
    routes(
      path('pathPrefix', '/ui/own/'),
      path('exact', '/ui'),
      path('exact', '/api/runtime'),
      `hostnames: [a.example], ${path('pathPrefix', '/')}`,
    ),
    'ui: {}',
  )
  assert.equal(told, [
    answers('r0', '/ui/own'),
    answers('r1', '/ui'),
    answers('r2', '/api/runtime'),
    answers('r3', `/ui, ${ALL_PARTS}`),
  ])
  assert.equal(warningsOf(LOCAL, routes(path('pathPrefix', '/ui')), 'ui: {}'), [
    answers('r0', '/ui'),
  ])
})

ui('warns of a route that the page takes paths from', () => {
  const takes = (name: string, paths: string): string =>
    `the web UI answers ${paths} on gateway/default, and not route '${name}'`
  assert.equal(
    warningsOf(
      LOCAL,
      routes(path('pathPrefix', '/api'), path('regex', '/api/(logs|mine)')),
      'ui: {}',
    ),
    [takes('r0', ALL_PARTS), takes('r1', '/api/logs')],
  )
})

ui('does not warn of routes for everything, of neighbours, or of other listeners', () => {
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
