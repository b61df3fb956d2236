// Apache's apr1 password hash (1000 rounds of MD5), common in old htpasswd files, and comparison in constant time.

import { createHash, timingSafeEqual } from 'node:crypto'

const MAGIC = '$apr1$'
const ROUNDS = 1000
const DIGEST_BYTES = 16

const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The digest bytes that each group of output characters encodes. */
const GROUPS: readonly (readonly number[])[] = [
  [0, 6, 12],
  [1, 7, 13],
  [2, 8, 14],
  [3, 9, 15],
  [4, 10, 5],
  [11],
]

/** Returns the complete hash of a password, with the salt of an existing hash. */
export function hashApr1(password: string, existingHash: string): string {
  const secret = Buffer.from(password)
  const salt = existingHash.slice(MAGIC.length).split('$')[0]!
  let digest = computeFirstDigest(secret, Buffer.from(salt))
  for (let round = 0; round < ROUNDS; round++) {
    const hash = createHash('md5').update(round % 2 === 1 ? secret : digest)
    if (round % 3 !== 0) hash.update(salt)
    if (round % 7 !== 0) hash.update(secret)
    digest = hash.update(round % 2 === 1 ? digest : secret).digest()
  }
  return `${MAGIC}${salt}$${GROUPS.map((indexes) => encodeDigestGroup(digest, indexes)).join('')}`
}

function computeFirstDigest(secret: Buffer, salt: Buffer): Buffer {
  const inner = createHash('md5').update(secret).update(salt).update(secret).digest()
  const hash = createHash('md5').update(secret).update(MAGIC).update(salt)
  for (let rest = secret.length; rest > 0; rest -= DIGEST_BYTES)
    hash.update(inner.subarray(0, rest))
  // A zero byte or the first character for every bit of the length: a mistake of the original that all copies keep.
  for (let bits = secret.length; bits > 0; bits >>= 1)
    hash.update(bits % 2 === 1 ? Buffer.alloc(1) : secret.subarray(0, 1))
  return hash.digest()
}

function encodeDigestGroup(digest: Buffer, indexes: readonly number[]): string {
  let value = indexes.reduce((sum, index) => sum * 256 + digest[index]!, 0)
  let text = ''
  const count = indexes.length === 1 ? 2 : 4
  for (let i = 0; i < count; i++) {
    text += ALPHABET[value % 64]!
    value = Math.floor(value / 64)
  }
  return text
}

/** Compares texts in a time that depends neither on their length nor on where they differ. */
export function equalsInConstantTime(a: string, b: string): boolean {
  return timingSafeEqual(digestOf(a), digestOf(b))
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
