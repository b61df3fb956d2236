import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Exchange } from '../../../lib/core/exchange.ts'
import {
  findCredential,
  removeCredential,
  restoreCredentials,
} from '../../../lib/enforce/auth/credentials.ts'
import { firstListener, routeText, ungatedConfig } from '../../support/config.ts'
import { exchangeOf, requestOf } from '../../support/exchange-of.ts'

const credentials = suite('credentials')

/** The location from configuration text. */
function locationOf(written: string) {
  const policies = `apiKey: { keys: [{ key: k }], location: { ${written} } }`
  const text = routeText(`backends: [{ host: "a:1" }], policies: { ${policies} }`)
  return firstListener(ungatedConfig(text)).routes[0]!.policies.apiKey!.locations[0]!
}

const BEARER = locationOf('header: { name: Authorization, prefix: "Bearer " }')
const HEADER = locationOf('header: { name: x-api-key }')
const QUERY = locationOf('queryParameter: { name: key }')
const COOKIE = locationOf('cookie: { name: sid }')
const EXPRESSION = byExpression('request.headers["x-all"].stripPrefix("t ")')

function byExpression(written: string): typeof BEARER {
  return locationOf(`expression: '${written}'`)
}

function exchange(target: string, ...fields: string[]): Exchange {
  return exchangeOf(requestOf(`GET ${target} HTTP/1.1`, 'Host: a', ...fields))
}

/** The credential found in a request with this target and these headers. */
function found(location: typeof BEARER, target: string, ...fields: string[]): string {
  const one = findCredential(exchange(target, ...fields), location)
  return one.kind === 'one' ? `one ${one.value}` : one.kind
}

credentials('are found in a header, after the prefix', () => {
  assert.is(found(BEARER, '/'), 'none')
  assert.is(found(BEARER, '/', 'authorization: Bearer abc'), 'one abc')
  assert.is(found(BEARER, '/', 'AUTHORIZATION:  bEARER   abc '), 'one abc')
  assert.is(found(BEARER, '/', 'authorization: Bearer a, Bearer b'), 'one a, Bearer b')
  for (const value of ['Basic abc', 'Bearerabc', 'Bearer', 'Bearer\tabc', ''])
    assert.is(found(BEARER, '/', `authorization: ${value}`), 'none', value)
  assert.is(found(HEADER, '/', 'x-api-key: abc'), 'one abc')
  assert.is(found(HEADER, '/', 'x-api-key:'), 'one ')
})

credentials('are ambiguous in a header that is sent twice', () => {
  for (const fields of [
    ['Bearer a', 'Bearer b'],
    ['Bearer a', 'Bearer a'],
    ['Basic a', 'Bearer b'],
    ['Bearer a', ''],
  ])
    assert.is(
      found(BEARER, '/', ...fields.map((value) => `authorization: ${value}`)),
      'several',
      fields.join(),
    )
  assert.is(found(BEARER, '/', 'authorization: Basic a', 'authorization: Basic b'), 'none')
})

credentials('are found in the query', () => {
  assert.is(found(QUERY, '/'), 'none')
  assert.is(found(QUERY, '/?keys=a&ke=b&KEY=c'), 'none')
  assert.is(found(QUERY, '/?a=b&key=a%20%2Bb+c&d'), 'one a +b c')
  assert.is(found(QUERY, '/?k%65y=abc'), 'one abc')
  assert.is(found(QUERY, '/?key'), 'one ')
  assert.is(found(QUERY, '/?key=a&key=a'), 'several')
  assert.is(found(QUERY, '/?key=a&k%65y=b'), 'several')
})

credentials('are found in a cookie', () => {
  assert.is(found(COOKIE, '/'), 'none')
  assert.is(found(COOKIE, '/', 'cookie: a=b; sid=x=y; c=d'), 'one x=y')
  assert.is(found(COOKIE, '/', 'cookie: sid=abc'), 'one abc')
  assert.is(found(COOKIE, '/', 'cookie: SID=abc; xsid=a; sidx=b'), 'none')
  assert.is(found(COOKIE, '/', 'cookie: sid=a; sid=a'), 'several')
  assert.is(found(COOKIE, '/', 'cookie: sid=a', 'cookie: b=c; sid=d'), 'several')
})

credentials('are found by an expression, at any length', () => {
  assert.is(found(EXPRESSION, '/'), 'none')
  assert.is(found(EXPRESSION, '/', 'x-all: t abc'), 'one abc')
  assert.is(found(EXPRESSION, '/', 'x-all: t '), 'one t')
  const long = 'x'.repeat(5000)
  assert.is(found(EXPRESSION, '/', `x-all: t ${long}`), `one ${long}`)
})

/** Removes the credential found there. */
function take(one: Exchange, location: typeof BEARER): void {
  const credential = findCredential(one, location)
  assert.is(credential.kind, 'one')
  removeCredential(one, location, credential.kind === 'one' ? credential.value : '')
}

function taken(location: typeof BEARER, target: string, ...fields: string[]): string {
  const one = exchange(target, ...fields)
  take(one, location)
  return `${one.request.target} ${one.request.fieldsText().replaceAll('\r\n', '|')}`
}

credentials('are removed, and all other text stays unchanged', () => {
  assert.is(taken(BEARER, '/?a', 'AuthorizaTion: Bearer abc', 'x: y'), '/?a Host: a|x: y|')
  assert.is(taken(QUERY, '/p?a=%62&key=x&&b', 'x: y'), '/p?a=%62&&b Host: a|x: y|')
  assert.is(taken(QUERY, '/p?k%65y=x'), '/p Host: a|')
  assert.is(taken(QUERY, '/p?key=x&a=key=y'), '/p?a=key=y Host: a|')
  assert.is(taken(COOKIE, '/', 'cookie: a=b; sid=x; c="d;e"'), '/ Host: a|cookie: a=b; c="d;e"|')
  assert.is(taken(COOKIE, '/', 'cookie: sid=x; a=b'), '/ Host: a|cookie: a=b|')
  assert.is(taken(COOKIE, '/', 'cookie: sid=x'), '/ Host: a|')
  assert.is(taken(COOKIE, '/', 'cookie: a=b', 'cookie: sid=x'), '/ Host: a|cookie: a=b|')
})

credentials('that an expression found are removed where they are a complete value', () => {
  assert.is(taken(EXPRESSION, '/', 'x-all: t abc', 'x: y'), '/ Host: a|x: y|')
  assert.is(taken(EXPRESSION, '/', 'x-all: abc', 'x: y'), '/ Host: a|x: y|')
  // In every place: the backend may read another one.
  assert.is(taken(EXPRESSION, '/', 'x-all: t abc', 'authorization: Bearer   abc'), '/ Host: a|')
  const bySid = byExpression('request.headers["cookie"].split("sid=")[1].split(";")[0]')
  assert.is(taken(bySid, '/', 'cookie: a=b; sid=x=y; c=d'), '/ Host: a|cookie: a=b; c=d|')
  const byKey = byExpression('request.uri.query("key")')
  assert.is(taken(byKey, '/p?a=%62&k%65y=a%20%2Bb+c&d'), '/p?a=%62&d Host: a|')
  const byEnd = byExpression('request.pathAndQuery.split("key=")[1]')
  assert.is(taken(byEnd, '/p?a=%62&key=a%2Bb'), '/p?a=%62 Host: a|')
})

credentials('that an expression composed stay on the request', () => {
  const part = byExpression('request.headers["x-all"].split("-")[0]')
  assert.is(taken(part, '/', 'x-all: abc-d', 'x: xabc'), '/ Host: a|x-all: abc-d|x: xabc|')
  assert.is(taken(part, '/', 'x-all: a-b', 'x: note to a'), '/ Host: a|x-all: a-b|x: note to a|')
  const path = byExpression('request.path.split("/")[1]')
  assert.is(taken(path, '/abc/d?a=abc', 'x: abc'), '/abc/d?a=abc Host: a|x: abc|')
  const host = byExpression('request.headers["host"]')
  assert.is(taken(host, '/?a=a'), '/?a=a Host: a|')
  const length = byExpression('request.headers["content-length"]')
  assert.is(taken(length, '/', 'content-length: 7'), '/ Host: a|content-length: 7|')
  const source = byExpression('source.address')
  const forwarded = 'x-forwarded-for: 127.0.0.1'
  assert.is(taken(source, '/?from=127.0.0.1', forwarded), `/?from=127.0.0.1 Host: a|${forwarded}|`)
})

credentials('are restored unchanged for a backend with passthrough', () => {
  const one = exchange(
    '/p?key=%61&b=c',
    'authorization: bearer abc',
    'cookie: sid=x=y; d=e',
    'x-all: t xyz',
  )
  for (const location of [BEARER, QUERY, COOKIE, EXPRESSION]) take(one, location)
  assert.is(one.request.target, '/p?b=c')
  assert.is(one.request.fieldsText(), 'Host: a\r\ncookie: d=e\r\n')
  one.request.target = '/rewritten'
  restoreCredentials(one)
  assert.is(one.request.target, '/rewritten?key=%61')
  assert.is(one.request.get('authorization'), 'bearer abc')
  assert.is(one.request.get('x-all'), 't xyz')
  assert.equal(one.request.getAll('cookie'), ['d=e; sid=x=y'])
})

credentials('are restored over values that replaced them in the meantime', () => {
  const one = exchange('/', 'authorization: Bearer abc')
  take(one, BEARER)
  one.request.set('authorization', 'Basic other')
  restoreCredentials(one)
  assert.equal(one.request.getAll('authorization'), ['Bearer abc'])
})

credentials.run()
