import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { VerificationKeySet } from '../../../lib/enforce/auth/key-sets.ts'
import { TokenVerifier } from '../../../lib/enforce/auth/token-verifier.ts'
import type { TokenVerification } from '../../../lib/enforce/auth/token-verifier.ts'
import { deadline } from '../../support/deadline.ts'
import { Signer } from '../../support/signer.ts'
import { claimsOf, CountedSource, ISSUER, NOW, RULES, StillClock, verdictOf } from './verifying.ts'

const verifying = suite('token verifier')

const rsa = await Signer.make('RS256', 'rsa')
const rest = await Promise.all(
  ['RS512', 'PS256', 'PS384', 'ES256', 'ES384', 'ES512', 'EdDSA'].map((alg) =>
    Signer.make(alg, alg),
  ),
)

function setUp(rules = RULES, ...signers: Signer[]) {
  const source = new CountedSource(...(signers.length === 0 ? [rsa] : signers))
  const clock = new StillClock()
  return { source, clock, verifier: new TokenVerifier(rules, source, clock) }
}

verifying('accepts tokens of every allowed algorithm', async () => {
  const { verifier } = setUp(RULES, rsa, ...rest)
  for (const signer of [rsa, ...rest])
    assert.is(await verdictOf(verifier, signer.token(claimsOf())), 'valid', signer.alg)
})

verifying('reads the claims, and the scopes in each of their forms', async () => {
  const { verifier } = setUp()
  const read = async (claims: Record<string, unknown>): Promise<TokenVerification> =>
    deadline(Promise.resolve(verifier.verify(rsa.token(claimsOf(claims)))), 30_000, 'a check')
  const found = await read({ n: 7, realm_access: { roles: ['a'] } })
  assert.ok(found.kind === 'valid')
  assert.is(found.claims.get('sub'), 'u')
  assert.is(found.claims.get('n'), 7n)
  assert.equal(found.claims.get('realm_access'), new Map([['roles', ['a']]]))
  const table: [claims: Record<string, unknown>, scopes: string[]][] = [
    [{}, []],
    [{ scope: 'a  b' }, ['a', 'b']],
    [{ scp: 'a b' }, ['a', 'b']],
    [{ scp: ['a', 7, 'b'] }, ['a', 'b']],
    [{ scope: { a: 1 } }, []],
    [{ scope: 7 }, []],
  ]
  for (const [claims, scopes] of table) {
    const one = await read(claims)
    assert.ok(one.kind === 'valid')
    assert.equal(one.scopes, scopes, JSON.stringify(claims))
  }
})

verifying('reports the kind of fault', async () => {
  const { verifier } = setUp()
  const table: [claims: Record<string, unknown>, verdict: string][] = [
    [{ iss: `${ISSUER}/` }, 'issuer'],
    [{ iss: ISSUER.toUpperCase() }, 'issuer'],
    [{ iss: ISSUER.slice(0, -1) }, 'issuer'],
    [{ iss: [ISSUER] }, 'issuer'],
    [{ iss: null }, 'issuer'],
    [{ iss: undefined }, 'missing claim'],
    [{ aud: undefined }, 'missing claim'],
    [{ aud: 'gatewa' }, 'audience'],
    [{ aud: 'gateway2' }, 'audience'],
    [{ aud: '' }, 'audience'],
    [{ aud: [] }, 'audience'],
    [{ aud: ['other'] }, 'audience'],
    [{ aud: [['gateway']] }, 'audience'],
    [{ aud: { gateway: 1 } }, 'audience'],
    [{ aud: ['other', 'gateway'] }, 'valid'],
    [{ aud: 'api://gateway' }, 'valid'],
    [{ exp: undefined }, 'missing claim'],
    [{ exp: NOW - 60 }, 'expired'],
    [{ exp: NOW - 59 }, 'valid'],
    [{ exp: -1 }, 'expired'],
    [{ exp: 0 }, 'expired'],
    [{ exp: String(NOW + 300) }, 'malformed'],
    [{ exp: null }, 'malformed'],
    [{ exp: [NOW + 300] }, 'malformed'],
    [{ nbf: NOW + 60 }, 'valid'],
    [{ nbf: NOW + 61 }, 'not valid yet'],
    [{ nbf: 'now' }, 'malformed'],
    [{ iat: NOW + 9999 }, 'valid'],
  ]
  for (const [claims, verdict] of table)
    assert.is(
      await verdictOf(verifier, rsa.token(claimsOf(claims))),
      verdict,
      JSON.stringify(claims),
    )
})

verifying('requires the configured claims with the configured leeway', async () => {
  const { verifier } = setUp({ ...RULES, requiredClaims: ['sub', 'azp'], leeway: 0, audiences: [] })
  const verdict = (claims: Record<string, unknown>) =>
    verdictOf(verifier, rsa.token(claimsOf({ azp: 'c', ...claims })))
  assert.is(await verdict({}), 'valid')
  assert.is(await verdict({ azp: undefined }), 'missing claim')
  assert.is(await verdict({ aud: 'anybody' }), 'valid')
  assert.is(await verdict({ aud: undefined }), 'valid')
  assert.is(await verdict({ exp: undefined }), 'valid')
  assert.is(await verdict({ exp: NOW }), 'expired')
  assert.is(await verdict({ nbf: NOW + 1 }), 'not valid yet')
})

verifying('verifies a token once, also for concurrent requests', async () => {
  const { source, verifier } = setUp()
  const token = rsa.token(claimsOf())
  const crowd = [1, 2, 3].map(() => verdictOf(verifier, token))
  assert.equal(await Promise.all(crowd), ['valid', 'valid', 'valid'])
  assert.is(source.found, 1)
  assert.not.instance(verifier.verify(token), Promise)
  assert.is(source.found, 1)
  // Another signature over the same claims is another token.
  assert.is(await verdictOf(verifier, rsa.token(claimsOf({ jti: '2' }))), 'valid')
  assert.is(source.found, 2)
})

verifying('verifies an invalid token every time', async () => {
  const { source, verifier } = setUp()
  const token = rsa.token(claimsOf({ aud: 'other' }))
  assert.is(await verdictOf(verifier, token), 'audience')
  assert.is(await verdictOf(verifier, token), 'audience')
  assert.is(source.found, 2)
})

verifying('does not use the cache for an expired token', async () => {
  const { source, clock, verifier } = setUp()
  const token = rsa.token(claimsOf({ exp: NOW + 10 }))
  assert.is(await verdictOf(verifier, token), 'valid')
  clock.seconds = NOW + 69
  assert.not.instance(verifier.verify(token), Promise)
  clock.seconds = NOW + 70
  assert.is(await verdictOf(verifier, token), 'expired')
  assert.is(source.found, 2)
})

verifying('does not use the cache after the keys changed', async () => {
  const { source, verifier } = setUp()
  const token = rsa.token(claimsOf())
  assert.is(await verdictOf(verifier, token), 'valid')
  source.rotate(rsa, rest[0]!)
  assert.is(await verdictOf(verifier, token), 'valid')
  assert.is(source.found, 2)
  source.rotate(rest[0]!)
  assert.is(await verdictOf(verifier, token), 'unknown key')
})

verifying('caches a token with the keys that verified it, not with later ones', async () => {
  const { source, verifier } = setUp()
  const token = rsa.token(claimsOf())
  const checking = verdictOf(verifier, token)
  // The key is found, and the set changes while the signature is checked.
  await Promise.resolve()
  source.rotate(rest[0]!)
  assert.is(await checking, 'valid')
  assert.is(await verdictOf(verifier, token), 'unknown key')
})

verifying('waits for new keys after the grace period, also with a cached token', async () => {
  const { verifier, source } = setUp()
  const token = rsa.token(claimsOf())
  assert.is(await verdictOf(verifier, token), 'valid')
  let arrive = (): void => {}
  const fetched = (): void => {
    source.wait = new Promise((resolve) => (arrive = resolve))
  }
  fetched()
  const same = [verdictOf(verifier, token), verdictOf(verifier, token)]
  arrive()
  assert.equal(await Promise.all(same), ['valid', 'valid'])
  assert.is(source.found, 1)
  fetched()
  const other = verdictOf(verifier, token)
  source.rotate(rest[0]!)
  arrive()
  assert.is(await other, 'unknown key')
})

verifying('fetches the keys again for an unknown key', async () => {
  const { source, verifier } = setUp()
  const other = rest[3]!
  source.next = [rsa, other]
  assert.is(await verdictOf(verifier, other.token(claimsOf())), 'valid')
  assert.is(source.renewed, 1)
  source.next = null
  assert.is(await verdictOf(verifier, rsa.token(claimsOf(), { kid: 'nobody' })), 'unknown key')
  assert.is(source.renewed, 2)
  assert.is(await verdictOf(verifier, rsa.token(claimsOf({ aud: 'x' }))), 'audience')
  assert.is(source.renewed, 2)
})

verifying('reports unavailable keys, and caches nothing', async () => {
  const { source, verifier } = setUp()
  source.reason = 'status 503'
  const token = rsa.token(claimsOf())
  assert.is(await verdictOf(verifier, token), 'unavailable: status 503')
  source.reason = null
  assert.is(await verdictOf(verifier, token), 'valid')
})

verifying('fails only the waiting callers when its key source throws', async () => {
  const { source, verifier } = setUp()
  const token = rsa.token(claimsOf())
  const keys = source.current() as VerificationKeySet
  source.current = () => Promise.reject(new Error('a bug'))
  try {
    await verdictOf(verifier, token)
    assert.unreachable()
  } catch (error) {
    assert.match(String(error), 'a bug')
  }
  source.current = () => keys
  assert.is(await verdictOf(verifier, token), 'valid')
})

verifying.run()
