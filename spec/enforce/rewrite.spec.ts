import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createUrlRewritePolicy, rewriteTarget } from '../../lib/enforce/url-rewrite.ts'
import { replyOrPass } from '../support/policy-reply.ts'
import { routeOf } from '../support/config.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'

const rewrite = suite('urlRewrite')

/** The policy from configuration text. */
function policyOf(fields: string) {
  const text = `backends: [{ host: "a:1" }], policies: { urlRewrite: { ${fields} } }`
  return createUrlRewritePolicy(routeOf(text).policies.urlRewrite!)
}

rewrite('replaces a prefix and keeps the rest of the path', () => {
  const table: [target: string, prefix: string, written: string, expected: string][] = [
    ['/foo/bar', '/foo', '/xyz', '/xyz/bar'],
    ['/foo/bar', '/foo', '/xyz/', '/xyz/bar'],
    ['/foo', '/foo', '/xyz', '/xyz'],
    ['/foo/', '/foo', '/xyz', '/xyz/'],
    ['/foo/bar', '/foo', '', '/bar'],
    ['/foo/', '/foo', '', '/'],
    ['/foo', '/foo', '', '/'],
    ['/foo', '/foo', '/', '/'],
    ['/foo?q=/foo', '/foo', '/', '/?q=/foo'],
    ['/foo/bar?q', '/foo', '/x', '/x/bar?q'],
    ['/bar', '', '/x', '/x/bar'],
    ['/', '', '/x', '/x/'],
  ]
  for (const [target, prefix, written, expected] of table) {
    const exchange = exchangeOf(requestOf(`GET ${target} HTTP/1.1`, 'Host: a'))
    exchange.choice.matchedPrefix = prefix
    assert.is(replyOrPass(policyOf(`path: { prefix: "${written}" }`), exchange), undefined)
    assert.is(exchange.request.target, expected, `${target} ${prefix} → ${written}`)
  }
})

rewrite('replaces a whole path and keeps the query', () => {
  const full = { kind: 'full', value: '/x' } as const
  assert.is(rewriteTarget(full, '/a/b', '/a'), '/x')
  assert.is(rewriteTarget(full, '/a/b?c=/d', ''), '/x?c=/d')
})

rewrite('sets the Host that the backend receives', () => {
  const table: [written: string, authority: string, expected: string | null][] = [
    ['authority: { full: "b.com:81" }', 'a.com:80', 'b.com:81'],
    ['authority: { host: b.com }', 'a.com', 'b.com'],
    ['authority: { host: b.com }', 'a.com:80', 'b.com:80'],
    ['authority: { port: 81 }', 'a.com', 'a.com:81'],
    ['authority: { port: 81 }', '[::1]:80', '[::1]:81'],
    ['authority: { port: 81 }', '[::1]', '[::1]:81'],
    ['authority: none', 'a.com:80', 'a.com:80'],
    ['authority: auto', 'a.com:80', null],
    ['path: { full: /x }', 'a.com:80', null],
  ]
  for (const [written, authority, expected] of table) {
    const exchange = exchangeOf(requestOf('GET / HTTP/1.1', `Host: ${authority}`))
    replyOrPass(policyOf(written), exchange)
    assert.is(exchange.enforcement.hostRewrite, expected, `${written} for ${authority}`)
    assert.is(exchange.request.receivedAuthority, authority)
  }
})

rewrite.run()
