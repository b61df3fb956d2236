import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { POLICIES } from '../../lib/config/shape/policy-shapes.ts'
import { configOf, problemsOf, routeText, ungatedProblems } from '../support/config.ts'

const unenforced = suite('policies that are checked but not enforced')

const REASON = 'is checked but not enforced by this version: remove it'

unenforced('are refused in every section', () => {
  const text = `config: { mcp: { sessionTtl: 1m } }
gateways:
  default: { port: 1, basicAuth: { htpasswd: "a:b" } }
  second: { port: 2, listeners: [{ cors: { allowOrigins: ["*"] } }] }
backends: [{ name: x, ai: { name: y, provider: { mock: {} } } }]
routes:
- policies: { csrf: {}, directResponse: { status: 200 } }
- name: other
  backends: [{ host: "a:1", policies: { backendAuth: { key: k } } }]
mcp: { gateways: default, targets: [{ name: a, stdio: { cmd: x } }], policies: { csrf: {} } }
llm: { port: 3, models: [{ name: m, provider: mock }] }
ui: { policies: { csrf: {} } }
`
  assert.equal(ungatedProblems(text), [])
  assert.equal(problemsOf(text), [
    `c.yaml:7:15: routes[0].policies.csrf: ${REASON}`,
    `c.yaml:10:82: mcp.policies.csrf: ${REASON}`,
    `c.yaml:12:19: ui.policies.csrf: ${REASON}`,
  ])
})

unenforced('are reported only if there is no other problem', () => {
  const lines = problemsOf(routeText('policies: { csrf: {} }, backends: [{ host: a }]'))
  assert.is(lines.length, 1)
  assert.not.match(lines[0]!, REASON)
})

/** Policies that this version enforces; every other policy must be refused. */
const ENFORCED = [
  'requestHeaderModifier',
  'responseHeaderModifier',
  'urlRewrite',
  'requestRedirect',
  'directResponse',
  'cors',
  'timeout',
  'retry',
  'backendTLS',
  'mcpAuthorization',
  'mcpAuthentication',
  'jwtAuth',
  'apiKey',
  'basicAuth',
  'authorization',
  'backendAuth',
  'transformations',
  'rateLimit',
  'localRateLimit',
  'remoteRateLimit',
  'ai',
]

unenforced('include every policy of a route that is not enforced', () => {
  for (const name of Object.keys(POLICIES.shape)) {
    if (ENFORCED.includes(name)) continue
    // The shape may refuse the empty object too; in any case there must be a problem.
    const text = routeText(`backends: [{ host: "a:1" }], policies: { ${name}: {} }`)
    assert.is.not(problemsOf(text).length, 0, name)
  }
})

unenforced('do not affect other configurations', () => {
  assert.is(configOf(routeText('backends: [{ host: "a:1" }], policies: {}')).ui, null)
})

const unsupported = suite('fields of other gateways')

unsupported('are refused by name', () => {
  const text = `binds: []
gateways: { default: { port: 1, oidc: {} } }
config: { dns: {} }
frontendPolicies: { tracing: {}, http: { http2WindowSize: 1 } }
routes: [{ policies: { extProc: {}, directResponse: { status: 200, conditional: [] } } }]
`
  assert.equal(ungatedProblems(text), [
    'binds: is not supported',
    'gateways.default.oidc: is not supported',
    'config.dns: is not supported',
    'frontendPolicies.tracing: is not supported',
    'frontendPolicies.http.http2WindowSize: is not supported',
    'routes[0].policies.extProc: is not supported',
    'routes[0].policies.directResponse.conditional: is not supported',
  ])
})

unsupported('are never suggested for a misspelled field', () => {
  assert.equal(
    ungatedProblems(routeText('policies: { oidcc: {} }, backends: [{ host: "a:1" }]')).length,
    1,
  )
  const [line] = ungatedProblems(routeText('policies: { oidcc: {} }, backends: [{ host: "a:1" }]'))
  assert.not.match(line!, "'oidc'")
})

unenforced.run()
unsupported.run()
