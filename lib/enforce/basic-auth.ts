// basicAuth: user names and passwords, checked against htpasswd lines.

import type { BasicAuthConfig } from '../base/config/auth-types.ts'
import type { Exchange } from '../base/exchange.ts'
import { textReply } from '../base/reply.ts'
import type { Policy, Reply } from '../base/types.ts'
import { decoyOf } from './basic-auth/passwords.ts'
import type { PasswordCheck, Passwords } from './basic-auth/passwords.ts'
import { findCredential, removeCredential } from './credential.ts'

/** Longer ones are nobody's. */
const MAX_PAIR_LENGTH = 1_024

interface Pair {
  /** Both, as the client wrote them. */
  readonly text: string
  readonly username: string
  readonly password: string
}

export function basicAuth(config: BasicAuthConfig, passwords: Passwords): Policy {
  const { mode, location, users } = config
  const hashes = new Map(users.map(({ name, hash }) => [name, hash.reveal()]))
  const decoy = decoyOf([...hashes.values()])
  const invalid = (exchange: Exchange): Reply => {
    exchange.refusal = 'password_invalid'
    return refused(config, 'invalid credentials')
  }
  const decide = (exchange: Exchange, { text, username }: Pair, check: PasswordCheck) => {
    if (check === 'busy') {
      exchange.refusal = 'password_checks_busy'
      return textReply(503, `${FAILURE}: too many checks at once`)
    }
    // A user that does not exist has cost as much as one that does.
    if (check === 'wrong' || !hashes.has(username)) return invalid(exchange)
    exchange.learn({ basicAuth: { username } })
    removeCredential(exchange, location, text)
    exchange.trace?.note('password verified')
    return undefined
  }
  return {
    kind: 'basicAuth',
    request(exchange) {
      const found = findCredential(exchange, location)
      if (found.kind === 'none') {
        if (mode !== 'strict') {
          exchange.trace?.skip(`no credentials, and mode is ${mode}`)
          return undefined
        }
        exchange.refusal = 'password_missing'
        return refused(config, 'no credentials found')
      }
      const pair = found.kind === 'one' ? pairOf(found.value) : null
      if (pair === null) return invalid(exchange)
      const check = passwords.check(pair.password, hashes.get(pair.username) ?? decoy)
      return check instanceof Promise
        ? check.then((one) => decide(exchange, pair, one))
        : decide(exchange, pair, check)
    },
  }
}

const FAILURE = 'basic authentication failure'

function refused({ realm, location }: BasicAuthConfig, reason: string): Reply {
  const isProxy = location.kind === 'header' && location.name === 'proxy-authorization'
  const reply = textReply(isProxy ? 407 : 401, `${FAILURE}: ${reason}`)
  const name = isProxy ? 'proxy-authenticate' : 'www-authenticate'
  reply.head.add(name, `Basic realm="${realm}"`)
  return reply
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
// RFC 7617 2: neither may hold control characters.
const PAIR = /^([^:\p{Cc}]*):(\P{Cc}*)$/u

function pairOf(text: string): Pair | null {
  if (text.length > MAX_PAIR_LENGTH || !BASE64.test(text)) return null
  try {
    const bytes = Buffer.from(text, 'base64')
    const decoded = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const [, username, password] = PAIR.exec(decoded) ?? []
    if (username === undefined || password === undefined) return null
    return { text, username, password }
  } catch {
    return null
  }
}
