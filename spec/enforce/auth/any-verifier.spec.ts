import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MultiIssuerVerifier } from '../../../lib/enforce/auth/jwt-auth.ts'
import type { TokenVerification, Verifier } from '../../../lib/enforce/auth/token-verifier.ts'
import { base64 } from '../../support/signer.ts'
import { wordFor } from './verifying.ts'

const choosing = suite('several issuers')

class Asked implements Verifier {
  tokens: string[] = []

  verify(token: string): TokenVerification {
    this.tokens.push(token)
    return { kind: 'valid', claims: new Map(), scopes: [] }
  }
}

function naming(issuer: unknown): string {
  return `e30.${base64(JSON.stringify({ iss: issuer }))}.AA`
}

choosing('uses the verifier of the issuer that the token names', () => {
  const [one, two] = [new Asked(), new Asked()]
  const any = new MultiIssuerVerifier([
    ['https://one', one],
    ['https://two', two],
  ])
  void any.verify(naming('https://two'))
  void any.verify(naming('https://one'))
  assert.equal([one.tokens, two.tokens], [[naming('https://one')], [naming('https://two')]])
})

choosing('rejects a token with another issuer without verifying it', () => {
  const one = new Asked()
  const any = new MultiIssuerVerifier([
    ['https://one', one],
    ['https://two', one],
  ])
  for (const token of [
    ...['https://three', 'https://one/', '', 7, null, ['https://one'], '__proto__'].map(naming),
    '',
    'a',
    'a.b.c',
    `a.${base64('null')}.c`,
    `a.${base64('[]')}.c`,
    `a.${base64('"https://one"')}.c`,
    `a.${base64(`${'['.repeat(9000)}`)}.c`,
  ]) {
    const verification = any.verify(token)
    assert.not.instance(verification, Promise)
    assert.is(wordFor(verification as TokenVerification), 'issuer', token.slice(0, 40))
  }
  assert.equal(one.tokens, [])
})

choosing('with one issuer uses its verifier for every token', () => {
  const one = new Asked()
  const any = new MultiIssuerVerifier([['https://one', one]])
  void any.verify('anything')
  assert.equal(one.tokens, ['anything'])
})

choosing.run()
