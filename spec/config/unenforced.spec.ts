import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { POLICIES } from '../../lib/config/shape/policy-shapes.ts'
import { configOf, problemsOf, routeText, ungatedProblems } from '../support/config.ts'

const gate = suite('what is checked but not enforced')

const WHY = 'is checked but not enforced by this version: remove it'

gate('does not start, wherever it is written', () => {
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
    `c.yaml:7:15: routes[0].policies.csrf: ${WHY}`,
    `c.yaml:10:82: mcp.policies.csrf: ${WHY}`,
    `c.yaml:12:19: ui.policies.csrf: ${WHY}`,
  ])
})

gate('is told only when everything else is right', () => {
  const lines = problemsOf(routeText('policies: { csrf: {} }, backends: [{ host: a }]'))
  assert.is(lines.length, 1)
  assert.not.match(lines[0]!, WHY)
})

/** Enforced by this version; every other policy is either refused by name or by the gate. */
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

gate('covers every policy of a route that nothing enforces', () => {
  for (const name of Object.keys(POLICIES.shape)) {
    if (ENFORCED.includes(name)) continue
    // Whatever its own shape says of this, it must not start.
    const text = routeText(`backends: [{ host: "a:1" }], policies: { ${name}: {} }`)
    assert.is.not(problemsOf(text).length, 0, name)
  }
})

gate('lets the rest through', () => {
  assert.is(configOf(routeText('backends: [{ host: "a:1" }], policies: {}')).ui, null)
})

const unsupported = suite('what other gateways have')

unsupported('is refused by name', () => {
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

unsupported('is never offered as the meaning of a typing error', () => {
  assert.equal(
    ungatedProblems(routeText('policies: { oidcc: {} }, backends: [{ host: "a:1" }]')).length,
    1,
  )
  const [line] = ungatedProblems(routeText('policies: { oidcc: {} }, backends: [{ host: "a:1" }]'))
  assert.not.match(line!, "'oidc'")
})

gate.run()
unsupported.run()
