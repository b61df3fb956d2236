// The lines of an htpasswd file: users and their hashes.

import { Secret } from '../text/secret.ts'
import type { BasicAuthConfig } from './policy-types.ts'

/** `problem` hears what is wrong, with the line; never any part of a hash. */
export function parseHtpasswd(
  text: string,
  problem: (message: string) => void,
): BasicAuthConfig['users'] {
  const users = new Map<string, Secret>()
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, name, hash] = /^([^:]+):(.+?)\s*$/.exec(line) ?? []
    const refuse = (what: string): void => problem(`line ${at + 1} of htpasswd: ${what}`)
    if (name === undefined || hash === undefined) {
      refuse('expected user:hash')
      continue
    }
    const wrong = describeHashProblem(hash)
    if (wrong !== undefined) refuse(wrong)
    if (users.has(name)) refuse(`got user '${name}' again, expected each once`)
    users.set(name, new Secret(hash))
  }
  if (users.size === 0 && text !== '') problem('got no users, expected some')
  return [...users].map(([name, hash]) => ({ name, hash }))
}

// What stands behind the colon in htpasswd files: which kinds of hash are understood, and which are refused.

/** `plain` is the password itself; the file must be as secret as it is. */
export type HashKind = 'bcrypt' | 'apr1' | 'sha' | 'plain'

/** Each step doubles the time of a check: this one takes seconds. */
const MAX_BCRYPT_COST = 14

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
const APR1 = /^\$apr1\$[^$]{0,8}\$[./A-Za-z0-9]{22}$/
const SHA = /^\{SHA\}[A-Za-z0-9+/]{27}=$/
const PLAIN = '{PLAIN}'

/** The kind, or null for what `describeHashProblem` refuses. */
export function detectHashKind(hash: string): HashKind | null {
  if (BCRYPT.test(hash))
    return bcryptCostOf(hash) >= 4 && bcryptCostOf(hash) <= MAX_BCRYPT_COST ? 'bcrypt' : null
  if (APR1.test(hash)) return 'apr1'
  if (SHA.test(hash)) return 'sha'
  if (hash.startsWith(PLAIN)) return 'plain'
  return /^[${]/.test(hash) || CRYPT.test(hash) ? null : 'plain'
}

/** Thirteen letters are taken for DES `crypt`: rather refuse a plain password than take a hash for one. */
const CRYPT = /^[./A-Za-z0-9]{13}$/

const KNOWN = 'expected bcrypt ($2y$), apr1 ($apr1$), {SHA}, or {PLAIN} and the password'

/** Why a hash is refused, without showing any of it; undefined when it is not. */
export function describeHashProblem(hash: string): string | undefined {
  if (detectHashKind(hash) !== null) return undefined
  if (BCRYPT.test(hash))
    return `got bcrypt with cost ${bcryptCostOf(hash)}, expected 4 to ${MAX_BCRYPT_COST}`
  if (/^\$2[abxy]?\$/.test(hash)) return 'got a malformed bcrypt hash'
  if (hash.startsWith('$apr1$')) return 'got a malformed apr1 hash'
  if (hash.startsWith('{SHA}')) return 'got a malformed {SHA} hash'
  if (CRYPT.test(hash)) return `got what looks like crypt, ${KNOWN}`
  return `got an unknown kind of hash, ${KNOWN}`
}

/** Of a bcrypt hash. */
export function bcryptCostOf(hash: string): number {
  return Number(BCRYPT.exec(hash)?.[1])
}

/** Of the kind `plain`. */
export function plainPasswordOf(hash: string): string {
  return hash.startsWith(PLAIN) ? hash.slice(PLAIN.length) : hash
}
