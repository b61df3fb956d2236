import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createRedirectPolicy } from '../../lib/enforce/direct-response.ts'
import { replyOf } from '../support/policy-reply.ts'
import { routeOf } from '../support/config.ts'
import { contentOf, exchangeOf, requestOf } from '../support/exchange-of.ts'

const redirect = suite('requestRedirect')

function replyTo(fields: string, url: string, prefix = '') {
  const { requestRedirect: config } = routeOf(
    `policies: { requestRedirect: { ${fields} } }`,
  ).policies
  const [, scheme, host, target] = /^(https?):\/\/([^/]*)(.*)$/.exec(url)!
  const exchange = exchangeOf(
    requestOf(`GET ${target} HTTP/1.1`, `Host: ${host}`),
    scheme as 'http',
  )
  exchange.choice.matchedPrefix = prefix
  return replyOf(createRedirectPolicy(config!), exchange)
}

redirect('builds the location from scheme, authority and path', () => {
  const table: [written: string, url: string, expected: string][] = [
    ['scheme: https', 'http://a.com/x?y', 'https://a.com/x?y'],
    ['scheme: https', 'http://a.com:8080/x', 'https://a.com/x'],
    ['scheme: http', 'https://a.com:8443/', 'http://a.com/'],
    ['scheme: https', 'https://a.com:8443/', 'https://a.com:8443/'],
    ['authority: { host: b.com }', 'http://a.com/x', 'http://b.com/x'],
    ['authority: { host: b.com }', 'http://a.com:81/x', 'http://b.com:81/x'],
    ['authority: { host: b.com }, scheme: https', 'http://a.com:81/x', 'https://b.com/x'],
    ['authority: { port: 82 }', 'http://a.com:81/x', 'http://a.com:82/x'],
    ['authority: { port: 8443 }, scheme: https', 'http://a.com/x', 'https://a.com:8443/x'],
    ['authority: { port: 443 }, scheme: https', 'http://a.com:81/x', 'https://a.com/x'],
    ['authority: { full: "b.com:83" }', 'https://a.com/x', 'https://b.com:83/x'],
    ['authority: { full: b.com }', 'https://a.com:81/x', 'https://b.com/x'],
    ['path: { full: /new }', 'http://a.com:81/x?y=1', 'http://a.com:81/new?y=1'],
    ['path: { prefix: /new }', 'http://a.com/old/x?y', 'http://a.com/new/x?y'],
    ['path: { prefix: / }', 'http://a.com/old', 'http://a.com/'],
    ['scheme: https', 'http://[::1]:80/x', 'https://[::1]/x'],
  ]
  for (const [written, url, expected] of table) {
    const prefix = written.includes('prefix') ? '/old' : ''
    assert.is(replyTo(written, url, prefix).head.get('location'), expected, `${written} ${url}`)
  }
})

redirect('responds with the configured status and an empty body', () => {
  const reply = replyTo('scheme: https', 'http://a.com/')
  assert.is(reply.head.status, 302)
  assert.is(reply.head.get('content-length'), '0')
  assert.is(contentOf(reply), '')
  for (const status of [301, 302, 303, 307, 308])
    assert.is(replyTo(`scheme: https, status: ${status}`, 'http://a.com/').head.status, status)
})

redirect('never redirects to another host when the client sent no host', () => {
  const config = routeOf('policies: { requestRedirect: { scheme: https } }').policies
    .requestRedirect!
  const exchange = exchangeOf(requestOf('GET //evil.com/x HTTP/1.0'))
  const reply = replyOf(createRedirectPolicy(config), exchange)
  assert.is(reply.head.get('location'), '/evil.com/x')
})

redirect.run()
