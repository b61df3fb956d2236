import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ALL_ALGORITHMS, VerificationKeySet } from '../../../lib/enforce/auth/key-sets.ts'
import { deadline } from '../../support/deadline.ts'
import { Signer } from '../../support/signer.ts'

const keys = suite('keys')

const rsa = await Signer.make('RS256', 'rsa')
const ec = await Signer.make('ES256', 'ec')
const ed = await Signer.make('EdDSA', 'ed')

async function finds(set: VerificationKeySet, kid: string, algorithm: string): Promise<boolean> {
  return (await deadline(set.find(kid, algorithm), 30_000, 'a key')) !== null
}

keys('verify only the algorithms of their type', async () => {
  const p384 = await Signer.make('ES384', 'p384')
  const set = new VerificationKeySet([rsa.jwk, ec.jwk, ed.jwk, p384.jwk])
  assert.equal(set.ids, ['rsa', 'ec', 'ed', 'p384'])
  const allowed: Record<string, string[]> = {
    rsa: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
    ec: ['ES256'],
    ed: ['EdDSA', 'Ed25519'],
    p384: ['ES384'],
  }
  const tried = [...ALL_ALGORITHMS, 'none', 'HS256', 'HS512', 'RSA-OAEP', 'dir', '', 'ES256K']
  for (const [kid, algorithms] of Object.entries(allowed))
    for (const algorithm of tried)
      assert.is(
        await finds(set, kid, algorithm),
        algorithms.includes(algorithm),
        `${kid} ${algorithm}`,
      )
  assert.not(ALL_ALGORITHMS.some((name) => /^(?:none|HS|.*dir)/i.test(name)))
})

keys('that name an algorithm verify no other', async () => {
  const set = new VerificationKeySet([
    { ...rsa.jwk, alg: 'RS512' },
    { ...ec.jwk, alg: 'HS256' },
  ])
  assert.ok(await finds(set, 'rsa', 'RS512'))
  assert.not(await finds(set, 'rsa', 'RS256'))
  assert.not(await finds(set, 'ec', 'ES256'))
  assert.not(await finds(set, 'ec', 'HS256'))
})

keys('that are unusable are excluded, and do not affect the others', () => {
  const odd: unknown[] = [
    null,
    7,
    'text',
    [],
    {},
    { ...rsa.jwk, kid: undefined },
    { ...rsa.jwk, kid: '' },
    { ...rsa.jwk, kid: 7 },
    { ...rsa.jwk, kid: 'for encryption', use: 'enc' },
    { ...rsa.jwk, kid: 'for signing', key_ops: ['sign'] },
    { ...rsa.jwk, kid: 'private', d: 'x' },
    { kid: 'oct', kty: 'oct', k: 'c2VjcmV0' },
    { kid: 'other', kty: 'AKP' },
  ]
  const good = [
    { ...rsa.jwk, use: 'sig' },
    { ...ec.jwk, key_ops: ['verify'] },
  ]
  assert.equal(new VerificationKeySet([...odd, ...good]).ids, ['rsa', 'ec'])
})

keys('that are malformed or of another type than they claim are not imported', async () => {
  const broken: Record<string, unknown>[] = [
    { kty: 'RSA', n: 'AQAB' },
    { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' },
    { kty: 'EC', crv: 'RSA', n: rsa.jwk.n, e: rsa.jwk.e },
    { kty: 'EC', crv: '__proto__' },
    { kty: 'OKP', crv: 'P-256', x: ec.jwk.x, y: ec.jwk.y },
    { kty: 'OKP', crv: 'constructor' },
    { kty: 'OKP', crv: 'Ed25519', x: 'AA' },
    { kty: 'OKP', crv: 'X25519', x: ed.jwk.x },
  ]
  const set = new VerificationKeySet([
    ...broken.map((one, at) => ({ ...one, kid: `broken${at}` })),
    { ...rsa.jwk, kid: '__proto__' },
  ])
  for (const at of broken.keys())
    for (const algorithm of ALL_ALGORITHMS)
      assert.not(await finds(set, `broken${at}`, algorithm), `${at} ${algorithm}`)
  assert.ok(await finds(set, '__proto__', 'RS256'))
  assert.not(await finds(set, 'constructor', 'RS256'))
  assert.not(set.has('toString'))
})

keys('report why others of the set were excluded', () => {
  const set = new VerificationKeySet([
    rsa.jwk,
    { ...ec.jwk, kid: 'rsa' },
    { ...rsa.jwk, kid: 'a', d: 'x' },
    { ...rsa.jwk, kid: 'b', d: 'x' },
    { ...rsa.jwk, kid: 'short', n: Buffer.alloc(128, 0xc5).toString('base64url') },
    { ...ec.jwk, kid: 'c', alg: 'HS256' },
    { kid: 'd', kty: 'EC', crv: 'P-256' },
    { kid: 'e', kty: 'oct', k: 'AA' },
    { ...rsa.jwk, kid: 'f', use: 'enc' },
    { ...rsa.jwk, kid: undefined },
    null,
  ])
  assert.equal(set.ids, ['rsa'])
  // Of two keys with the same id, the first is used.
  assert.equal(Object.fromEntries(set.excluded), {
    'duplicate kid': 1,
    private: 2,
    'too short': 1,
    algorithm: 1,
    malformed: 1,
    'key type': 1,
    'not for signatures': 1,
    'no kid': 1,
    'no object': 1,
  })
  assert.is(new VerificationKeySet([rsa.jwk]).excluded.size, 0)
})

keys('are imported once for each algorithm', async () => {
  const set = new VerificationKeySet([rsa.jwk])
  const key = await deadline(set.find('rsa', 'RS256'), 30_000, 'a key')
  assert.is(await deadline(set.find('rsa', 'RS256'), 30_000, 'a key'), key)
  assert.is.not(await deadline(set.find('rsa', 'PS256'), 30_000, 'a key'), key)
})

keys('are bounded in number', () => {
  const many = Array.from({ length: 1000 }, (_, at) => ({ ...rsa.jwk, kid: `k${at}` }))
  const set = new VerificationKeySet(many)
  assert.is(set.ids.length, 256)
  assert.is(set.excluded.get('too many'), 744)
})

keys.run()
