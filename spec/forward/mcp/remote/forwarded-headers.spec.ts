import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  selectForwardedHeaders,
  transformForwardedHeaders,
} from '../../../../lib/forward/mcp/remote/forwarded-headers.ts'
import { configOf, firstListener } from '../../../support/config.ts'
import { exchangeOf, requestOf } from '../../../support/exchange-of.ts'

const fields = suite('forward/mcp/remote/fields')

const HEAD = [
  'POST /mcp HTTP/1.1',
  'Host: gateway.example',
  'Accept: application/json, text/event-stream',
  'Accept-Encoding: gzip',
  'Content-Type: application/json',
  'Content-Length: 2',
  'Connection: keep-alive, x-hop',
  'X-Hop: 1',
  'TE: trailers',
  'Expect: 100-continue',
  'Origin: http://a.example',
  'Referer: http://a.example/',
  'Sec-Fetch-Mode: cors',
  'Access-Control-Request-Method: POST',
  'Mcp-Session-Id: client',
  'Mcp-Protocol-Version: 2025-06-18',
  'Mcp-Method: tools/call',
  'Last-Event-ID: 3',
  'Range: bytes=0-1',
  'If-None-Match: "a"',
  'Proxy-Authorization: Basic eA==',
  'Authorization: Bearer token',
  'Cookie: a=b',
  'User-Agent: inspector',
  'X-Request-Id: 1',
  'X-Request-Id: 2',
  'Traceparent: 00-1-2-00',
]

const ASKED = { authorization: 'passthrough', cookie: 'passthrough' } as const

const OTHERS = [
  ['user-agent', 'inspector'],
  ['x-request-id', '1'],
  ['x-request-id', '2'],
  ['traceparent', '00-1-2-00'],
]

fields('forwards headers about the client, but not about its message or connection', () => {
  const sent = selectForwardedHeaders(requestOf(...HEAD), ASKED)
  assert.equal(
    sent.filter(([, , only]) => only === undefined),
    OTHERS,
  )
})

fields('forwards credentials that are meant for the target', () => {
  assert.equal(
    selectForwardedHeaders(requestOf(...HEAD), { authorization: 'all', cookie: 'all' }),
    [['authorization', 'Bearer token'], ['cookie', 'a=b'], ...OTHERS],
  )
  assert.equal(selectForwardedHeaders(requestOf(...HEAD), ASKED).slice(0, 2), [
    ['authorization', 'Bearer token', 'passthrough'],
    ['cookie', 'a=b', 'passthrough'],
  ])
  assert.equal(
    selectForwardedHeaders(requestOf(...HEAD), { authorization: 'passthrough', cookie: 'none' }),
    [['authorization', 'Bearer token', 'passthrough'], ...OTHERS],
  )
})

/** Two targets: `plain`, and `own` with these transformations of requests. */
function targetsWith(request: string) {
  const { routes } = firstListener(
    configOf(`mcp: { targets: [
    { name: plain, mcp: { host: "http://a" } },
    { name: own, mcp: { host: "http://b" }, policies: { transformations: { request: { ${request} } } } }] }`),
  )
  const [backend] = routes[0]!.backends
  assert.ok(backend?.kind === 'mcp')
  return backend.mcp.targets
}

fields('are transformed only for the target with transformations', () => {
  const targets = targetsWith(`
    set: { x-user: jwt.sub, X-Request-Id: 'request.headers["user-agent"] + "!"', traceparent: jwt.none },
    add: { x-user: '"second"', x-none: jwt.none }, remove: [User-Agent, authorization]`)
  const exchange = exchangeOf(requestOf(...HEAD))
  exchange.facts = { jwt: new Map([['sub', 'ann']]) }
  const sent = selectForwardedHeaders(exchange.request, ASKED)
  const fieldsFor = transformForwardedHeaders(sent, targets, exchange)
  assert.is(fieldsFor('plain'), sent)
  const expected = [
    ['cookie', 'a=b', 'passthrough'],
    ['x-user', 'ann'],
    ['x-request-id', 'inspector!'],
    ['x-user', 'second'],
  ]
  assert.equal(fieldsFor('own'), expected)
  // They are computed from the request at that time.
  exchange.facts = null
  exchange.request.remove('user-agent')
  assert.equal(fieldsFor('own'), expected)
})

fields.run()
