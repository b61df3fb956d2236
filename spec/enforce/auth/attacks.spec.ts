// Forged and malformed tokens: none is valid, none causes an exception, and none takes long.

import { createHmac } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { exportSPKI, importJWK } from 'jose'
import type { CryptoKey } from 'jose'
import { MAX_TOKEN_LENGTH, TokenVerifier } from '../../../lib/enforce/auth/token-verifier.ts'
import { cpuMs } from '../../support/cpu-time.ts'
import { base64, Signer } from '../../support/signer.ts'
import { claimsOf, CountedSource, NOW, RULES, StillClock, verdictOf } from './verifying.ts'

const attacks = suite('attacks on tokens')

const rsa = await Signer.make('RS256', 'rsa')
const ec = await Signer.make('ES256', 'ec')
/** Keys of an attacker, which the provider does not have. */
const mallory = await Signer.make('RS256', 'rsa')

const PAYLOAD = JSON.stringify(claimsOf())

function setUp() {
  const source = new CountedSource(rsa, ec)
  return { source, verifier: new TokenVerifier(RULES, source, new StillClock()) }
}

async function verdict(token: string): Promise<string> {
  return verdictOf(setUp().verifier, token)
}

attacks('without a signature, with any spelling of none', async () => {
  for (const alg of ['none', 'None', 'NONE', 'nOnE', ''])
    for (const signature of ['', 'AA', rsa.token(claimsOf()).split('.')[2]!])
      assert.ok(
        ['algorithm', 'malformed'].includes(
          await verdict(
            `${base64(JSON.stringify({ alg, kid: 'rsa' }))}.${base64(PAYLOAD)}.${signature}`,
          ),
        ),
        alg,
      )
})

attacks('with the public key as an HMAC secret', async () => {
  const key = (await importJWK({ ...rsa.jwk }, 'RS256')) as CryptoKey
  const secrets = [await exportSPKI(key), JSON.stringify(rsa.jwk), rsa.jwk.n!]
  for (const alg of ['HS256', 'HS384', 'HS512'])
    for (const secret of secrets) {
      const input = `${base64(JSON.stringify({ alg, kid: 'rsa' }))}.${base64(PAYLOAD)}`
      const hash = createHmac(`sha${alg.slice(2)}`, secret).update(input)
      assert.is(await verdict(`${input}.${hash.digest('base64url')}`), 'algorithm')
    }
})

attacks('with another algorithm of the same key, or another key', async () => {
  assert.is(await verdict(rsa.token(claimsOf(), { kid: 'ec' })), 'algorithm')
  assert.is(await verdict(rsa.token(claimsOf(), { alg: 'ES256' })), 'algorithm')
  assert.is(await verdict(rsa.token(claimsOf(), { alg: 'PS256' })), 'signature')
  assert.is(await verdict(rsa.token(claimsOf(), { alg: 'RS512' })), 'signature')
  assert.is(await verdict(ec.token(claimsOf(), { alg: 'RS256', kid: 'rsa' })), 'signature')
  for (const alg of [
    'RSA-OAEP',
    'dir',
    'A128KW',
    'ES256K',
    'RS1',
    'rs256',
    'RS256 ',
    'constructor',
  ])
    assert.is(await verdict(rsa.token(claimsOf(), { alg })), 'algorithm', alg)
})

attacks('that contain their own key', async () => {
  const own = { alg: 'RS256', kid: 'rsa' }
  for (const header of [
    { jwk: mallory.jwk },
    { jku: 'http://127.0.0.1:9/keys' },
    { x5u: 'http://127.0.0.1:9/cert' },
    { x5c: ['MIIB'] },
    { x5t: 'x', 'x5t#S256': 'x' },
  ]) {
    assert.is(await verdict(mallory.token(claimsOf(), header)), 'signature')
    assert.is(
      await verdict(mallory.token(claimsOf(), { ...header, kid: 'mallory' })),
      'unknown key',
    )
    // On a valid token these members are ignored.
    assert.is(await verdict(rsa.signed({ ...own, ...header }, PAYLOAD)), 'valid')
  }
})

attacks('with an unusual key id', async () => {
  for (const kid of [
    '../../../../dev/null',
    '/etc/passwd',
    "' OR 1=1 --",
    "rsa' UNION SELECT 'x",
    '__proto__',
    'constructor',
    'toString',
    'rsa\0',
    ' rsa',
    'RSA',
    'http://127.0.0.1:9/key',
    '$(id)',
    '\ud800',
    'k'.repeat(5000),
    '',
    7,
    0,
    true,
    null,
    ['rsa'],
    { toString: 'rsa' },
    [],
    undefined,
  ])
    assert.is(await verdict(mallory.token(claimsOf(), { kid })), 'unknown key', JSON.stringify(kid))
})

attacks('with extensions that must be understood, or payloads that are not encoded', async () => {
  for (const header of [
    { crit: [] },
    { crit: ['exp'] },
    { crit: ['b64'], b64: false },
    { b64: false },
    { b64: true },
    { crit: 'x' },
    { crit: null },
  ])
    assert.is(await verdict(rsa.token(claimsOf(), header)), 'malformed', JSON.stringify(header))
})

attacks('that do not have the form of a token', async () => {
  const [header, payload, signature] = rsa.token(claimsOf()).split('.') as [string, string, string]
  for (const token of [
    '',
    '.',
    '..',
    '...',
    'token',
    `${header}.${payload}`,
    `${header}.${payload}.`,
    `${header}..${signature}`,
    `.${payload}.${signature}`,
    `${header}.${payload}.${signature}.`,
    `${header}.${payload}.${signature}.${signature}`,
    `${header}.${payload}.${signature}.x.y`,
    `${header}.${payload}.${signature}=`,
    `${header}.${payload}.${signature}+`,
    `${header}. ${payload}.${signature}`,
    `${header}.${payload}.${signature}\n`,
    `${header}\t.${payload}.${signature}`,
    `${header}.${payload}.${signature},${header}.${payload}.${signature}`,
    `${header}.${payload}\u00a0.${signature}`,
    `${header}.${payload}.\ud800`,
    JSON.stringify({ payload, signatures: [{ protected: header, signature }] }),
    JSON.stringify({ payload, protected: header, signature }),
  ])
    assert.is(await verdict(token), 'malformed', JSON.stringify(token.slice(-40)))
})

attacks('whose header is not a plain JSON object', async () => {
  for (const header of [
    '',
    '{',
    'null',
    '[]',
    '["RS256"]',
    '"RS256"',
    '7',
    '{"alg":"RS256","kid":"rsa"}}',
    '{"alg":["RS256"],"kid":"rsa"}',
    '{"alg":{"toString":"RS256"},"kid":"rsa"}',
    '{"kid":"rsa"}',
    `${'['.repeat(5000)}${']'.repeat(5000)}`,
    '\xff\xfe',
  ])
    assert.is(await verdict(rsa.signed(header, PAYLOAD)), 'malformed', header.slice(0, 40))
  // The last of two equal members is used, by us and by jose.
  assert.is(await verdict(rsa.signed('{"alg":"none","alg":"RS256","kid":"rsa"}', PAYLOAD)), 'valid')
  assert.is(
    await verdict(rsa.signed('{"alg":"RS256","alg":"none","kid":"rsa"}', PAYLOAD)),
    'algorithm',
  )
  assert.is(
    await verdict(
      mallory.signed('{"__proto__":{"alg":"none"},"alg":"RS256","kid":"rsa"}', PAYLOAD),
    ),
    'signature',
  )
})

attacks('whose claims are not a JSON object, or are a nested token', async () => {
  for (const payload of [
    'null',
    '[]',
    '"text"',
    '7',
    '{',
    '',
    '\ufeff{}x',
    rsa.token(claimsOf()),
    JSON.stringify(JSON.stringify(claimsOf())),
  ])
    assert.is(
      await verdict(rsa.signed({ alg: 'RS256', kid: 'rsa' }, payload)),
      'malformed',
      payload,
    )
  const nested = rsa.signed({ alg: 'RS256', kid: 'rsa', cty: 'JWT' }, rsa.token(claimsOf()))
  assert.is(await verdict(nested), 'malformed')
})

attacks('with the signature of another token', async () => {
  const [header, , signature] = rsa.token(claimsOf({ sub: 'a' })).split('.')
  const forged = base64(JSON.stringify(claimsOf({ sub: 'admin' })))
  assert.is(await verdict(`${header}.${forged}.${signature}`), 'signature')
  assert.is(await verdict(`${header}.${forged}.AA`), 'signature')
  // An ECDSA signature of zeroes, which a well-known runtime once accepted.
  const zeroes = base64(Buffer.alloc(64))
  const input = ec.token(claimsOf()).split('.').slice(0, 2).join('.')
  assert.is(await verdict(`${input}.${zeroes}`), 'signature')
})

attacks('with times outside the range of numbers', async () => {
  const raw = (text: string): string =>
    rsa.signed({ alg: 'RS256', kid: 'rsa' }, PAYLOAD.replace(`"exp":${NOW + 300}`, text))
  assert.is(await verdict(raw('"exp":1e400')), 'malformed')
  assert.is(await verdict(raw('"exp":-1e400')), 'expired')
  assert.is(await verdict(raw(`"exp":${'9'.repeat(400)}`)), 'malformed')
  assert.is(await verdict(raw(`"exp":1,"exp":${NOW + 300}`)), 'valid')
  assert.is(await verdict(raw(`"exp":${NOW + 300},"exp":1`)), 'expired')
  assert.is(await verdict(raw(`"exp":${NOW + 300},"nbf":1e400`)), 'not valid yet')
  assert.is(await verdict(raw(`"exp":${NOW + 300}.5`)), 'valid')
  assert.is(await verdict(raw(`"__proto__":{"exp":${NOW + 300}}`)), 'missing claim')
})

attacks(
  'with deep, large or misleading claims are accepted or rejected, but never crash',
  async () => {
    const raw = (text: string): string =>
      rsa.signed({ alg: 'RS256', kid: 'rsa' }, PAYLOAD.replace('"sub":"u"', text))
    const started = cpuMs()
    assert.is(await verdict(raw(`"a":${'['.repeat(62)}${']'.repeat(62)}`)), 'valid')
    assert.is(await verdict(raw(`"a":${'['.repeat(5000)}${']'.repeat(5000)}`)), 'malformed')
    assert.is(await verdict(raw(`"a":${'{"a":'.repeat(1500)}1${'}'.repeat(1500)}`)), 'malformed')
    assert.is(await verdict(raw(`"n":${'9'.repeat(10_000)}`)), 'valid')
    assert.is(await verdict(raw(`"n":1e400,"m":-1e400,"o":1e-400,"p":-0`)), 'valid')
    assert.is(await verdict(raw(`"a":[${'1,'.repeat(5000)}1]`)), 'valid')
    assert.is(
      await verdict(raw(`"a":"${'\\ud800'.repeat(1500)}","n":12345678901234567890`)),
      'valid',
    )
    assert.is(await verdict(raw(`"__proto__":{"admin":true},"constructor":1`)), 'valid')
    assert.is(({} as { admin?: true }).admin, undefined)
    assert.ok(cpuMs() - started < 3000)
  },
)

attacks('that are too large are rejected without a check', async () => {
  const { source, verifier } = setUp()
  const fits = rsa.token(claimsOf({ pad: 'x'.repeat(11_600) }))
  assert.ok(fits.length <= MAX_TOKEN_LENGTH && fits.length > MAX_TOKEN_LENGTH - 600)
  assert.is(await verdictOf(verifier, fits), 'valid')
  const large = rsa.token(claimsOf({ pad: 'x'.repeat(13_000) }))
  assert.is(await verdictOf(verifier, large), 'too large')
  assert.is(await verdictOf(verifier, 'x'.repeat(1_000_000)), 'too large')
  assert.is(source.found, 1)
})

attacks('signed with a key that is too short', async () => {
  const { generateKeyPairSync, sign } = await import('node:crypto')
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const weak = { ...publicKey.export({ format: 'jwk' }), kid: 'weak' }
  const source = new CountedSource({ jwk: weak } as unknown as Signer)
  const verifier = new TokenVerifier(RULES, source, new StillClock())
  const input = `${base64('{"alg":"RS256","kid":"weak"}')}.${base64(PAYLOAD)}`
  const signature = sign('sha256', Buffer.from(input), privateKey).toString('base64url')
  assert.is(await verdictOf(verifier, `${input}.${signature}`), 'unknown key')
})

attacks.run()
