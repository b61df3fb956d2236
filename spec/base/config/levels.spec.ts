// Policies of listeners and of their routes, together.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { problemsOf } from '../../support/config.ts'

const levels = suite('levels of a configuration')

levels('refuses a policy whose credential the listener has taken off already', () => {
  const JWT = 'issuer: "http://i", jwks: "http://i/k"'
  const ELSEWHERE = 'location: { header: { name: x-token } }'
  const MCP = `mcpAuthentication: { issuer: "http://i", audiences: [a], resourceMetadata: { resource: "http://g/mcp" } }`
  const both = (outer: string, inner: string): string[] =>
    problemsOf(`
gateways: { default: { port: 3000, listeners: [{ name: in, ${outer} }] } }
routes: [{ backends: [{ host: a:1 }], policies: { ${inner} } }]
`)
  const refused = (name: string, by: string): string[] => [
    `c.yaml:3:51: routes[0].policies.${name}: got ${name} behind ${by} of gateway/default/in, expected one of them: both read the same credential`,
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
  // Another place, or another scheme in the same place.
  assert.equal(both(`jwtAuth: { ${JWT}, ${ELSEWHERE} }`, MCP), [])
  assert.equal(both(inQuery, jwt), [])
  assert.equal(both(basic, jwt), [])
  const token = 'location: { header: { name: authorization, prefix: "Token " } }'
  assert.equal(both(jwt, `jwtAuth: { ${JWT}, ${token} }`), [])
})

levels.run()
