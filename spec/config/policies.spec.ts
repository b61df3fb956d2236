import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RoutePolicies } from '../../lib/config/config-types.ts'
import { routeOf, routeProblems } from '../support/config.ts'

const policies = suite('policies of a route')

const BACKEND = 'backends: [{ host: "a:1" }]'

function read(fields: string): RoutePolicies {
  return routeOf(`${BACKEND}, policies: { ${fields} }`).policies
}

function refusals(fields: string): string[] {
  const lines = routeProblems(`${BACKEND}, policies: { ${fields} }`)
  return lines.map((line) => line.replace('routes[0].policies.', ''))
}

policies('are null unless they are set', () => {
  assert.ok(Object.values(read('')).every((policy) => policy === null))
})

policies('parse header modifiers with names in lower case', () => {
  const { requestHeaderModifier: modifier } = read(
    'requestHeaderModifier: { add: { X-A: one two }, set: { X-B: "" }, remove: [X-C] }',
  )
  assert.equal(modifier, { add: [['x-a', 'one two']], set: [['x-b', '']], remove: ['x-c'] })
  assert.equal(read('responseHeaderModifier: { set: { host: a } }').responseHeaderModifier, {
    add: [],
    set: [['host', 'a']],
    remove: [],
  })
})

policies('refuse headers that only the gateway sets', () => {
  for (const name of ['Content-Length', 'transfer-encoding', 'connection', 'upgrade', 'te'])
    for (const side of ['requestHeaderModifier', 'responseHeaderModifier']) {
      const problem = `cannot change '${name}', the gateway sets it itself`
      assert.equal(refusals(`${side}: { set: { ${name}: a } }`), [
        `${side}.set.${name}: ${problem}`,
      ])
      assert.equal(refusals(`${side}: { remove: [${name}] }`), [`${side}.remove[0]: ${problem}`])
    }
  assert.equal(refusals('requestHeaderModifier: { set: { Host: a } }'), [
    "requestHeaderModifier.set.Host: cannot change 'Host' here, use urlRewrite.authority",
  ])
  assert.equal(refusals('directResponse: { status: 200, headers: { connection: close } }'), [
    "directResponse.headers.connection: cannot change 'connection', the gateway sets it itself",
  ])
})

policies('refuse invalid header names and values, without printing values', () => {
  assert.equal(refusals('requestHeaderModifier: { add: { "a b": c } }'), [
    `requestHeaderModifier.add["a b"]: got 'a b', expected a valid header name`,
  ])
  const expected =
    'got characters that a header cannot contain, expected latin1 text on one line without leading or trailing spaces'
  for (const value of ['"a\\nb"', '"a\\rb"', '" a"', '"a "', '"\\0"', '"\u2713"'])
    assert.equal(refusals(`requestHeaderModifier: { add: { x: ${value} } }`), [
      `requestHeaderModifier.add.x: ${expected}`,
    ])
  assert.equal(refusals('requestHeaderModifier: { add: { x: 1 } }'), [
    'requestHeaderModifier.add.x: got a number, expected a string (quote it)',
  ])
})

policies('refuse to change one header twice', () => {
  assert.equal(refusals('requestHeaderModifier: { add: { X-A: b }, remove: [x-a] }'), [
    "requestHeaderModifier: got 'x-a' twice, expected each header once",
  ])
})

policies('parse urlRewrite in every form', () => {
  const authority = (text: string) =>
    read(`urlRewrite: { authority: ${text} }`).urlRewrite!.authority
  assert.equal(authority('{ full: "a.com:80" }'), { kind: 'full', value: 'a.com:80' })
  assert.equal(authority('{ host: a.com }'), { kind: 'host', host: 'a.com' })
  assert.equal(authority('{ port: 81 }'), { kind: 'port', port: 81 })
  assert.is(authority('auto'), 'auto')
  assert.is(authority('none'), 'none')
  const path = (text: string) => read(`urlRewrite: { path: ${text} }`).urlRewrite!.path
  assert.equal(path('{ full: /a }'), { kind: 'full', value: '/a' })
  assert.equal(path('{ prefix: /a/ }'), { kind: 'prefix', value: '/a' })
  assert.equal(path('{ prefix: "" }'), { kind: 'prefix', value: '' })
})

policies('refuse urlRewrite in any other form', () => {
  assert.equal(refusals('urlRewrite: { authority: other }'), [
    "urlRewrite.authority: expected 'auto', 'none' or an object with one of 'full', 'host', 'port'",
  ])
  assert.equal(refusals('urlRewrite: { authority: { hots: a } }'), [
    "urlRewrite.authority.hots: unknown field 'hots', did you mean 'host'?",
  ])
  assert.equal(refusals('urlRewrite: { authority: { full: "a/b" } }'), [
    "urlRewrite.authority.full: got 'a/b', expected host or host:port",
  ])
  assert.equal(refusals('urlRewrite: { authority: { host: "a:1" } }'), [
    "urlRewrite.authority.host: got 'a:1', expected a host without port",
  ])
  assert.equal(refusals('urlRewrite: { path: { prefix: a } }'), [
    "urlRewrite.path.prefix: got 'a', expected a path that starts with / and has no ? or #",
  ])
  assert.equal(refusals('urlRewrite: { path: { full: "/a?b" } }'), [
    "urlRewrite.path.full: got '/a?b', expected a path that starts with / and has no ? or #",
  ])
})

policies('allow a prefix rewrite only with pathPrefix matches', () => {
  const expected = 'got a prefix to replace, expected every match of the route to be a pathPrefix'
  for (const name of ['urlRewrite', 'requestRedirect'])
    assert.equal(
      routeProblems(
        `${BACKEND}, matches: [{}, { path: { exact: /a } }], policies: { ${name}: { path: { prefix: /b } } }`,
      ),
      [`routes[0].policies.${name}.path.prefix: ${expected}`],
    )
})

policies('parse requestRedirect', () => {
  assert.equal(read('requestRedirect: { scheme: https }').requestRedirect, {
    scheme: 'https',
    authority: null,
    path: null,
    status: 302,
  })
  assert.equal(refusals('requestRedirect: { status: 304 }'), [
    "requestRedirect.status: got 304, expected one of '301', '302', '303', '307', '308'",
  ])
  assert.equal(refusals('requestRedirect: { status: 301 }'), [
    'requestRedirect: got nothing to change, expected scheme, authority or path: the redirect would be to the same URL',
  ])
  assert.equal(refusals('requestRedirect: { scheme: https }, urlRewrite: { authority: none }'), [
    'urlRewrite: got urlRewrite and requestRedirect, expected one of them: a redirect reaches no backend',
  ])
})

policies('parse directResponse', () => {
  assert.equal(
    read('directResponse: { status: 503, body: away, headers: { Retry-After: "5" } }')
      .directResponse,
    { status: 503, body: 'away', headers: [['retry-after', '5']] },
  )
  assert.equal(refusals('directResponse: { body: x }'), ['directResponse.status is required'])
  assert.equal(refusals('directResponse: { status: 199 }'), [
    'directResponse.status: got 199, expected at least 200',
  ])
  assert.equal(refusals('directResponse: { status: 600 }'), [
    'directResponse.status: got 600, expected at most 599',
  ])
  assert.equal(refusals('directResponse: { status: 204, body: x }'), [
    'directResponse.body: got a body for a status that cannot have one, expected none',
  ])
})

policies('parse cors', () => {
  assert.equal(
    read('cors: { allowOrigins: ["https://*.a.com"], allowHeaders: [X-A, "*"], maxAge: 1m }').cors,
    {
      allowCredentials: false,
      allowHeaders: ['x-a', '*'],
      allowMethods: [],
      allowOrigins: ['https://*.a.com'],
      exposeHeaders: [],
      maxAge: 60_000,
    },
  )
  assert.equal(refusals('cors: { allowHeaders: ["*"] }'), ['cors.allowOrigins is required'])
  for (const origin of ['a.com', 'https://a.com/', 'https://', 'https://a.com:x'])
    assert.equal(refusals(`cors: { allowOrigins: ["${origin}"] }`), [
      `cors.allowOrigins[0]: got '${origin}',` +
        ' expected an origin such as https://example.com or https://*.example.com, or *',
    ])
  assert.equal(refusals('cors: { allowOrigins: ["*"], allowMethods: [get] }'), [
    "cors.allowMethods[0]: got 'get', expected a method such as GET, or *",
  ])
})

policies('parse timeout and retry', () => {
  assert.equal(read('timeout: { requestTimeout: 5s }').timeout, {
    requestTimeout: 5000,
    backendRequestTimeout: null,
  })
  assert.equal(read('retry: { attempts: 3, backoff: 50ms, codes: [502] }').retry, {
    attempts: 3,
    backoff: 50,
    codes: [502],
  })
  assert.equal(read('retry: {}').retry, { attempts: 1, backoff: 0, codes: [] })
  assert.equal(refusals('retry: { attempts: 11, codes: [399, 600] }'), [
    'retry.attempts: got 11, expected at most 10',
    'retry.codes[0]: got 399, expected at least 400',
    'retry.codes[1]: got 600, expected at most 599',
  ])
  assert.equal(refusals('timeout: { requestTimeout: 0s }'), [
    'timeout.requestTimeout: got 0, expected more than 0ms',
  ])
})

policies('parse backendTLS', () => {
  assert.equal(read('backendTLS: { hostname: a.com, insecure: true }').backendTLS, {
    cert: null,
    key: null,
    root: null,
    hostname: 'a.com',
    insecure: true,
    alpn: ['h2', 'http/1.1'],
  })
  assert.equal(read('backendTLS: { alpn: [http/1.1] }').backendTLS!.alpn, ['http/1.1'])
  assert.equal(refusals('backendTLS: { cert: a.pem }'), [
    'backendTLS: got only one of cert and key, expected both or neither',
  ])
  assert.equal(refusals('backendTLS: { root: /no/such.pem }'), [
    "backendTLS.root: cannot read '/no/such.pem': no such file, expected a PEM file",
  ])
  assert.equal(refusals('backendTLS: { alpn: [h3] }'), [
    "backendTLS.alpn[0]: got 'h3', expected one of 'h2', 'http/1.1', did you mean 'h2'?",
  ])
})

policies.run()
