// Fuzzing of token verification: only signed tokens are accepted.

import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { TokenVerifier } from '../../lib/enforce/auth/token-verifier.ts'
import { CountedSource, RULES, StillClock, claimsOf } from '../enforce/auth/verifying.ts'
import { deadline } from '../support/deadline.ts'
import { Signer, base64 } from '../support/signer.ts'
import { changed, changes } from './mutate.ts'
import { target } from './target.ts'

const WAIT_MS = 30_000
const PIECES = [
  ...[
    '.',
    '..',
    '=',
    '+',
    '/',
    '-',
    '_',
    ' ',
    '\n',
    '\0',
    'e30',
    'eyJhbGciOiJub25lIn0',
    'A',
    'bnVsbA',
  ],
  ...[
    base64('{"alg":"HS256","kid":"es"}'),
    base64('{"alg":"none","kid":"es"}'),
    base64('{"sub":"root"}'),
  ],
]
/** Pieces for signed but unusual headers and payloads. */
const JSON_PIECES = [
  '"',
  ',',
  '{',
  '}',
  '[',
  ']',
  ':',
  '\\u0000',
  'null',
  '1e999',
  '"alg":"none",',
  '\xff',
]
const HEADER = '{"alg":"ES256","kid":"es","typ":"JWT"}'

async function open() {
  const signer = await Signer.make('ES256', 'es')
  const verifier = new TokenVerifier(RULES, new CountedSource(signer), new StillClock())
  const verify = async (token: string) =>
    deadline(Promise.resolve(verifier.verify(token)), WAIT_MS, 'a verdict')
  return { signer, verify }
}

const unsigned = target('accepts only the signed claims of a token', async () => {
  const { signer, verify } = await open()
  const token = signer.token(claimsOf())
  return fc.asyncProperty(changes(PIECES), async (made) => {
    const verdict = await verify(changed(token, made))
    if (verdict.kind === 'valid') assert.is(verdict.claims.get('sub'), 'u')
  })
})

const odd = target('reports the error of any header or payload, signed or not', async () => {
  const { signer, verify } = await open()
  const payload = JSON.stringify(claimsOf())
  const made = changes(JSON_PIECES)
  return fc.asyncProperty(made, made, async (header, claims) => {
    const token = signer.signed(changed(HEADER, header), changed(payload, claims))
    const verdict = await verify(token)
    assert.is.not(verdict.kind, 'unavailable')
  })
})

export const TOKENS = [unsigned, odd]
