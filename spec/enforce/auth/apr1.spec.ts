import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { hashApr1 } from '../../../lib/enforce/auth/apr1.ts'

const hashing = suite('apr1')

/** Created with `openssl passwd -apr1`. */
const VECTORS: [password: string, hash: string][] = [
  ['a', '$apr1$abcdefgh$G8IsPsylW5ROvIKsQMRG61'],
  ['a', '$apr1$a$drFGR/9p/sjZ9/qPTUuIf/'],
  ['secret', '$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/'],
  ['secret', '$apr1$r31.....$G/cElGhD0cboYkZN5h5Ne/'],
  ['pässwörd', '$apr1$r31.....$CnMBtjJHTKsiwi5FN79xp0'],
  ['0123456789abcdef', '$apr1$a$khwFEGycQESUBHFR0UD/c.'],
  ['0123456789abcdef0123456789abcdef!', '$apr1$abcdefgh$aVC2Yb/aN6SNYHtqn29Da0'],
  ['with space: and colon', '$apr1$r31.....$YN898YfXVEghsNU2oaOCr/'],
  ['x'.repeat(72), '$apr1$a$gNcQKigTfDIwp2KJeaaYR0'],
]

hashing('computes the same hashes as openssl', () => {
  for (const [password, hash] of VECTORS) assert.is(hashApr1(password, hash), hash, password)
})

hashing('computes another hash for another password or salt', () => {
  for (const [password, hash] of VECTORS) assert.is.not(hashApr1(`${password}.`, hash), hash)
  assert.is.not(hashApr1('secret', '$apr1$abcdefgi$'), hashApr1('secret', '$apr1$abcdefgh$'))
})

hashing.run()
