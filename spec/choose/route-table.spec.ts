import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RouteTable } from '../../lib/choose/route-table.ts'
import { configOf, firstListener } from '../support/config.ts'
import { cpuMs } from '../support/cpu-time.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'

const table = suite('route table')

/** Routes by name, each as the fields of a route in YAML flow form. */
function tableOf(routes: Record<string, string>, scheme: 'http' | 'https' = 'http') {
  const lines = Object.entries(routes).map(
    ([name, fields]) => `- { name: ${name}, backends: [{ host: "a:1" }], ${fields} }`,
  )
  const text = `gateways: { default: { port: 1 } }\nroutes:\n${lines.join('\n')}`
  const entries = firstListener(configOf(text)).routes.map((route) => ({
    key: route.key,
    hostnames: route.hostnames,
    matches: route.matches,
    value: route.name,
  }))
  return new RouteTable(entries, scheme)
}

function find(routes: RouteTable<string>, line: string, ...fields: string[]): string | undefined {
  const [method = 'GET', url = '/'] = line.split(' ')
  const [, host, target] = /^([^/]*)(\/.*)$/.exec(url)!
  const head = requestOf(`${method} ${target} HTTP/1.1`, `Host: ${host || 'any.com'}`, ...fields)
  return routes.find(exchangeOf(head).request)?.value
}

/** The expected route of each request, as [request, name]. */
function expectAll(routes: RouteTable<string>, cases: [string, string | undefined][]): void {
  for (const [line, expected] of cases) assert.is(find(routes, line), expected, line)
}

table('prefers exact hosts to longer to shorter wildcards to none', () => {
  const routes = tableOf({
    exact: 'hostnames: [a.b.example.com]',
    long: 'hostnames: ["*.b.example.com"]',
    short: 'hostnames: ["*.example.com"]',
    none: '',
  })
  expectAll(routes, [
    ['GET a.b.example.com/', 'exact'],
    ['GET A.B.Example.COM/', 'exact'],
    ['GET a.b.example.com:8080/', 'exact'],
    ['GET x.b.example.com/', 'long'],
    ['GET x.y.b.example.com/', 'long'],
    ['GET b.example.com/', 'short'],
    ['GET example.com/', 'none'],
    ['GET [::1]:80/', 'none'],
  ])
})

table('falls back to a less specific host when nothing else matches', () => {
  const routes = tableOf({
    exact: 'hostnames: [a.example.com], matches: [{ path: { exact: /only } }]',
    wild: 'hostnames: ["*.example.com"], matches: [{ path: { pathPrefix: /wild } }]',
    none: 'matches: [{ path: { pathPrefix: /any } }]',
  })
  expectAll(routes, [
    ['GET a.example.com/only', 'exact'],
    ['GET a.example.com/wild/x', 'wild'],
    ['GET a.example.com/any', 'none'],
    ['GET a.example.com/else', undefined],
    ['GET other.com/wild', undefined],
  ])
})

table('prefers the host even to a better path', () => {
  const routes = tableOf({
    host: 'hostnames: [a.com]',
    path: 'matches: [{ path: { exact: /x } }]',
  })
  assert.is(find(routes, 'GET a.com/x'), 'host')
})

table('prefers exact to prefix to regex, and longer paths', () => {
  const routes = tableOf({
    regex: 'matches: [{ path: { regex: "/a/b/c/d.*" } }]',
    longer: 'matches: [{ path: { regex: "/a/b/c/d/e/.*" } }]',
    root: 'matches: [{ path: { pathPrefix: /z } }]',
    short: 'matches: [{ path: { pathPrefix: /a/b/c/d/e/f } }]',
    long: 'matches: [{ path: { pathPrefix: /a/b/c/d/e/f/g } }]',
    exact: 'matches: [{ path: { exact: /a/b/c/d/e/f/g } }]',
  })
  expectAll(routes, [
    ['GET /a/b/c/d/e/f/g', 'exact'],
    ['GET /a/b/c/d/e/f/g?x=1', 'exact'],
    ['GET /a/b/c/d/e/f/g/', 'long'],
    ['GET /a/b/c/d/e/f/gg', 'short'],
    ['GET /a/b/c/d/e/x', 'longer'],
    ['GET /a/b/c/dd', 'regex'],
    ['GET /a/b/c', undefined],
  ])
})

table('matches prefixes by whole segments', () => {
  for (const prefix of ['/foo', '/foo/', '/foo//']) {
    const routes = tableOf({ foo: `matches: [{ path: { pathPrefix: ${prefix} } }]` })
    expectAll(routes, [
      ['GET /foo', 'foo'],
      ['GET /foo/', 'foo'],
      ['GET /foo/bar', 'foo'],
      ['GET /foo//bar', 'foo'],
      ['GET /foo?x=/y', 'foo'],
      ['GET /foobar', undefined],
      ['GET /fo', undefined],
      ['GET /Foo', undefined],
      ['GET /x/foo', undefined],
      ['GET /', undefined],
    ])
  }
})

table('matches everything by the root prefix', () => {
  const routes = tableOf({ root: '' })
  expectAll(routes, [
    ['GET /', 'root'],
    ['GET /?q', 'root'],
    ['DELETE /a/b//c', 'root'],
  ])
})

table('requires a regex to match the whole path', () => {
  const routes = tableOf({ regex: 'matches: [{ path: { regex: "/a/[0-9]+|/b" } }]' })
  expectAll(routes, [
    ['GET /a/12', 'regex'],
    ['GET /b?x', 'regex'],
    ['GET /a/12x', undefined],
    ['GET /x/b', undefined],
    ['GET /b/c', undefined],
  ])
})

table('prefers having a method, then more headers, then more parameters, then the key', () => {
  const header = (name: string) => `{ name: ${name}, value: { exact: "1" } }`
  const routes = tableOf({
    d: '',
    c: '',
    query: `matches: [{ query: [${header('q')}] }]`,
    queries: `matches: [{ query: [${header('q')}, ${header('r')}] }]`,
    header: `matches: [{ headers: [${header('x')}] }]`,
    headers: `matches: [{ headers: [${header('x')}, ${header('y')}] }]`,
    method: 'matches: [{ method: POST }]',
  })
  assert.is(find(routes, 'POST /?q=1&r=1', 'x: 1', 'y: 1'), 'method')
  assert.is(find(routes, 'GET /?q=1&r=1', 'x: 1', 'y: 1'), 'headers')
  assert.is(find(routes, 'GET /?q=1&r=1', 'X: 1', 'y: 2'), 'header')
  assert.is(find(routes, 'GET /?q=1&r=1', 'x: 2'), 'queries')
  assert.is(find(routes, 'GET /?q=1&r=2'), 'query')
  assert.is(find(routes, 'GET /?q=2'), 'c')
})

table('prefers a longer path to any condition', () => {
  const routes = tableOf({
    long: 'matches: [{ path: { pathPrefix: /a/b } }]',
    strict: 'matches: [{ path: { pathPrefix: /a }, method: GET }]',
  })
  assert.is(find(routes, 'GET /a/b'), 'long')
  assert.is(find(routes, 'GET /a/c'), 'strict')
})

table('tries a shorter prefix when a condition fails', () => {
  const routes = tableOf({
    exact: 'matches: [{ path: { exact: /a/b }, method: PUT }]',
    long: 'matches: [{ path: { pathPrefix: /a/b }, method: POST }]',
    regex: 'matches: [{ path: { regex: "/a/.*" } }]',
    short: 'matches: [{ path: { pathPrefix: /a }, method: GET }]',
  })
  expectAll(routes, [
    ['PUT /a/b', 'exact'],
    ['POST /a/b', 'long'],
    ['GET /a/b', 'short'],
    ['HEAD /a/b', 'regex'],
  ])
})

table('takes any of several matches, and all parts of each', () => {
  const either = '{ path: { exact: /a }, method: GET }, { path: { exact: /b } }'
  const routes = tableOf({ r: `matches: [${either}]` })
  expectAll(routes, [
    ['GET /a', 'r'],
    ['POST /b', 'r'],
    ['POST /a', undefined],
  ])
})

table('matches headers by exact value or whole regex', () => {
  const routes = tableOf({
    exact: 'matches: [{ headers: [{ name: X-Env, value: { exact: dev } }] }]',
    regex: 'matches: [{ headers: [{ name: x-env, value: { regex: "prod-[0-9]+" } }] }]',
  })
  assert.is(find(routes, 'GET /', 'x-env: dev'), 'exact')
  assert.is(find(routes, 'GET /', 'X-ENV: prod-7'), 'regex')
  assert.is(find(routes, 'GET /', 'x-env: prod-7x'), undefined)
  assert.is(find(routes, 'GET /', 'x-env: Dev'), undefined)
  assert.is(find(routes, 'GET /'), undefined)
})

table('matches pseudo headers', () => {
  const named = (name: string, value: string) =>
    `matches: [{ headers: [{ name: "${name}", value: { exact: "${value}" } }] }]`
  assert.is(find(tableOf({ r: named(':authority', 'a.com:8') }), 'GET a.com:8/'), 'r')
  assert.is(find(tableOf({ r: named(':authority', 'a.com') }), 'GET a.com:8/'), undefined)
  assert.is(find(tableOf({ r: named(':method', 'POST') }), 'POST /'), 'r')
  assert.is(find(tableOf({ r: named(':path', '/a?b=c') }), 'GET /a?b=c'), 'r')
  assert.is(find(tableOf({ r: named(':scheme', 'https') }, 'https'), 'GET /'), 'r')
  assert.is(find(tableOf({ r: named(':scheme', 'https') }), 'GET /'), undefined)
})

table('returns the prefix that matched', () => {
  const routes = tableOf({
    r: 'matches: [{ path: { pathPrefix: /a/b/ } }, { path: { exact: /x } }]',
    root: '',
  })
  const prefixOf = (target: string) =>
    routes.find(requestOf(`GET ${target} HTTP/1.1`, 'Host: a'))?.prefix
  assert.is(prefixOf('/a/b/c'), '/a/b')
  assert.is(prefixOf('/x'), '')
  assert.is(prefixOf('/y'), '')
})

table('finds the same object for every request', () => {
  const routes = tableOf({ r: '' })
  const request = requestOf('GET / HTTP/1.1', 'Host: a')
  assert.is(routes.find(request), routes.find(request))
})

table('finds nothing for the server-wide target, and stays quick on many slashes', () => {
  const routes = tableOf({ r: 'matches: [{ path: { pathPrefix: /a } }]', root: '' })
  assert.is(routes.find(requestOf('OPTIONS * HTTP/1.1', 'Host: a')), undefined)
  const request = requestOf(`GET /${'/'.repeat(60_000)} HTTP/1.1`, 'Host: a')
  const started = cpuMs()
  for (let i = 0; i < 100; i++) assert.is(routes.find(request)?.value, 'root')
  assert.ok(cpuMs() - started < 500)
})

table('rejects a text that is too long for a regex instead of treating it as no match', () => {
  const routes = tableOf({
    guarded: 'matches: [{ path: { regex: "/a.*" } }]',
    header: 'matches: [{ path: { exact: /h }, headers: [{ name: x, value: { regex: "b+" } }] }]',
  })
  const long = 'a'.repeat(4096)
  assert.is(find(routes, `GET /${long.slice(1)}`), 'guarded')
  assert.throws(() => find(routes, `GET /${long}`), /more than 4096 characters/)
  assert.throws(() => find(routes, 'GET /h', `x: ${long}b`), /more than 4096 characters/)
})

table.run()
