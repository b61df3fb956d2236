// Apache's own password hash: MD5, a thousand times over. Old files are full of it.

import { createHash, timingSafeEqual } from 'node:crypto'

const MAGIC = '$apr1$'
const ROUNDS = 1000
const DIGEST = 16

const LETTERS = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Which bytes of the digest each group of letters is made of. */
const GROUPS: readonly (readonly number[])[] = [
  [0, 6, 12],
  [1, 7, 13],
  [2, 8, 14],
  [3, 9, 15],
  [4, 10, 5],
  [11],
]

/** The whole hash of a password, with the salt of `like`. */
export function hashApr1(password: string, like: string): string {
  const secret = Buffer.from(password)
  const salt = like.slice(MAGIC.length).split('$')[0]!
  let digest = computeFirstDigest(secret, Buffer.from(salt))
  for (let round = 0; round < ROUNDS; round++) {
    const hash = createHash('md5').update(round % 2 === 1 ? secret : digest)
    if (round % 3 !== 0) hash.update(salt)
    if (round % 7 !== 0) hash.update(secret)
    digest = hash.update(round % 2 === 1 ? digest : secret).digest()
  }
  return `${MAGIC}${salt}$${GROUPS.map((places) => encodeDigestGroup(digest, places)).join('')}`
}

function computeFirstDigest(secret: Buffer, salt: Buffer): Buffer {
  const inner = createHash('md5').update(secret).update(salt).update(secret).digest()
  const hash = createHash('md5').update(secret).update(MAGIC).update(salt)
  for (let left = secret.length; left > 0; left -= DIGEST) hash.update(inner.subarray(0, left))
  // A zero byte or the first letter for every bit of the length: an old mistake that everybody keeps.
  for (let bits = secret.length; bits > 0; bits >>= 1)
    hash.update(bits % 2 === 1 ? Buffer.alloc(1) : secret.subarray(0, 1))
  return hash.digest()
}

function encodeDigestGroup(digest: Buffer, places: readonly number[]): string {
  let value = places.reduce((all, place) => all * 256 + digest[place]!, 0)
  let text = ''
  const count = places.length === 1 ? 2 : 4
  for (let i = 0; i < count; i++) {
    text += LETTERS[value % 64]!
    value = Math.floor(value / 64)
  }
  return text
}

// Compares texts so that time tells nothing of where they differ, nor of how long they are.

export function equalsInConstantTime(a: string, b: string): boolean {
  return timingSafeEqual(digestOf(a), digestOf(b))
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
