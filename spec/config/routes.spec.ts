import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { EndpointAddress } from '../../lib/config/config-types.ts'
import { configOf, firstListener, problemsOf, routeOf, routeProblems } from '../support/config.ts'

const routes = suite('routes')

const BACKEND = 'backends: [{ host: "a:1" }]'

routes('have a default name, match, key and weight', () => {
  const route = routeOf(BACKEND)
  assert.is(route.name, 'route0')
  assert.is(route.key, 'gateway/default/default/route0')
  assert.equal(route.hostnames, [])
  assert.equal(route.matches, [
    { path: { kind: 'prefix', value: '/' }, method: '', headers: [], query: [] },
  ])
  assert.equal(route.backends, [
    {
      kind: 'host',
      endpoint: { kind: 'tcp', host: 'a', port: 1 },
      policies: route.backends[0]!.policies,
      key: 'gateway/default/default/route0/backend0',
      weight: 1,
    },
  ])
  assert.ok(Object.values(route.backends[0]!.policies).every((policy) => policy === null))
  assert.equal(route.limits, [])
})

const TWO = `gateways:
  one: { port: 1 }
  two: { port: 2, listeners: [{ name: x, hostname: x.com }, {}] }
`

/** Route keys by listener key. */
function routeKeysOf(text: string): Record<string, string[]> {
  const found: Record<string, string[]> = {}
  for (const { listeners } of configOf(TWO + text).gateways)
    for (const listener of listeners)
      if (listener.routes.length > 0) found[listener.key] = listener.routes.map(({ key }) => key)
  return found
}

routes('attach to all listeners of a gateway or to one', () => {
  assert.equal(routeKeysOf(`routes: [{ name: r, gateways: one, ${BACKEND} }]`), {
    'gateway/one': ['gateway/one/default/r'],
  })
  assert.equal(routeKeysOf(`routes: [{ name: r, gateways: [two], ${BACKEND} }]`), {
    'gateway/two/x': ['gateway/two/x/default/r'],
    'gateway/two/listener1': ['gateway/two/listener1/default/r'],
  })
  assert.equal(routeKeysOf(`routes: [{ gateways: [two/listener1, one, one], ${BACKEND} }]`), {
    'gateway/one': ['gateway/one/default/route0'],
    'gateway/two/listener1': ['gateway/two/listener1/default/route0'],
  })
})

routes('refuse references to gateways and listeners that do not exist', () => {
  const refusals = (gateways: string) =>
    problemsOf(`${TWO}routes: [{ gateways: ${gateways}, ${BACKEND} }]`)
  const problem = 'c.yaml:4:22: routes[0].gateways: unknown gateway reference'
  assert.equal(refusals('three'), [`${problem} three, expected one of one, two`])
  assert.equal(refusals('twoo'), [`${problem} twoo, did you mean 'two'?`])
  assert.equal(refusals('one/x'), [`${problem} one/x, expected one of one, two`])
  assert.equal(refusals('two/listener2'), [
    `${problem} two/listener2, did you mean 'two/listener1'?`,
  ])
  assert.equal(refusals('two/x/y'), [`${problem} two/x/y, did you mean 'two/x'?`])
  assert.equal(refusals('[one, nope]'), [
    'c.yaml:4:28: routes[0].gateways[1]: unknown gateway reference nope, expected one of one, two',
  ])
  assert.equal(refusals('7'), [
    'c.yaml:4:22: routes[0].gateways: expected the name of a gateway or a list of names',
  ])
})

routes('need gateways if no gateway is named default', () => {
  assert.equal(problemsOf(`${TWO}routes: [{ ${BACKEND} }, { name: r, ${BACKEND} }]`), [
    'c.yaml:4:10: routes[0]: routes.route0 must set gateways, as no gateway is named default',
    'c.yaml:4:43: routes[1]: routes.r must set gateways, as no gateway is named default',
  ])
})

routes('need unique names on a listener', () => {
  const text = (second: string) =>
    `${TWO}routes: [{ name: r, gateways: one, ${BACKEND} }, { name: r, gateways: ${second}, ${BACKEND} }]`
  assert.equal(problemsOf(text('two')), [])
  assert.equal(problemsOf(text('[two, one]')), [
    "c.yaml:4:67: routes[1]: got a second route named 'r' on gateway/one, expected names to differ",
  ])
})

routes('accept backend addresses in every form', () => {
  const table: [string, EndpointAddress][] = [
    ['localhost:80', { kind: 'tcp', host: 'localhost', port: 80 }],
    ['10.0.0.1:8080', { kind: 'tcp', host: '10.0.0.1', port: 8080 }],
    ['my_app.internal:65535', { kind: 'tcp', host: 'my_app.internal', port: 65535 }],
    ['[::1]:80', { kind: 'tcp', host: '::1', port: 80 }],
    ['unix:/run/app.sock', { kind: 'unix', path: '/run/app.sock' }],
  ]
  for (const [text, expected] of table) {
    const backend = routeOf(`backends: [{ host: '${text}' }]`).backends[0]!
    assert.ok(backend.kind === 'host')
    assert.equal(backend.endpoint, expected, text)
  }
})

routes('refuse backend addresses in any other form', () => {
  const expected = 'expected host:port, [ipv6]:port or unix:/path'
  for (const text of [
    'a',
    'a:',
    'a:0',
    'a:65536',
    '::1:80',
    '[a]:80',
    'a b:80',
    'unix:x',
    'a:80/x',
    '',
  ])
    assert.equal(routeProblems(`backends: [{ host: '${text}' }]`), [
      `routes[0].backends[0].host: got '${text}', ${expected}`,
    ])
  assert.equal(routeProblems('backends: [{ host: "https://a" }]'), [
    `routes[0].backends[0].host: got 'https://a', ${expected} (no scheme; use policies.backendTLS for https)`,
  ])
  assert.equal(routeProblems('backends: [{ host: "a:1", weight: -1 }]'), [
    'routes[0].backends[0].weight: got -1, expected at least 0',
  ])
})

routes('need backends unless a policy sends the response', () => {
  const expected =
    'got no backends, expected at least one, or the policy requestRedirect or directResponse'
  assert.equal(routeProblems('name: x'), [`routes[0]: ${expected}`])
  assert.equal(routeProblems('policies: { directResponse: { status: 200 } }'), [])
  assert.equal(routeProblems('policies: { requestRedirect: { scheme: https } }'), [])
})

routes('parse matches with all parts', () => {
  const headers =
    '[{ name: X-A, value: { exact: "1" } }, { name: ":authority", value: { regex: a+ } }]'
  const query = '[{ name: q, value: { regex: "x|y" } }]'
  const matches = `[{ path: { exact: /a }, method: GET, headers: ${headers}, query: ${query} }, {}]`
  const [first, second] = routeOf(`matches: ${matches}, ${BACKEND}`).matches
  assert.equal(first!.path, { kind: 'exact', value: '/a' })
  assert.is(first!.method, 'GET')
  assert.equal(first!.headers[0], { name: 'x-a', value: { kind: 'exact', value: '1' } })
  assert.is(first!.headers[1]!.name, ':authority')
  assert.equal(second!.path, { kind: 'prefix', value: '/' })
  const { value } = first!.query[0]!
  assert.ok(value.kind === 'regex' && value.regex.test('y') && !value.regex.test('xy'))
})

function matchProblems(match: string): string[] {
  return routeProblems(`matches: [${match}], ${BACKEND}`).map((line) =>
    line.replace('routes[0].matches[0].', ''),
  )
}

routes('need exactly one form of a path or value match', () => {
  const forms = "expected exactly one of 'exact', 'pathPrefix', 'regex'"
  assert.equal(matchProblems('{ path: {} }'), [`path: got none, ${forms}`])
  assert.equal(matchProblems('{ path: { exact: /a, regex: b } }'), [
    `path: got exact and regex, ${forms}`,
  ])
  assert.equal(matchProblems('{ path: { prefix: /a } }'), [
    "path.prefix: unknown field 'prefix', expected one of 'exact', 'pathPrefix', 'regex'",
  ])
  assert.equal(matchProblems('{ query: [{ name: a, value: {} }] }'), [
    "query[0].value: got none, expected exactly one of 'exact', 'regex'",
  ])
})

routes('refuse paths, methods and header names that are not valid in a request', () => {
  const path = 'expected a path that starts with / and has no ? or #'
  for (const text of ['', 'a', '/a?b', '/a#b', '/a b', '/é'])
    assert.equal(matchProblems(`{ path: { pathPrefix: '${text}' } }`), [
      `path.pathPrefix: got '${text}', ${path}`,
    ])
  assert.equal(matchProblems('{ method: get }'), [
    "method: got 'get', expected a method such as GET",
  ])
  assert.equal(matchProblems('{ headers: [{ name: ":status", value: { exact: a } }] }'), [
    "headers[0].name: got ':status', expected a valid header name or one of :authority, :method, :path, :scheme",
  ])
})

routes('compile a regex on its own and match the whole value', () => {
  assert.equal(matchProblems('{ path: { regex: "a)|(b" } }'), [
    'path.regex: got an invalid regex: unexpected ), expected RE2 syntax',
  ])
  const regexOf = (text: string) => routeOf(`matches: [{ path: { regex: '${text}' } }], ${BACKEND}`)
  const { path } = regexOf('/a|/b').matches[0]!
  assert.ok(path.kind === 'regex' && path.regex.test('/b'))
  assert.not.ok(path.kind === 'regex' && (path.regex.test('/a/b') || path.regex.test('/b\n')))
})

routes('keep hostnames in lower case', () => {
  assert.equal(routeOf(`hostnames: [A.Com, "*.B.com"], ${BACKEND}`).hostnames, ['a.com', '*.b.com'])
  assert.match(routeProblems(`hostnames: ["*"], ${BACKEND}`)[0]!, "got '*', expected a hostname")
})

routes('share one set of policies between listeners', () => {
  const config = configOf(`${TWO}routes: [{ gateways: [one, two], ${BACKEND} }]`)
  const first = firstListener(config).routes[0]!
  assert.is(first.policies, config.gateways[1]!.listeners[0]!.routes[0]!.policies)
})

routes('refuse a regex that is not RE2 syntax or too large', () => {
  const problem = (regex: string) => matchProblems(`{ path: { regex: '${regex}' } }`).join()
  assert.match(
    problem('/(?!a).*'),
    /^path.regex: got an invalid regex: look-around .*, expected RE2/,
  )
  assert.match(problem('/(a)\\1'), /got an invalid regex: a back-reference/)
  assert.match(problem('(?:a{0,100}){0,100}'), /got an invalid regex: a repeat count/)
  assert.match(problem('(?:ab){900}(?:ab){900}'), /got an invalid regex: too large/)
  for (const regex of ['/a.*', '/v[0-9]+/.*', '/(?:a|b)/[^/]+'])
    assert.is(problem(regex), '', regex)
})

routes('run a regex in linear time that would backtrack exponentially', () => {
  for (const regex of ['/(a+)+', '/(a|a)*', '/([a-z]+)*', '/(?:a{0,30}){0,30}']) {
    const { path } = routeOf(`matches: [{ path: { regex: '${regex}' } }], ${BACKEND}`).matches[0]!
    const before = process.cpuUsage()
    assert.ok(path.kind === 'regex' && path.regex.test('/aaa'), regex)
    assert.not.ok(path.regex.test(`/${'a'.repeat(4000)}!`), regex)
    assert.ok(process.cpuUsage(before).user < 2_000_000, regex)
  }
})

routes('warn about a path that no request has after it is normalized', () => {
  const warningsOf = (path: string, more = ''): readonly string[] =>
    configOf(
      `gateways: { default: { port: 1 } }\nroutes: [{ matches: [{ path: ${path} }], ${BACKEND} }]\n${more}`,
    ).warnings
  for (const path of ['{ exact: /a/ }', '{ pathPrefix: /a/b }', '{ regex: /%61 }'])
    assert.equal(warningsOf(path), [])
  assert.equal(warningsOf('{ pathPrefix: /%61//b }'), [
    "c.yaml:2:30: routes[0].matches[0].path: '/%61//b' matches no request: requests have '/a/b', see frontendPolicies.http.normalizePath",
  ])
  assert.match(warningsOf("{ exact: '/%' }")[0]!, /such requests are refused/)
  const off = 'frontendPolicies: { http: { normalizePath: off } }\n'
  assert.equal(warningsOf('{ pathPrefix: /%61//b }', off), [])
})

routes.run()
