// basicAuth with the credentials that clients send: which pass, the responses to the others, and what the backend gets.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RefusalCounter } from '../../../lib/core/refusal-counter.ts'
import { createBasicAuthPolicy, PasswordChecker } from '../../../lib/enforce/auth/basic-auth.ts'
import type { PasswordCheck } from '../../../lib/enforce/auth/basic-auth.ts'
import { ask } from '../../support/ask.ts'
import { replyOf, replyOrPass } from '../../support/policy-reply.ts'
import { routeText, firstListener, ungatedConfig } from '../../support/config.ts'
import { contentOf, exchangeOf, requestOf } from '../../support/exchange-of.ts'
import { routeTo, Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'

const passwords = suite('basicAuth')
const stage = new Stage()
passwords.after.each(() => stage.clear())

/** All are hashes of `secret`. */
const BCRYPT = '$$2y$$05$$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a'
const APR1 = '$$apr1$$abcdefgh$$h9FWgUz3n9YxylKLlR5SQ/'
const SHA = '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ='
const USERS = `htpasswd: "b:${BCRYPT}\\na:${APR1}\\ns:${SHA}\\np:secret\\nü:${SHA}"`

function basic(pair: string): string {
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

async function stageOf(fields: string) {
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: OK }, { again: true }])
  const gateway = await stage.gateway(routeTo(backend, `basicAuth: { ${fields} }`))
  return { backend, gateway }
}

async function statusOf(gateway: RunningGateway, value: string): Promise<number> {
  return (await ask(gateway, 'GET / HTTP/1.1', `authorization: ${value}`)).status
}

passwords('admit a request with a valid password, for every kind of hash', async () => {
  const { backend, gateway } = await stageOf(USERS)
  for (const user of ['b', 'a', 's', 'p', 'ü'])
    for (const [password, status] of [
      ['secret', 200],
      ['Secret', 401],
      ['', 401],
    ] as const)
      assert.is(await statusOf(gateway, basic(`${user}:${password}`)), status, user + password)
  assert.is(await statusOf(gateway, `bASIC ${basic('s:secret').slice(6)}`), 200)
  // The credential is removed from the request.
  assert.not.match(backend.received, /authorization/i)
})

passwords('are requested with the realm', async () => {
  const { backend, gateway } = await stageOf(`${USERS}, realm: "the vault"`)
  const answer = await ask(gateway, 'GET / HTTP/1.1')
  assert.is(answer.status, 401)
  assert.is(answer.headers['www-authenticate'], 'Basic realm="the vault"')
  assert.is(answer.headers['content-type'], 'text/plain')
  assert.is(answer.body, 'basic authentication failure: no credentials found')
  const wrong = await ask(gateway, 'GET / HTTP/1.1', `authorization: ${basic('s:x')}`)
  assert.is(wrong.headers['www-authenticate'], 'Basic realm="the vault"')
  assert.is(wrong.body, 'basic authentication failure: invalid credentials')
  assert.is(backend.received, '')
})

passwords('are requested with 407 when the location is proxy-authorization', async () => {
  const { backend, gateway } = await stageOf(
    `${USERS}, authorizationLocation: { header: { name: proxy-authorization } }`,
  )
  const answer = await ask(gateway, 'GET / HTTP/1.1', `authorization: ${basic('s:secret')}`)
  assert.is(answer.status, 407)
  assert.is(answer.headers['proxy-authenticate'], 'Basic realm="Restricted"')
  assert.is(answer.headers['www-authenticate'], undefined)
  const right = `proxy-authorization: ${basic('s:secret')}`
  assert.is((await ask(gateway, 'GET / HTTP/1.1', right, 'authorization: x')).status, 200)
  assert.match(backend.received, 'authorization: x')
  assert.not.match(backend.received, 'proxy-authorization')
})

passwords('may be missing in mode optional, but must not be wrong', async () => {
  const { backend, gateway } = await stageOf(`${USERS}, mode: optional`)
  assert.is((await ask(gateway, 'GET / HTTP/1.1')).status, 200)
  assert.is(await statusOf(gateway, 'Bearer abc'), 200)
  assert.match(backend.received, 'authorization: Bearer abc')
  assert.is(await statusOf(gateway, basic('s:wrong')), 401)
})

passwords('provide the user name to rules', async () => {
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: OK }, { again: true }])
  const rule = `authorization: { rules: ['basicAuth.username == "s"'] }`
  const gateway = await stage.gateway(routeTo(backend, `basicAuth: { ${USERS} }, ${rule}`))
  assert.is(await statusOf(gateway, basic('s:secret')), 200)
  assert.is(await statusOf(gateway, basic('a:secret')), 403)
})

/** Records its calls, and returns the given result. */
class Asked extends PasswordChecker {
  asked: [password: string, hash: string][] = []
  verdict: PasswordCheck | Promise<PasswordCheck> = 'right'

  constructor() {
    super(new RefusalCounter())
  }

  override check(password: string, hash: string): PasswordCheck | Promise<PasswordCheck> {
    this.asked.push([password, hash])
    return this.verdict
  }
}

function policyWith(asked: PasswordChecker, fields = USERS) {
  const text = routeText(`backends: [{ host: "a:1" }], policies: { basicAuth: { ${fields} } }`)
  return createBasicAuthPolicy(
    firstListener(ungatedConfig(text)).routes[0]!.policies.basicAuth!,
    asked,
  )
}

function showing(...values: string[]) {
  const fields = values.map((value) => `authorization: ${value}`)
  return exchangeOf(requestOf('GET / HTTP/1.1', 'Host: a', ...fields))
}

passwords('of unknown users are checked like all others, and never valid', () => {
  const asked = new Asked()
  const policy = policyWith(asked)
  const reply = replyOf(policy, showing(basic('nobody:secret')))
  assert.is(reply.head.status, 401)
  assert.is(contentOf(reply), 'basic authentication failure: invalid credentials')
  assert.is(asked.asked[0]![0], 'secret')
  assert.match(asked.asked[0]![1], /^\$2b\$05\$/)
  // The name of a prototype member is an unknown user too.
  for (const name of ['__proto__', 'constructor', ''])
    assert.is(replyOf(policy, showing(basic(`${name}:x`))).head.status, 401)
})

passwords('may contain anything except control characters; user names no colon', () => {
  const asked = new Asked()
  const policy = policyWith(asked)
  for (const [pair, password] of [
    ['s:a:b:c', 'a:b:c'],
    ['s:', ''],
    ['s: pä€ ', ' pä€ '],
  ] as const) {
    const exchange = showing(basic(pair))
    assert.is(replyOrPass(policy, exchange), undefined)
    assert.is(asked.asked.pop()![0], password)
    assert.equal(exchange.facts, { basicAuth: { username: 's' } })
  }
  for (const value of [
    basic('s'),
    basic('s:\0'),
    basic('s\n:secret'),
    basic('s:a\x7f'),
    'Basic ',
    'Basic !!!!',
    'Basic czpz ZWNyZXQ=',
    'Basic czpzZWNyZXQ=x',
    `Basic ${Buffer.from('s:\xe9', 'latin1').toString('base64')}`,
    basic(`s:${'x'.repeat(1000)}`),
  ])
    assert.is(replyOrPass(policy, showing(value))?.head.status, 401, value)
  assert.equal(asked.asked, [])
})

passwords('sent twice are rejected', () => {
  const asked = new Asked()
  const policy = policyWith(asked)
  const right = basic('s:secret')
  assert.is(replyOf(policy, showing(right, right)).head.status, 401)
  assert.is(replyOf(policy, showing(right, 'Bearer abc')).head.status, 401)
  assert.is(replyOf(policy, showing('Bearer abc', right)).head.status, 401)
  assert.equal(asked.asked, [])
})

passwords('that cannot be checked now get a 503', () => {
  const asked = new Asked()
  asked.verdict = 'busy'
  const reply = replyOf(policyWith(asked), showing(basic('b:secret')))
  assert.is(reply.head.status, 503)
  assert.is(reply.head.get('www-authenticate'), undefined)
  assert.is(contentOf(reply), 'basic authentication failure: too many password checks in progress')
})

passwords.run()
