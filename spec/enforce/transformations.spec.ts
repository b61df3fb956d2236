import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseCelJson } from '../../lib/expressions/json-values.ts'
import { buildResponseHead } from '../../lib/core/replies.ts'
import { createTransformationPolicy } from '../../lib/enforce/header-changes.ts'
import { ask } from '../support/ask.ts'
import { replyOrPass } from '../support/policy-reply.ts'
import { firstListener, routeText, ungatedConfig } from '../support/config.ts'
import { cpuMs } from '../support/cpu-time.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'
import { Stage } from '../support/gateway.ts'
import { Http2Client } from '../support/http2-client.ts'
import type { Claims } from '../../lib/core/facts.ts'

const changing = suite('transformations')
const stage = new Stage()
changing.after.each(() => stage.clear())

function policyOf(written: string) {
  const text = routeText(
    `backends: [{ host: "a:1" }], policies: { transformations: { ${written} } }`,
  )
  return createTransformationPolicy(
    firstListener(ungatedConfig(text)).routes[0]!.policies.transformations!,
  )
}

/** The headers of a request after the transformation, joined by bars. */
function sent(written: string, claims = '{}', ...fields: string[]): string {
  const exchange = exchangeOf(requestOf('GET /a?b HTTP/1.1', 'Host: h', ...fields))
  exchange.facts = { jwt: parseCelJson(claims) as Claims }
  assert.is(replyOrPass(policyOf(`request: { ${written} }`), exchange), undefined)
  return exchange.request.fieldsText().replaceAll('\r\n', '|')
}

changing('set, add and remove headers with the values of expressions', () => {
  assert.is(
    sent(
      `set: { X-User: jwt.sub, x-n: "jwt.n + 1", x-b: 'jwt.sub == "u"' },
       add: { x-a: '"new " + request.method' }, remove: [X-Gone]`,
      '{"sub":"u","n":41}',
      'x-user: old',
      'X-USER: older',
      'x-a: old',
      'x-gone: 1',
    ),
    'Host: h|x-a: old|x-user: u|x-n: 42|x-b: true|x-a: new GET|',
  )
})

changing('read the original request, not the changes of other expressions', () => {
  assert.is(
    sent(
      `set: { a: 'request.headers.b', b: 'request.headers.a', c: 'request.headers.d' }, remove: [d]`,
      '{}',
      'a: 1',
      'b: 2',
      'd: 4',
    ),
    'Host: h|a: 2|b: 1|c: 4|',
  )
})

changing('omit a header whose expression has no text', () => {
  const claims = '{"sub":"u","list":[1],"map":{"a":1},"none":null,"empty":""}'
  for (const value of ['jwt.absent', 'jwt.list', 'jwt.map', 'jwt.none', '1 / 0', 'b"x"', 'jwt.n.m'])
    assert.is(
      sent(
        `set: { x: '${value}', y: jwt.sub }, add: { z: '${value}' }`,
        claims,
        'x: old',
        'z: old',
      ),
      'Host: h|z: old|y: u|',
      value,
    )
  assert.is(sent('set: { x: jwt.empty }', claims, 'x: old'), 'Host: h|x: |')
})

changing('allow no line break or other control character in a head', () => {
  for (const char of ['\\r', '\\n', '\\r\\nx-evil: 1', '\\u0000', '\\u001f', '\\u007f', '\\u000b'])
    for (const text of [`a${char}b`, `${char}b`, `a${char}`])
      assert.is(
        sent('set: { x: jwt.t }, add: { y: jwt.t }', `{"t":"${text}"}`),
        'Host: h|',
        JSON.stringify(text),
      )
  assert.is(sent('set: { x: jwt.t }', '{"t":"\\ta\\tb \\t"}'), 'Host: h|x: a\tb|')
})

changing('write text as UTF-8 bytes', () => {
  const bytes = (text: string): string =>
    Buffer.from(sent('set: { x: jwt.t }', JSON.stringify({ t: text })), 'latin1').toString()
  for (const text of ['Łódź', '日本', '😀', 'Š', '…', 'xŠ'])
    assert.is(bytes(text), `Host: h|x: ${text}|`)
  // Latin1 stays unchanged: a copied header already has it.
  assert.is(sent('set: { x: jwt.t }', '{"t":"é\\u00a0"}'), 'Host: h|x: é\u00a0|')
  assert.is(
    sent('set: { x: "request.headers.y" }', '{}', 'y: \xc5\xa0'),
    'Host: h|y: \xc5\xa0|x: \xc5\xa0|',
  )
  assert.is(bytes('a\ud800b'), 'Host: h|x: a\ufffdb|')
})

changing('omit a value that is too long for a head', () => {
  const long = 'x'.repeat(8192)
  assert.is(sent('set: { x: jwt.t }', `{"t":"${long}"}`), `Host: h|x: ${long}|`)
  assert.is(sent('set: { x: jwt.t }', `{"t":"${long}x"}`), 'Host: h|')
  const started = cpuMs()
  assert.is(
    sent('set: { x: jwt.t }', `{"t":"a${' '.repeat(8190)}b"}`).length,
    'Host: h|x: |'.length + 8192,
  )
  assert.ok(cpuMs() - started < 1000)
})

changing('change a response with values of the response and the request', () => {
  const policy = policyOf(`response: { set: { x-code: string(response.code), x-user: jwt.sub,
    x-type: 'response.headers["content-type"]' }, remove: [server] }`)
  assert.not('request' in policy)
  const exchange = exchangeOf(requestOf('GET / HTTP/1.1', 'Host: h'))
  exchange.facts = { jwt: new Map([['sub', 'u']]) }
  const head = buildResponseHead(404, [
    ['server', 's'],
    ['content-type', 'text/x'],
  ])
  exchange.response.reply = { head, body: exchange.body, tunnel: null }
  policy.response!(exchange, head)
  assert.equal(
    [...head.entries()],
    [
      ['content-type', 'text/x'],
      ['x-code', '404'],
      ['x-user', 'u'],
      ['x-type', 'text/x'],
    ],
  )
  assert.not('response' in policyOf(`request: { remove: [a] }`))
})

const OK = 'HTTP/1.1 201 Created\r\nx-own: backend\r\ncontent-length: 2\r\n\r\nok'

/** Each level adds its name to the value of the levels before it. */
function level(name: string): string {
  const before = (side: string) => `default(${side}.headers["x-trail"], "") + "${name}/"`
  return `transformations: { request: { set: { x-trail: '${before('request')}' } },
    response: { set: { x-trail: '${before('response')}', x-code: string(response.code) } } }`
}

changing('run at listeners, routes and backends, in this order', async () => {
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: OK }, { again: true }])
  const gateway = await stage.gateway(`
gateways: { g: { port: \${PORT}, address: 127.0.0.1, listeners: [{ name: l, protocol: HTTP, ${level('listener')} }] } }
routes: [{ gateways: g, policies: { ${level('route')} }, backends: [{ host: "127.0.0.1:${backend.port}", policies: { ${level('backend')} } }] }]`)
  const answer = await ask(gateway, 'GET / HTTP/1.1')
  assert.match(backend.received, 'x-trail: listener/route/backend/\r\n')
  assert.is(answer.headers['x-trail'], 'listener/route/backend/')
  assert.is(answer.headers['x-code'], '201')
})

changing('change refusals and responses of the gateway itself too', async () => {
  const gateway = await stage.gateway(`
gateways: { g: { port: \${PORT}, address: 127.0.0.1, listeners: [{ name: l, protocol: HTTP,
  transformations: { response: { set: { x-code: string(response.code) } } } }] } }
routes:
- { gateways: g, name: here, matches: [{ path: { exact: /here } }], policies: {
    authorization: { rules: ["false"] },
    transformations: { response: { set: { x-route: proxy.route.name } } } }, backends: [{ host: "a:1" }] }`)
  const denied = await ask(gateway, 'GET /here HTTP/1.1')
  assert.equal(
    [denied.status, denied.headers['x-code'], denied.headers['x-route']],
    [403, '403', 'here'],
  )
  const lost = await ask(gateway, 'GET /lost HTTP/1.1')
  assert.equal(
    [lost.status, lost.headers['x-code'], lost.headers['x-route']],
    [404, '404', undefined],
  )
})

changing('work with HTTP/2 clients and backends', async () => {
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: OK }, { again: true }])
  const gateway = await stage.gateway(
    `routes: [{ policies: { transformations: { request: { set: { x-a: '"Š"' } },
      response: { set: { x-b: '"€"' } } } }, backends: [{ host: "127.0.0.1:${backend.port}" }] }]`,
  )
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const { head } = await client.get('/')
  assert.match(Buffer.from(backend.received, 'latin1').toString(), 'x-a: Š\r\n')
  assert.is(Buffer.from(String(head['x-b']), 'latin1').toString(), '€')
})

changing('log none of the computed values', async () => {
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: OK }, { again: true }])
  const gateway = await stage.gateway(
    `routes: [{ policies: { transformations: { request: {
      set: { authorization: '"Bearer " + request.headers["x-s"]', x-bad: 'int(request.headers["x-s"])' } } } },
      backends: [{ host: "127.0.0.1:${backend.port}" }] }]`,
  )
  await ask(gateway, 'GET / HTTP/1.1', 'x-s: s3cr3t')
  assert.match(backend.received, 'authorization: Bearer s3cr3t')
  assert.not.match(backend.received, 'x-bad')
  await gateway.logged(1)
  assert.not.match(JSON.stringify(gateway.lines), 's3cr3t')
})

changing.run()
