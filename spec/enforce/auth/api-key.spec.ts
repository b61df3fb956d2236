import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createApiKeyPolicy } from '../../../lib/enforce/auth/api-key.ts'
import { ask } from '../../support/ask.ts'
import { replyOf, replyOrPass } from '../../support/policy-reply.ts'
import { firstListener, routeText, ungatedConfig } from '../../support/config.ts'
import { contentOf, exchangeOf, requestOf } from '../../support/exchange-of.ts'
import { routeTo, Stage } from '../../support/gateway.ts'

const keys = suite('apiKey')
const stage = new Stage()
keys.after.each(() => stage.clear())

const HASH = createHash('sha256').update('hashed').digest('hex')
const KEYS = `keys: [{ key: plain, metadata: { user_id: u1, tier: { level: 3 } } },
  { keyHash: "sha256:${HASH}", metadata: { user_id: u2 } }, { key: bare }]`

function policyOf(fields: string) {
  const text = routeText(`backends: [{ host: "a:1" }], policies: { apiKey: { ${fields} } }`)
  return createApiKeyPolicy(firstListener(ungatedConfig(text)).routes[0]!.policies.apiKey!)
}

function showing(...values: string[]) {
  const fields = values.map((value) => `authorization: ${value}`)
  return exchangeOf(requestOf('GET / HTTP/1.1', 'Host: a', ...fields))
}

keys('admit a request with a known key, and remove the key from it', () => {
  const policy = policyOf(`${KEYS}, mode: strict`)
  for (const [key, user] of [
    ['plain', 'u1'],
    ['hashed', 'u2'],
    ['bare', undefined],
  ] as const) {
    const exchange = showing(`Bearer ${key}`)
    assert.is(replyOrPass(policy, exchange), undefined)
    assert.is(exchange.facts?.apiKey?.get('user_id'), user)
    assert.is(exchange.request.get('authorization'), undefined)
  }
})

const SDK_HEADERS = ['x-api-key', 'x-goog-api-key', 'api-key']

function sending(...fields: string[]) {
  return exchangeOf(requestOf('GET / HTTP/1.1', 'Host: a', ...fields))
}

keys('are found where the SDK of each provider sends them', () => {
  const policy = policyOf(`${KEYS}, mode: strict`)
  for (const name of SDK_HEADERS) {
    const exchange = sending(`${name}: plain`)
    assert.is(replyOrPass(policy, exchange), undefined, name)
    assert.is(exchange.facts?.apiKey?.get('user_id'), 'u1', name)
    assert.is(exchange.request.get(name), undefined, name)
    for (const fields of [[`${name}: wrong`], [`${name}: plain`, `${name}: plain`]])
      assert.is(
        contentOf(replyOf(policy, sending(...fields))),
        'api key authentication failure: invalid credentials',
        name,
      )
  }
})

keys('may be next to a key for the backend, which is left on the request', () => {
  const policy = policyOf(`${KEYS}, mode: strict`)
  const exchange = sending('authorization: Bearer plain', 'x-api-key: of-the-backend')
  assert.is(replyOrPass(policy, exchange), undefined)
  assert.is(exchange.request.get('authorization'), undefined)
  assert.is(exchange.request.get('x-api-key'), 'of-the-backend')
})

keys('that are sent twice are both removed, and two different keys are rejected', () => {
  const policy = policyOf(`${KEYS}, mode: strict`)
  const same = sending('authorization: Bearer plain', 'x-api-key: plain')
  assert.is(replyOrPass(policy, same), undefined)
  assert.equal(
    ['authorization', 'x-api-key'].map((name) => same.request.get(name)),
    [undefined, undefined],
  )
  const two = sending('authorization: Bearer plain', 'x-api-key: bare')
  assert.is(replyOf(policy, two).head.status, 401)
})

keys('are found only at the configured location', () => {
  const policy = policyOf(`${KEYS}, mode: strict, location: { header: { name: x-mine } }`)
  for (const name of SDK_HEADERS)
    assert.is(replyOf(policy, sending(`${name}: plain`)).head.status, 401, name)
  assert.is(replyOrPass(policy, sending('x-mine: plain')), undefined)
})

keys('are rejected when any part is wrong', () => {
  const policy = policyOf(`${KEYS}, mode: strict`)
  for (const key of ['', 'plai', 'plain ', 'Plain', 'plainx', HASH, `sha256:${HASH}`, 'user_id'])
    assert.is(replyOrPass(policy, showing(`Bearer x${key}`))?.head.status, 401, key)
  assert.is(replyOf(policy, showing(`Bearer ${'x'.repeat(10_000)}`)).head.status, 401)
  assert.is(replyOf(policy, showing('Bearer plain', 'Bearer plain')).head.status, 401)
  const reply = replyOf(policy, showing('Bearer wrong'))
  assert.is(contentOf(reply), 'api key authentication failure: invalid credentials')
  assert.is(reply.head.get('www-authenticate'), 'Bearer')
})

keys('are required according to the mode', () => {
  const status = (mode: string, ...values: string[]): number | undefined =>
    replyOrPass(policyOf(`${KEYS}${mode}`), showing(...values))?.head.status
  const table: [mode: string, none: unknown, wrong: unknown, right: unknown][] = [
    [', mode: strict', 401, 401, undefined],
    [', mode: optional', undefined, 401, undefined],
    ['', undefined, 401, undefined],
    [', mode: permissive', undefined, undefined, undefined],
  ]
  for (const [mode, none, wrong, right] of table) {
    assert.is(status(mode), none, mode)
    assert.is(status(mode, 'Bearer wrong'), wrong, mode)
    assert.is(status(mode, 'Bearer plain', 'Bearer plain'), wrong, mode)
    assert.is(status(mode, 'Bearer plain'), right, mode)
    // A value with another scheme is no API key.
    assert.is(status(mode, 'Basic plain'), none, mode)
  }
  const reply = replyOf(policyOf(`${KEYS}, mode: strict`), showing())
  assert.is(contentOf(reply), 'api key authentication failure: no API Key found')
})

keys('that are unknown stay on the request in mode permissive, and add no facts', () => {
  const exchange = showing('Bearer wrong')
  replyOrPass(policyOf(`${KEYS}, mode: permissive`), exchange)
  assert.is(exchange.request.get('authorization'), 'Bearer wrong')
  assert.is(exchange.facts, null)
  assert.equal(exchange.enforcement.verifiedCredentials, [])
})

keys('are not visible in the inspected policy', () => {
  assert.not.match(inspect(policyOf(KEYS), { depth: 9 }), /plain|bare/)
})

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

keys('are found at the configured location, and not sent to the backend', async () => {
  const table: [location: string, lines: string[]][] = [
    ['header: { name: X-Api-Key }', ['GET / HTTP/1.1', 'x-api-key: plain']],
    ['queryParameter: { name: key }', ['GET /p?key=plain HTTP/1.1']],
    ['cookie: { name: sid }', ['GET / HTTP/1.1', 'cookie: sid=plain']],
  ]
  for (const [location, lines] of table) {
    const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: OK }])
    const gateway = await stage.gateway(
      routeTo(backend, `apiKey: { ${KEYS}, mode: strict, location: { ${location} } }`),
    )
    assert.is((await ask(gateway, 'GET / HTTP/1.1', 'authorization: Bearer plain')).status, 401)
    assert.is((await ask(gateway, ...lines)).status, 200)
    assert.not.match(backend.received, 'plain')
    assert.not.match(JSON.stringify(gateway.lines), 'plain')
  }
})

keys('are readable in authorization rules', async () => {
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: OK }, { again: true }])
  const rule = `authorization: { rules: ['apiKey.user_id == "u1" && apiKey.tier.level == 3'] }`
  const gateway = await stage.gateway(routeTo(backend, `apiKey: { ${KEYS} }, ${rule}`))
  const status = async (...lines: string[]): Promise<number> =>
    (await ask(gateway, 'GET / HTTP/1.1', ...lines)).status
  assert.is(await status('authorization: Bearer plain'), 200)
  assert.is(await status('authorization: Bearer hashed'), 403)
  assert.is(await status('authorization: Bearer bare'), 403)
  assert.is(await status(), 403)
})

keys.run()
