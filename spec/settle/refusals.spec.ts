// Refused requests in the access log: the kind of reason, and none of the credentials.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask } from '../support/ask.ts'
import { Stage } from '../support/gateway.ts'
import { KeyServer } from '../support/key-server.ts'
import { Signer } from '../support/signer.ts'

const refusals = suite('refusals in the access log')
const stage = new Stage()
refusals.after.each(() => stage.clear())

const signer = await Signer.make('ES256', 'k1')
const other = await Signer.make('ES256', 'k2')
const ISSUER = 'https://idp.example'

function claims(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { iss: ISSUER, aud: 'a', exp: Math.floor(Date.now() / 1000) + 300, sub: 'u', ...more }
}

/** Reason and rule of one request with these headers and policies. */
async function refusalOf(policies: string, ...fields: string[]): Promise<unknown[]> {
  const answer = 'directResponse: { status: 200, body: ok }'
  const gateway = await stage.gateway(`routes: [{ policies: { ${policies}, ${answer} } }]`)
  await ask(gateway, 'GET / HTTP/1.1', ...fields)
  const [line] = await gateway.logged(1)
  assert.is(line!['outcome'], 'complete')
  for (const field of fields)
    assert.not.match(JSON.stringify(gateway.lines), field.replace(/^.* /, ''))
  return [line!['http.status'], line!['reason'], line!['rule']]
}

const bearer = (text: string): string => `authorization: Bearer ${text}`

refusals('name the kind of fault of a token', async () => {
  const keys = stage.add(await KeyServer.start(signer))
  const jwt = `jwtAuth: { mode: strict, issuer: "${ISSUER}", audiences: [a], jwks: "${keys.url}" }`
  const table: [token: string, reason: string][] = [
    ['rubbish', 'token_malformed'],
    [signer.token(claims({ exp: 1 })), 'token_expired'],
    [signer.token(claims({ iss: 'x' })), 'token_issuer'],
    [signer.token(claims({ aud: 'x' })), 'token_audience'],
    [signer.token(claims({ exp: undefined })), 'token_missing_claim'],
    [signer.token(claims({ nbf: 4_000_000_000 })), 'token_not_valid_yet'],
    [other.token(claims()), 'token_unknown_key'],
  ]
  for (const [token, reason] of table)
    assert.equal(await refusalOf(jwt, bearer(token)), [401, reason, undefined])
  assert.equal(await refusalOf(jwt), [401, 'token_missing', undefined])
  assert.equal(await refusalOf(jwt, bearer(signer.token(claims()))), [200, undefined, undefined])
  keys.status = 500
  assert.equal(await refusalOf(jwt, bearer(signer.token(claims()))), [
    503,
    'keys_unavailable',
    undefined,
  ])
})

refusals('of mcpAuthentication are logged the same way', async () => {
  const keys = stage.add(await KeyServer.start(signer))
  const meta = 'resourceMetadata: { resource: "http://g/mcp" }'
  const auth = `mcpAuthentication: { issuer: "${ISSUER}", audiences: [a], jwks: "${keys.url}", ${meta} }`
  assert.equal(await refusalOf(auth), [401, 'token_missing', undefined])
  assert.equal(await refusalOf(auth, bearer('rubbish')), [401, 'token_malformed', undefined])
})

refusals('of keys and passwords only show whether there was one', async () => {
  const key = 'apiKey: { mode: strict, keys: [{ key: k }] }'
  assert.equal(await refusalOf(key), [401, 'api_key_missing', undefined])
  assert.equal(await refusalOf(key, bearer('wrong')), [401, 'api_key_invalid', undefined])
  const basic = 'basicAuth: { htpasswd: "a:b" }'
  assert.equal(await refusalOf(basic), [401, 'password_missing', undefined])
  const wrong = `authorization: Basic ${Buffer.from('a:wrong').toString('base64')}`
  assert.equal(await refusalOf(basic, wrong), [401, 'password_invalid', undefined])
  assert.equal(await refusalOf(basic, 'authorization: Basic !!'), [
    401,
    'password_invalid',
    undefined,
  ])
})

refusals('of rules name the rule by its index in the file', async () => {
  const rules = (...texts: string[]): string => `authorization: { rules: [${texts.join(', ')}] }`
  assert.equal(await refusalOf(rules('"true"', '"true"', '"false"')), [
    403,
    'authorization_denied',
    2,
  ])
  assert.equal(await refusalOf(rules('"false"')), [403, 'authorization_denied', 0])
  assert.equal(await refusalOf(rules('{ allow: "false" }', '{ allow: "false" }')), [
    403,
    'authorization_denied',
    undefined,
  ])
})

refusals.run()
