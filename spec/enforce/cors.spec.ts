import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildResponseHead } from '../../lib/core/replies.ts'
import { AllowedOrigins, createCorsPolicy } from '../../lib/enforce/cors.ts'
import { replyOrPass } from '../support/policy-reply.ts'
import { routeOf } from '../support/config.ts'
import { contentOf, exchangeOf, requestOf } from '../support/exchange-of.ts'

const sharing = suite('cors')

const LISTS = `allowOrigins: [https://a.com, "https://*.b.com"], allowMethods: [GET, PUT],
  allowHeaders: [X-A, x-b], exposeHeaders: [Mcp-Session-Id], maxAge: 90s`
const STARS = `allowOrigins: ["*"], allowMethods: ["*"], allowHeaders: ["*"], exposeHeaders: ["*"]`

function policyOf(fields: string) {
  const text = `backends: [{ host: "a:1" }], policies: { cors: { ${fields} } }`
  return createCorsPolicy(routeOf(text).policies.cors!)
}

type Outcome = Record<string, string | number | undefined>

/** The status of the policy's response, if there is one, and the headers that the client receives. */
function outcome(policyText: string, method: string, ...fields: string[]): Outcome {
  const policy = policyOf(policyText)
  const exchange = exchangeOf(requestOf(`${method} / HTTP/1.1`, 'Host: h', ...fields))
  const reply = replyOrPass(policy, exchange)
  if (reply !== undefined) assert.is(contentOf(reply), '')
  const head = reply?.head ?? buildResponseHead(200, [])
  policy.response!(exchange, head)
  const shown = [...head.entries()].filter(([name]) => !/^(?:date|content-length)$/.test(name))
  return { status: reply?.head.status, ...Object.fromEntries(shown) }
}

const PREFLIGHT = ['access-control-request-method: PUT', 'access-control-request-headers: x-c, x-a']

sharing('only adds vary for a request without Origin', () => {
  assert.equal(outcome(LISTS, 'GET'), { status: undefined, vary: 'origin' })
  assert.equal(outcome(LISTS, 'OPTIONS', ...PREFLIGHT), { status: undefined, vary: 'origin' })
  assert.equal(outcome(STARS, 'GET'), { status: undefined })
})

sharing('answers a preflight of an allowed origin with the lists', () => {
  assert.equal(outcome(LISTS, 'OPTIONS', 'origin: https://a.com', ...PREFLIGHT), {
    status: 200,
    'access-control-allow-methods': 'GET,PUT',
    'access-control-allow-headers': 'x-a,x-b',
    'access-control-max-age': '90',
    'access-control-allow-origin': 'https://a.com',
    'access-control-expose-headers': 'mcp-session-id',
    vary: 'origin',
  })
})

sharing('answers OPTIONS of an allowed origin even without a requested method', () => {
  assert.is(outcome(LISTS, 'OPTIONS', 'origin: https://a.com').status, 200)
})

sharing('echoes the requested names when a star allows them', () => {
  assert.equal(outcome(STARS, 'OPTIONS', 'origin: https://x.com', ...PREFLIGHT), {
    status: 200,
    'access-control-allow-methods': 'PUT',
    'access-control-allow-headers': 'x-c, x-a',
    'access-control-allow-origin': 'https://x.com',
    'access-control-expose-headers': '*',
    vary: 'origin',
  })
})

sharing('sends a star when nothing was requested, and nothing with credentials', () => {
  const plain = outcome(STARS, 'OPTIONS', 'origin: https://x.com')
  assert.is(plain['access-control-allow-methods'], '*')
  assert.is(plain['access-control-allow-headers'], '*')
  const fields = `${STARS}, allowCredentials: true`
  const credentials = outcome(fields, 'OPTIONS', 'origin: https://x.com')
  assert.is(credentials['access-control-allow-methods'], undefined)
  assert.is(credentials['access-control-allow-headers'], undefined)
  assert.is(credentials['access-control-allow-credentials'], 'true')
})

sharing('answers a preflight of another origin without CORS headers', () => {
  assert.equal(outcome(LISTS, 'OPTIONS', 'origin: https://evil.com', ...PREFLIGHT), {
    status: 200,
    vary: 'origin',
  })
})

sharing('passes every other request of another origin without CORS headers', () => {
  const expected = { status: undefined, vary: 'origin' }
  assert.equal(outcome(LISTS, 'OPTIONS', 'origin: https://evil.com'), expected)
  assert.equal(outcome(LISTS, 'POST', 'origin: https://evil.com'), expected)
})

sharing('adds CORS headers to the response of an actual request', () => {
  const fields = `${LISTS}, allowCredentials: true`
  assert.equal(outcome(fields, 'POST', 'origin: https://x.b.com'), {
    status: undefined,
    'access-control-allow-origin': 'https://x.b.com',
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'mcp-session-id',
    vary: 'origin',
  })
})

sharing("replaces the backend's own permission, and keeps its vary", () => {
  const policy = policyOf(LISTS)
  const exchange = exchangeOf(requestOf('GET / HTTP/1.1', 'Host: h', 'Origin: https://a.com'))
  replyOrPass(policy, exchange)
  const head = buildResponseHead(200, [
    ['access-control-allow-origin', '*'],
    ['vary', 'accept-encoding'],
  ])
  policy.response!(exchange, head)
  assert.equal(head.getAll('access-control-allow-origin'), ['https://a.com'])
  assert.equal(head.getAll('vary'), ['accept-encoding', 'origin'])
  for (const vary of ['*', 'Origin', 'accept, origin']) {
    const said = buildResponseHead(200, [['vary', vary]])
    policy.response!(exchange, said)
    assert.equal(said.getAll('vary'), [vary])
  }
})

sharing('remembers the origin when a later policy removes the header', () => {
  const policy = policyOf(LISTS)
  const exchange = exchangeOf(requestOf('GET / HTTP/1.1', 'Host: h', 'Origin: https://a.com'))
  replyOrPass(policy, exchange)
  exchange.request.remove('origin')
  const head = buildResponseHead(502, [])
  policy.response!(exchange, head)
  assert.is(head.get('access-control-allow-origin'), 'https://a.com')
})

sharing('compares origins by scheme, host and port', () => {
  const listed = ['https://a.com', 'http://b.com:80', 'https://*.c.com', 'https://d-*.com:8443']
  const origins = new AllowedOrigins(listed)
  const allowed = ['https://a.com', 'HTTPS://A.com', 'https://a.com:443', 'http://b.com']
  allowed.push('https://x.c.com', 'https://x.y.c.com:443', 'https://d-1.com:8443')
  for (const origin of allowed) assert.ok(origins.allows(origin), origin)
  const refused = ['http://a.com', 'https://a.com:444', 'https://a.com.evil.com', 'null', '']
  refused.push('https://c.com', 'https://.c.com', 'https://evil.com/.c.com', 'https://x@y.c.com')
  refused.push('https://evil.com:1.c.com', 'https://xc.com', 'https://d-1.com', 'https://xac.com')
  for (const origin of refused) assert.not.ok(origins.allows(origin), origin)
  assert.ok(new AllowedOrigins(['*']).allows('null'))
  assert.not.ok(new AllowedOrigins(['https://a.com']).allows('https://axcom'))
})

sharing.run()
