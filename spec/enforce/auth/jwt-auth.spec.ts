// jwtAuth in front of a plain backend, with real keys fetched from a provider over HTTP.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask } from '../../support/ask.ts'
import type { Answer } from '../../support/ask.ts'
import { cpuMs } from '../../support/cpu-time.ts'
import { routeTo, Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { KeyServer } from '../../support/key-server.ts'
import { Signer } from '../../support/signer.ts'

const tokens = suite('jwtAuth')
const stage = new Stage()
tokens.after.each(() => stage.clear())

const signer = await Signer.make('RS256', 'k1')
const later = await Signer.make('ES256', 'k2')

const ISSUER = 'https://idp.example/'

function claims(other: Record<string, unknown> = {}): Record<string, unknown> {
  return { iss: ISSUER, aud: 'a', exp: Math.floor(Date.now() / 1000) + 300, sub: 'u', ...other }
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

async function setUp(fields: string, more = '') {
  const keys = stage.add(await KeyServer.start(signer))
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: OK }, { again: true }])
  const written = `issuer: "${ISSUER}", audiences: [a], jwks: "${keys.url}", ${fields}`
  const gateway = await stage.gateway(routeTo(backend, `jwtAuth: { ${written} }, ${more}`))
  return { keys, backend, gateway }
}

async function show(gateway: RunningGateway, ...values: string[]): Promise<Answer> {
  const fields = values.map((value) => `authorization: ${value}`)
  return ask(gateway, 'GET / HTTP/1.1', ...fields)
}

tokens('admit a request with a valid one, and are not sent to the backend', async () => {
  const { keys, backend, gateway } = await setUp('mode: strict')
  for (let times = 3; times > 0; times--)
    assert.is((await show(gateway, `Bearer ${signer.token(claims())}`)).status, 200)
  assert.is((await show(gateway, `bearer ${signer.token(claims())}`)).status, 200)
  assert.not.match(backend.received, /authorization/i)
  assert.is(keys.asked, 1)
})

tokens('may have an issuer that is not a URL', async () => {
  const keys = stage.add(await KeyServer.start(signer))
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: OK }, { again: true }])
  const written = `mode: strict, issuer: my-cluster, jwks: "${keys.url}"`
  const gateway = await stage.gateway(routeTo(backend, `jwtAuth: { ${written} }`))
  const statusOf = async (iss: string): Promise<number> =>
    (await show(gateway, `Bearer ${signer.token(claims({ iss }))}`)).status
  assert.equal([await statusOf('my-cluster'), await statusOf('my-cluste')], [200, 401])
})

tokens('are required according to the mode', async () => {
  const good = `Bearer ${signer.token(claims())}`
  const bad = `Bearer ${signer.token(claims({ aud: 'x' }))}`
  const table: [mode: string, none: number, bad: number, twice: number][] = [
    ['mode: strict', 401, 401, 401],
    ['mode: optional', 200, 401, 401],
    ['', 200, 401, 401],
    ['mode: permissive', 200, 200, 200],
  ]
  for (const [mode, none, wrong, twice] of table) {
    const { backend, gateway } = await setUp(mode)
    assert.is((await show(gateway)).status, none, mode)
    assert.is((await show(gateway, 'Basic abc')).status, none, mode)
    assert.is((await show(gateway, bad)).status, wrong, mode)
    assert.is((await show(gateway, good, good)).status, twice, mode)
    assert.is((await show(gateway, good, 'Basic abc')).status, twice, mode)
    assert.is((await show(gateway, good)).status, 200, mode)
    // An unverified token stays on the request.
    if (mode === 'mode: permissive') assert.match(backend.received, bad)
  }
})

tokens('are rejected with the kind of fault, and none of their content', async () => {
  const { gateway } = await setUp('mode: strict')
  const none = await show(gateway)
  assert.is(none.status, 401)
  assert.is(none.body, 'authentication failure: no bearer token found')
  assert.is(none.headers['www-authenticate'], 'Bearer')
  const table: [token: string, fault: string][] = [
    [signer.token(claims({ exp: 1 })), 'expired'],
    [signer.token(claims({ iss: 'x' })), 'issuer'],
    [signer.token(claims({ aud: 's3cr3t' })), 'audience'],
    [signer.token(claims(), { kid: 's3cr3t' }), 'unknown key'],
    [signer.token(claims(), { alg: 'none' }), 'algorithm'],
    ['s3cr3t', 'malformed'],
    ['a.b.c', 'malformed'],
    [signer.token(claims({ pad: 'x'.repeat(13_000) })), 'too large'],
  ]
  for (const [token, fault] of table) {
    const { status, body, headers } = await show(gateway, `Bearer ${token}`)
    assert.is(status, 401)
    assert.is(body, `authentication failure: the token is not valid: ${fault}`)
    assert.is(
      headers['www-authenticate'],
      `Bearer error="invalid_token", error_description="the token is not valid: ${fault}"`,
    )
  }
  await gateway.logged(table.length + 1)
  assert.not.match(JSON.stringify(gateway.lines), /s3cr3t|eyJ/)
})

tokens('provide their claims to rules', async () => {
  const rule = `authorization: { rules: ['"mcp-user" in jwt.realm_access.roles'] }`
  const { gateway } = await setUp('', rule)
  const roles = (...list: string[]) =>
    `Bearer ${signer.token(claims({ realm_access: { roles: list } }))}`
  assert.is((await show(gateway, roles('mcp-user'))).status, 200)
  const denied = await show(gateway, roles('other'))
  assert.equal([denied.status, denied.body], [403, 'authorization failed'])
  assert.is((await show(gateway, `Bearer ${signer.token(claims())}`)).status, 403)
  assert.is((await show(gateway)).status, 403)
})

tokens('with hostile claims are accepted or rejected, but break nothing', async () => {
  const rule = `authorization: { rules: ['jwt.roles.exists(r, r.startsWith("admin") && r.matches("^(a|d|m)+in$$"))'] }`
  const { gateway } = await setUp('mode: strict', rule)
  const base = JSON.stringify(claims())
  const raw = (text: string): string =>
    signer.signed({ alg: 'RS256', kid: 'k1' }, base.replace('"sub":"u"', text))
  for (const text of [
    '"roles":1e400',
    '"roles":{"__proto__":["admin"]}',
    `"roles":${'['.repeat(50)}${']'.repeat(50)}`,
    `"roles":${'['.repeat(5000)}${']'.repeat(5000)}`,
    `"roles":[${'"a",'.repeat(2500)}"a"]`,
    `"roles":["admin${'a'.repeat(11_000)}"]`,
    `"roles":"${'admin'.repeat(2000)}"`,
    '"roles":["\\ud800\\u0000"]',
  ]) {
    const started = cpuMs()
    const { status } = await show(gateway, `Bearer ${raw(text)}`)
    assert.ok(status === 403 || status === 401, `${status} for ${text.slice(0, 40)}`)
    assert.ok(cpuMs() - started < 2000, text.slice(0, 40))
  }
})

tokens('get 503 while the provider is down, and other routes are served', async () => {
  const { keys, gateway } = await setUp('mode: optional')
  keys.status = 500
  const { status, body, headers } = await show(gateway, `Bearer ${signer.token(claims())}`)
  assert.is(status, 503)
  assert.is(body, 'authentication failure: signing keys of the issuer are unavailable')
  assert.is(headers['www-authenticate'], undefined)
  assert.is((await show(gateway)).status, 200)
  const warned = gateway.lines.filter(({ level }) => level === 'warn')
  assert.equal(
    warned.map(({ message, error }) => [message, error]),
    [['cannot fetch key set', 'status 500']],
  )
})

tokens('wait for the keys until the client closes the connection', async () => {
  const { keys, backend, gateway } = await setUp('mode: strict')
  keys.isHolding = true
  const client = await stage.client(gateway)
  const request = `GET / HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${signer.token(claims())}\r\n\r\n`
  client.send(request)
  await keys.untilAsked(1)
  client.reset()
  assert.equal(await gateway.outcomes(1), ['client_closed'])
  keys.release()
  // The keys fetched for the closed request serve the next one.
  assert.is((await show(gateway, `Bearer ${signer.token(claims())}`)).status, 200)
  assert.is(keys.asked, 1)
  assert.is(backend.received.match(/^GET /gm)?.length, 1)
})

tokens('of several issuers are verified with the rules of the issuer they name', async () => {
  const [first, second] = [
    stage.add(await KeyServer.start(signer)),
    stage.add(await KeyServer.start(later)),
  ]
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: OK }, { again: true }])
  const gateway = await stage.gateway(
    routeTo(
      backend,
      `jwtAuth: { mode: strict, providers: [
        { issuer: "http://one", jwks: "${first.url}" }, { issuer: "http://two", jwks: "${second.url}" }] }`,
    ),
  )
  const status = async (by: Signer, iss: string): Promise<number> =>
    (await show(gateway, `Bearer ${by.token(claims({ iss }))}`)).status
  assert.is(await status(signer, 'http://one'), 200)
  assert.is(await status(later, 'http://two'), 200)
  // Neither issuer may sign for the other.
  assert.is(await status(later, 'http://one'), 401)
  assert.is(await status(signer, 'http://two'), 401)
  assert.is(await status(signer, 'http://three'), 401)
})

tokens('are found in a cookie, the query or by an expression', async () => {
  const token = signer.token(claims({ pad: 'x'.repeat(2000) }))
  const table: [location: string, lines: string[]][] = [
    ['cookie: { name: t }', ['GET / HTTP/1.1', `cookie: a=b; t=${token}`]],
    ['queryParameter: { name: t }', [`GET /?t=${token}&a=b HTTP/1.1`]],
    [`expression: 'request.headers["x-t"]'`, ['GET / HTTP/1.1', `x-t: ${token}`]],
  ]
  for (const [location, lines] of table) {
    const { backend, gateway } = await setUp(`mode: strict, location: { ${location} }`)
    assert.is((await show(gateway, `Bearer ${token}`)).status, 401)
    assert.is((await ask(gateway, ...lines)).status, 200, location)
    assert.not.match(backend.received, token, location)
    if (!location.startsWith('expression')) assert.match(backend.received, 'a=b')
    await gateway.logged(2)
    assert.not.match(JSON.stringify(gateway.lines), token)
  }
})

tokens.run()
