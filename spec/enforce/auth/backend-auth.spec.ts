import { inspect } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Exchange } from '../../../lib/core/exchange.ts'
import { createBackendAuthPolicy } from '../../../lib/enforce/auth/credentials.ts'
import { ask } from '../../support/ask.ts'
import { replyOrPass } from '../../support/policy-reply.ts'
import { firstListener, routeText, ungatedConfig } from '../../support/config.ts'
import { exchangeOf, requestOf } from '../../support/exchange-of.ts'
import { routeTo, Stage } from '../../support/gateway.ts'

const auth = suite('backendAuth')
const stage = new Stage()
auth.after.each(() => stage.clear())

function policyOf(written: string) {
  const text = routeText(`backends: [{ host: "a:1" }], policies: { backendAuth: { ${written} } }`)
  return createBackendAuthPolicy(
    firstListener(ungatedConfig(text)).routes[0]!.policies.backendAuth!,
  )
}

function sent(written: string, target = '/', ...fields: string[]): Exchange {
  const exchange = exchangeOf(requestOf(`GET ${target} HTTP/1.1`, 'Host: a', ...fields))
  assert.is(replyOrPass(policyOf(written), exchange), undefined)
  return exchange
}

auth('replaces the credential of the client with its own', () => {
  const { request } = sent('key: k3y', '/', 'Authorization: Bearer mine', 'authorization: Basic b')
  assert.equal(request.getAll('authorization'), ['Bearer k3y'])
  const named = sent('key: { value: k3y, location: { header: { name: X-Key, prefix: "p " } } }')
  assert.equal(named.request.getAll('x-key'), ['p k3y'])
})

auth('can put it in the query', () => {
  const written = 'key: { value: "a&b=c d", location: { queryParameter: { name: "k=" } } }'
  assert.is(sent(written).request.target, '/?k%3D=a%26b%3Dc%20d')
  assert.is(sent(written, '/p?q=1').request.target, '/p?q=1&k%3D=a%26b%3Dc%20d')
})

auth('is not visible in the inspected policy', () => {
  assert.not.match(inspect(policyOf('key: hushhush'), { depth: 9 }), 'hushhush')
})

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

async function requestAtBackend(policies: string, ...lines: string[]): Promise<string> {
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: OK }])
  const gateway = await stage.gateway(routeTo(backend, policies))
  assert.is((await ask(gateway, ...lines)).status, 200)
  return backend.received
}

const KEYS = 'apiKey: { mode: strict, keys: [{ key: k }]'

auth('passes a verified credential on only with passthrough, from any location', async () => {
  const table: [location: string, lines: string[], text: RegExp][] = [
    ['', ['GET / HTTP/1.1', 'Authorization: Bearer k'], /authorization: Bearer k\r\n/i],
    [
      ', location: { queryParameter: { name: q } }',
      ['GET /p?q=k HTTP/1.1'],
      /^GET \/p\?q=k HTTP\/1.1\r\n/,
    ],
    [', location: { cookie: { name: c } }', ['GET / HTTP/1.1', 'cookie: c=k'], /cookie: c=k\r\n/],
  ]
  for (const [location, lines, text] of table) {
    assert.not.match(await requestAtBackend(`${KEYS}${location} }`, ...lines), text)
    const through = `${KEYS}${location} }, backendAuth: { passthrough: {} }`
    assert.match(await requestAtBackend(through, ...lines), text)
  }
})

auth('sends its own key instead of the verified one', async () => {
  const received = await requestAtBackend(
    `${KEYS} }, backendAuth: { key: other }`,
    'GET / HTTP/1.1',
    'authorization: Bearer k',
  )
  assert.equal(received.match(/authorization: .*/gi), ['authorization: Bearer other'])
})

auth('keeps a credential that no policy verified', async () => {
  const received = await requestAtBackend('', 'GET / HTTP/1.1', 'authorization: Bearer k')
  assert.match(received, 'authorization: Bearer k')
  const through = await requestAtBackend(
    'backendAuth: { passthrough: {} }',
    'GET / HTTP/1.1',
    'authorization: Bearer k',
  )
  assert.equal(through.match(/authorization: .*/gi), ['authorization: Bearer k'])
})

auth.run()
