import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { IdentityStore, MAX_VERIFIERS } from '../../../lib/enforce/auth/identity.ts'
import { MAX_PROVIDER_CALLS, ProviderCalls } from '../../../lib/enforce/oauth/provider-requests.ts'
import { VerificationKeySet } from '../../../lib/enforce/auth/key-sets.ts'
import { deadline } from '../../support/deadline.ts'
import { LogRecorder, Stage } from '../../support/gateway.ts'
import { KeyServer } from '../../support/key-server.ts'
import { Signer } from '../../support/signer.ts'
import { ProviderServer } from '../oauth/provider-server.ts'
import { claimsOf, ISSUER, RULES } from './verifying.ts'

const knowing = suite('identity')
const stage = new Stage()
knowing.after.each(() => stage.clear())

const signer = await Signer.make('ES256', 'k')

function identity(): IdentityStore {
  return stage.add(new IdentityStore(new LogRecorder(() => {})))
}

knowing('has one verifier for the same rules, so that a reload verifies no token again', () => {
  const known = identity()
  const first = known.verifier(RULES)
  assert.is(known.verifier({ ...RULES, audiences: [...RULES.audiences] }), first)
  for (const other of [
    { ...RULES, audiences: ['other'] },
    { ...RULES, issuer: `${ISSUER}/` },
    { ...RULES, leeway: 0 },
    { ...RULES, requiredClaims: [] },
    { ...RULES, jwks: { kind: 'url', url: 'http://a/k' } },
  ] as const)
    assert.is.not(known.verifier(other), first)
  assert.is.not(known.verifier(RULES, 'http://a/k'), first)
})

knowing('evicts only the least recently used verifier', () => {
  const known = identity()
  const first = known.verifier(RULES)
  const second = known.verifier({ ...RULES, leeway: 0 })
  for (let at = 2; at <= MAX_VERIFIERS; at++) {
    known.verifier({ ...RULES, audiences: [`a${at}`] })
    assert.is(known.verifier(RULES), first)
  }
  assert.is.not(known.verifier({ ...RULES, leeway: 0 }), second)
})

knowing('derives the key URL from the issuer, unless one is configured', () => {
  const known = identity()
  known.verifier({ ...RULES, issuer: 'https://a.example/' })
  known.verifier({ ...RULES, issuer: 'https://b.example' }, 'https://b.example/certs')
  known.verifier({ ...RULES, jwks: { kind: 'url', url: 'http://mirror/keys' } })
  known.verifier({ ...RULES, jwks: { kind: 'keys', keys: [signer.jwk as never] } })
  assert.equal(
    known.keys.status.map(({ url }) => url),
    ['https://a.example/.well-known/jwks.json', 'https://b.example/certs', 'http://mirror/keys'],
  )
})

knowing('shares a key set between verifiers with different rules', async () => {
  const server = stage.add(await KeyServer.start(signer))
  const known = identity()
  const jwks = { kind: 'url', url: server.url } as const
  const exp = Math.floor(Date.now() / 1000) + 300
  const token = signer.token(claimsOf({ exp }))
  const check = async (audiences: string[]): Promise<string> => {
    const verification = known.verifier({ ...RULES, audiences, jwks }).verify(token)
    const { kind } = await deadline(Promise.resolve(verification), 30_000, 'a check')
    return kind
  }
  assert.is(await check(['gateway']), 'valid')
  assert.is(await check(['other']), 'invalid')
  assert.is(server.asked, 1)
})

knowing('fetches keys while posts of clients hang', async () => {
  const provider = stage.add(await ProviderServer.start())
  provider.says.set('POST /register', 'hang')
  provider.offer('/keys', { keys: [signer.jwk] })
  provider.offer('/document', { a: 'b' })
  const known = identity()
  const calls = new ProviderCalls(known)
  const posted = { url: `${provider.origin}/register`, headers: {}, body: Buffer.from('{}') }
  const posts = Array.from({ length: MAX_PROVIDER_CALLS }, () =>
    calls.post('client registration', posted),
  )
  await provider.untilReceived(1)
  const keys = known.keys.sourceFor(`${provider.origin}/keys`).current()
  assert.instance(await deadline(Promise.resolve(keys), 30_000, 'the keys'), VerificationKeySet)
  const document = known.documents.findFirst([`${provider.origin}/document`])
  assert.equal(await deadline(document, 30_000, 'the document'), { a: 'b' })
  // Nothing waits for them when the process stops.
  known.close()
  const replies = await deadline(Promise.all(posts), 30_000, 'the posts')
  assert.ok(replies.every(({ head }) => head.status === 502))
  const none = Promise.resolve(known.keys.sourceFor(`${provider.origin}/other`).current())
  assert.type(await deadline(none, 30_000, 'no keys'), 'string')
})

knowing.run()
