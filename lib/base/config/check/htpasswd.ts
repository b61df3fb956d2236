// The lines of an htpasswd file: users and their hashes.

import { hashProblem } from '../../password-hash.ts'
import type { BasicAuthConfig } from '../auth-types.ts'
import { Secret } from '../secret.ts'

/** `problem` hears what is wrong, with the line; never any part of a hash. */
export function readUsers(
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
    const wrong = hashProblem(hash)
    if (wrong !== undefined) refuse(wrong)
    if (users.has(name)) refuse(`got user '${name}' again, expected each once`)
    users.set(name, new Secret(hash))
  }
  if (users.size === 0 && text !== '') problem('got no users, expected some')
  return [...users].map(([name, hash]) => ({ name, hash }))
}
