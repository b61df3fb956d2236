import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  bcryptCostOf,
  detectHashKind,
  describeHashProblem,
  plainPasswordOf,
} from '../../lib/config/htpasswd.ts'

const hashes = suite('password hashes')

const LETTERS = 'a'.repeat(53)

hashes('are classified by their prefix', () => {
  const table: [hash: string, kind: string][] = [
    [`$2y$05$${LETTERS}`, 'bcrypt'],
    [`$2a$04$${LETTERS}`, 'bcrypt'],
    [`$2b$14$${LETTERS}`, 'bcrypt'],
    ['$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/', 'apr1'],
    ['$apr1$$h9FWgUz3n9YxylKLlR5SQ/', 'apr1'],
    ['{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=', 'sha'],
    ['{PLAIN}$2y$', 'plain'],
    ['secret', 'plain'],
    ['with spaces and: colons', 'plain'],
  ]
  for (const [hash, kind] of table) {
    assert.is(detectHashKind(hash), kind, hash)
    assert.is(describeHashProblem(hash), undefined, hash)
  }
  assert.is(bcryptCostOf(`$2y$05$${LETTERS}`), 5)
  assert.is(plainPasswordOf('{PLAIN}{PLAIN}a'), '{PLAIN}a')
  assert.is(plainPasswordOf('secret'), 'secret')
})

hashes('that are unknown or malformed are refused without printing them', () => {
  const known = 'expected bcrypt ($2y$), apr1 ($apr1$), {SHA}, or {PLAIN} and the password'
  const table: [hash: string, problem: string][] = [
    [`$2y$15$${LETTERS}`, 'got bcrypt with cost 15, expected 4 to 14'],
    [`$2y$03$${LETTERS}`, 'got bcrypt with cost 3, expected 4 to 14'],
    [`$2y$05$${LETTERS}a`, 'got a malformed bcrypt hash'],
    [`$2y$5$${LETTERS}`, 'got a malformed bcrypt hash'],
    [`$2x$05$${LETTERS}`, 'got a malformed bcrypt hash'],
    ['$apr1$abcdefghi$h9FWgUz3n9YxylKLlR5SQ/', 'got a malformed apr1 hash'],
    ['$apr1$abcdefgh$h9FWgUz3n9Yxyl', 'got a malformed apr1 hash'],
    ['{SHA}5en6G6MezRroT3XK', 'got a malformed {SHA} hash'],
    ['rqXexS6ZhobKA', `got what looks like crypt, ${known}`],
    ['$1$abcdefgh$irWbblnpmw.5z7wgBnprh0', `got an unknown kind of hash, ${known}`],
    ['$5$rounds=5000$salt$hash', `got an unknown kind of hash, ${known}`],
    ['$6$salt$hash', `got an unknown kind of hash, ${known}`],
    ['$argon2id$v=19$m=65536$x$y', `got an unknown kind of hash, ${known}`],
    ['{SSHA}x', `got an unknown kind of hash, ${known}`],
  ]
  for (const [hash, problem] of table) {
    assert.is(detectHashKind(hash), null, hash)
    assert.is(describeHashProblem(hash), problem, hash)
  }
})

hashes.run()
