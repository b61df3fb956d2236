// Checks of listener policies and route policies together.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { configOf, problemsOf } from '../support/config.ts'

const levels = suite('policy levels')

levels('refuses a route policy that reads the same credential as the listener', () => {
  const JWT = 'issuer: "http://i", jwks: "http://i/k"'
  const OTHER_LOCATION = 'location: { header: { name: x-token } }'
  const MCP = `mcpAuthentication: { issuer: "http://i", audiences: [a], resourceMetadata: { resource: "http://g/mcp" } }`
  const both = (outer: string, inner: string): string[] =>
    problemsOf(`
gateways: { default: { port: 3000, listeners: [{ name: in, ${outer} }] } }
routes: [{ backends: [{ host: a:1 }], policies: { ${inner} } }]
`)
  const refused = (name: string, by: string): string[] => [
    `c.yaml:3:51: routes[0].policies.${name}: got ${name} in addition to ${by} of gateway/default/in, expected one of them: both read the same credential`,
  ]
  const jwt = `jwtAuth: { ${JWT} }`
  assert.equal(both(jwt, jwt), refused('jwtAuth', 'jwtAuth'))
  assert.equal(both(jwt, MCP), refused('mcpAuthentication', 'jwtAuth'))
  const key = 'apiKey: { keys: [{ key: k }] }'
  assert.equal(both(key, key), refused('apiKey', 'apiKey'))
  const basic = 'basicAuth: { htpasswd: "a:b" }'
  assert.equal(both(basic, basic), refused('basicAuth', 'basicAuth'))
  const query = 'location: { queryParameter: { name: t } }'
  const inQuery = `jwtAuth: { ${JWT}, ${query} }`
  assert.equal(both(inQuery, inQuery), refused('jwtAuth', 'jwtAuth'))
  // Another location, or another scheme in the same location.
  assert.equal(both(`jwtAuth: { ${JWT}, ${OTHER_LOCATION} }`, MCP), [])
  assert.equal(both(inQuery, jwt), [])
  assert.equal(both(basic, jwt), [])
  const token = 'location: { header: { name: authorization, prefix: "Token " } }'
  assert.equal(both(jwt, `jwtAuth: { ${JWT}, ${token} }`), [])
})

/** Warnings without the source position. */
function warningsOf(text: string): string[] {
  return configOf(text).warnings.map((line) => line.replace(/^c\.yaml:\d+:\d+: /, ''))
}

const GATEWAY = 'gateways: { default: { port: 3000 } }\n'
const JWT = 'jwtAuth: { issuer: "http://i", jwks: "http://i/k" }'
const BACKEND = 'backends: [{ host: a:1 }]'

levels('warns about rules that read an identity which no policy sets', () => {
  const rules = 'authorization: { rules: [\'jwt.sub == "a"\', { deny: \'apiKey["n"] == 1\' }] }'
  const routed = (policies: string): string =>
    `${GATEWAY}routes: [{ ${BACKEND}, policies: { ${policies} } }]`
  const jwt = 'routes[0].policies.authorization.rules[0]: reads jwt, which is never set'
  const key = 'routes[0].policies.authorization.rules[1]: reads apiKey, which is never set'
  assert.equal(warningsOf(routed(rules)), [
    `${jwt} without jwtAuth or mcpAuthentication`,
    `${key} without apiKey`,
  ])
  assert.equal(warningsOf(routed(`${rules}, ${JWT}`)), [`${key} without apiKey`])
  assert.equal(warningsOf(routed(`${rules}, ${JWT}, apiKey: { keys: [{ key: k }] }`)), [])
  assert.match(configOf(routed(rules)).warnings[0]!, /^c\.yaml:2:\d+: routes/)
})

levels('considers policies of the listener, and checks policies of backends', () => {
  const policies =
    'transformations: { request: { set: { x-user: jwt.sub, x-b: basicAuth.username } } }'
  const text = (outer: string): string =>
    `gateways: { default: { port: 3000, ${outer} } }\nroutes: [{ backends: [{ host: a:1, policies: { ${policies} } }] }]`
  const at = 'routes[0].backends[0].policies.transformations.request.set'
  assert.equal(warningsOf(text(JWT)), [
    `${at}.x-b: reads basicAuth, which is never set without basicAuth`,
  ])
  assert.equal(warningsOf(text('authorization: { rules: [has(jwt.sub)] }')), [
    'gateways.default.authorization.rules[0]: reads jwt, which is never set without jwtAuth or mcpAuthentication',
    `${at}.x-user: reads jwt, which is never set without jwtAuth or mcpAuthentication`,
    `${at}.x-b: reads basicAuth, which is never set without basicAuth`,
  ])
})

levels('ignores the name in string literals and as a member of another value', () => {
  const rules = ['"jwt.sub" == request.path', 'request.headers["jwt.x"] == "a"', "'jwt[0]' != ''"]
  const quoted = rules.map((rule) => JSON.stringify(rule)).join(', ')
  const text = `${GATEWAY}routes: [{ ${BACKEND}, policies: { authorization: { rules: [${quoted}] } } }]`
  assert.equal(warningsOf(text), [])
})

levels.run()
