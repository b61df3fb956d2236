// Parses htpasswd lines and classifies their password hashes.

import { Secret } from '../text/secret.ts'
import type { BasicAuthConfig } from './policy-types.ts'

/** `report` gets each problem with its line number, never any part of a hash. */
export function parseHtpasswd(
  text: string,
  report: (message: string) => void,
): BasicAuthConfig['users'] {
  const users = new Map<string, Secret>()
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, name, hash] = /^([^:]+):(.+?)\s*$/.exec(line) ?? []
    const refuse = (reason: string): void => report(`line ${at + 1} of htpasswd: ${reason}`)
    if (name === undefined || hash === undefined) {
      refuse('expected user:hash')
      continue
    }
    const hashProblem = describeHashProblem(hash)
    if (hashProblem !== undefined) refuse(hashProblem)
    if (users.has(name)) refuse(`got user '${name}' again, expected each once`)
    users.set(name, new Secret(hash))
  }
  if (users.size === 0 && text !== '') report('got no users, expected at least one')
  return [...users].map(([name, hash]) => ({ name, hash }))
}

/** `plain` is the password itself, so the file must be kept secret. */
export type HashKind = 'bcrypt' | 'apr1' | 'sha' | 'plain'

/** Each step doubles the time of a check; at 14 a check takes seconds. */
const MAX_BCRYPT_COST = 14

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
const APR1 = /^\$apr1\$[^$]{0,8}\$[./A-Za-z0-9]{22}$/
const SHA = /^\{SHA\}[A-Za-z0-9+/]{27}=$/
const PLAIN = '{PLAIN}'

/** The kind, or null for a hash that `describeHashProblem` refuses. */
export function detectHashKind(hash: string): HashKind | null {
  if (BCRYPT.test(hash))
    return bcryptCostOf(hash) >= 4 && bcryptCostOf(hash) <= MAX_BCRYPT_COST ? 'bcrypt' : null
  if (APR1.test(hash)) return 'apr1'
  if (SHA.test(hash)) return 'sha'
  if (hash.startsWith(PLAIN)) return 'plain'
  return /^[${]/.test(hash) || CRYPT.test(hash) ? null : 'plain'
}

/** Thirteen characters look like DES `crypt`: refusing a plain password is safer than using a hash as the password. */
const CRYPT = /^[./A-Za-z0-9]{13}$/

const EXPECTED_HASH = 'expected bcrypt ($2y$), apr1 ($apr1$), {SHA}, or {PLAIN} and the password'

/** The reason to refuse a hash, without any part of it; undefined for a valid hash. */
export function describeHashProblem(hash: string): string | undefined {
  if (detectHashKind(hash) !== null) return undefined
  if (BCRYPT.test(hash))
    return `got bcrypt with cost ${bcryptCostOf(hash)}, expected 4 to ${MAX_BCRYPT_COST}`
  if (/^\$2[abxy]?\$/.test(hash)) return 'got a malformed bcrypt hash'
  if (hash.startsWith('$apr1$')) return 'got a malformed apr1 hash'
  if (hash.startsWith('{SHA}')) return 'got a malformed {SHA} hash'
  if (CRYPT.test(hash)) return `got what looks like crypt, ${EXPECTED_HASH}`
  return `got an unknown kind of hash, ${EXPECTED_HASH}`
}

/** The cost of a bcrypt hash. */
export function bcryptCostOf(hash: string): number {
  return Number(BCRYPT.exec(hash)?.[1])
}

/** The password in an entry of kind `plain`. */
export function plainPasswordOf(hash: string): string {
  return hash.startsWith(PLAIN) ? hash.slice(PLAIN.length) : hash
}
