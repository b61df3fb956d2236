// The basicAuth policy: checks user names and passwords against htpasswd lines. Slow hashes are checked in a worker
// thread, and successful checks are cached.

import { createHash, createHmac, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { LRUMapWithDelete } from 'mnemonist'
import { bcryptCostOf, detectHashKind, plainPasswordOf } from '../../config/htpasswd.ts'
import type { BasicAuthConfig } from '../../config/policy-types.ts'
import { addressKeyOf } from '../../core/addresses.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { RefusalCounter } from '../../core/refusal-counter.ts'
import { buildTextReply } from '../../core/replies.ts'
import type { Policy, Reply } from '../../core/types.ts'
import { equalsInConstantTime } from './apr1.ts'
import { findCredential, removeCredential } from './credentials.ts'

/** Longer credentials are rejected without a check. */
const MAX_CREDENTIALS_LENGTH = 1_024

interface BasicCredentials {
  /** The base64 text as the client sent it. */
  readonly text: string
  readonly username: string
  readonly password: string
}

export function createBasicAuthPolicy(config: BasicAuthConfig, passwords: PasswordChecker): Policy {
  const { mode, location, users } = config
  const hashes = new Map(users.map(({ name, hash }) => [name, hash.reveal()]))
  const decoy = createDecoyHash([...hashes.values()])
  const invalid = (exchange: Exchange): Reply => {
    exchange.enforcement.refusalReason = 'password_invalid'
    return rejectBasicAuth(config, 'invalid credentials')
  }
  const decide = (
    exchange: Exchange,
    { text, username }: BasicCredentials,
    check: PasswordCheck,
  ) => {
    if (check === 'busy') {
      exchange.enforcement.refusalReason = 'password_checks_busy'
      return buildTextReply(503, `${FAILURE}: too many password checks in progress`)
    }
    // An unknown user takes as long as a known one: its password was checked against the decoy hash.
    if (check === 'wrong' || !hashes.has(username)) return invalid(exchange)
    exchange.addFacts({ basicAuth: { username } })
    removeCredential(exchange, location, text)
    exchange.trace?.notePolicy('password verified')
    return undefined
  }
  return {
    kind: 'basicAuth',
    request(exchange) {
      const found = findCredential(exchange, location)
      if (found.kind === 'none') {
        if (mode !== 'strict') {
          exchange.trace?.skipPolicy(`no credentials, and mode is ${mode}`)
          return undefined
        }
        exchange.enforcement.refusalReason = 'password_missing'
        return rejectBasicAuth(config, 'no credentials found')
      }
      const credentials = found.kind === 'one' ? parseBasicCredentials(found.value) : null
      if (credentials === null) return invalid(exchange)
      const { username, password } = credentials
      const check = passwords.check(
        password,
        hashes.get(username) ?? decoy,
        exchange.source.address,
      )
      return check instanceof Promise
        ? check.then((result) => decide(exchange, credentials, result))
        : decide(exchange, credentials, check)
    },
  }
}

const FAILURE = 'basic authentication failure'

function rejectBasicAuth({ realm, location }: BasicAuthConfig, reason: string): Reply {
  const isProxy = location.kind === 'header' && location.name === 'proxy-authorization'
  const reply = buildTextReply(isProxy ? 407 : 401, `${FAILURE}: ${reason}`)
  const name = isProxy ? 'proxy-authenticate' : 'www-authenticate'
  reply.head.add(name, `Basic realm="${realm}"`)
  return reply
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
// RFC 7617 2: neither user name nor password may contain control characters.
const CREDENTIALS_PATTERN = /^([^:\p{Cc}]*):(\P{Cc}*)$/u

function parseBasicCredentials(text: string): BasicCredentials | null {
  if (text.length > MAX_CREDENTIALS_LENGTH || !BASE64.test(text)) return null
  try {
    const bytes = Buffer.from(text, 'base64')
    const decoded = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const [, username, password] = CREDENTIALS_PATTERN.exec(decoded) ?? []
    if (username === undefined || password === undefined) return null
    return { text, username, password }
  } catch {
    return null
  }
}

/** `busy`: too many checks are waiting. */
export type PasswordCheck = 'right' | 'wrong' | 'busy'

/** Cached pairs of a password and its hash, over all policies. */
export const MAX_REMEMBERED_PASSWORDS = 10_000
/** This bounds memory and not trust: a changed password has another hash, which is not in the cache. */
export const PASSWORD_MEMORY_MS = 600_000

export interface PasswordClock {
  now(): number
}

type SlowHashChecker = Pick<SlowHashChecks, 'limitReached' | 'check' | 'close'>

/**
 * Checks passwords against their hashes. A successful check of a slow hash is cached for a while, as an HMAC with a random
 * key that reveals neither the password nor the hash.
 */
export class PasswordChecker {
  readonly #refusals: RefusalCounter
  readonly #slow: SlowHashChecker
  readonly #clock: PasswordClock
  readonly #key = randomBytes(32)
  /** Expiry time of each successful check, by its HMAC. */
  readonly #verifiedUntil = new LRUMapWithDelete<string, number>(MAX_REMEMBERED_PASSWORDS)
  readonly #pending = new Map<string, Promise<PasswordCheck>>()

  constructor(
    refusals: RefusalCounter,
    slow: SlowHashChecker = new SlowHashChecks(),
    clock: PasswordClock = performance,
  ) {
    this.#refusals = refusals
    this.#slow = slow
    this.#clock = clock
  }

  /** Synchronous when the hash is a fast one or the result is cached. `address` is that of the client. */
  check(password: string, hash: string, address: string): PasswordCheck | Promise<PasswordCheck> {
    const kind = detectHashKind(hash)
    if (kind === 'plain')
      return equalsInConstantTime(password, plainPasswordOf(hash)) ? 'right' : 'wrong'
    if (kind === 'sha') return equalsInConstantTime(hashSha1(password), hash) ? 'right' : 'wrong'
    const id = createHmac('sha256', this.#key).update(`${hash}:${password}`).digest('base64')
    if (this.#isRemembered(id)) return 'right'
    const pending = this.#pending.get(id)
    if (pending !== undefined) return pending
    const client = addressKeyOf(address)
    const reached = this.#slow.limitReached(client)
    if (reached > 0) {
      this.#refusals.count('passwordChecks', reached)
      return 'busy'
    }
    const slow = this.#slow.check(password, hash, client)
    const check = this.#remember(slow, id).finally(() => this.#pending.delete(id))
    this.#pending.set(id, check)
    return check
  }

  close(): void {
    this.#slow.close()
  }

  async #remember(slow: Promise<boolean>, id: string): Promise<PasswordCheck> {
    if (!(await slow)) return 'wrong'
    this.#verifiedUntil.set(id, this.#clock.now() + PASSWORD_MEMORY_MS)
    return 'right'
  }

  #isRemembered(id: string): boolean {
    const until = this.#verifiedUntil.get(id)
    if (until === undefined) return false
    if (this.#clock.now() < until) return true
    this.#verifiedUntil.delete(id)
    return false
  }
}

/** Returns a hash without a password for unknown users: its check costs as much as that of the slowest given hash. */
export function createDecoyHash(hashes: readonly string[]): string {
  const cost = Math.max(
    0,
    ...hashes.filter((hash) => detectHashKind(hash) === 'bcrypt').map(bcryptCostOf),
  )
  if (cost > 0) return `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`
  const isSlow = hashes.some((hash) => detectHashKind(hash) === 'apr1')
  return isSlow ? `$apr1$decoy$${'.'.repeat(22)}` : `{SHA}${'A'.repeat(27)}=`
}

function hashSha1(password: string): string {
  return `{SHA}${createHash('sha1').update(password).digest('base64')}`
}

/** Running and waiting checks of all clients. */
export const MAX_PENDING_CHECKS = 128
/** Running and waiting checks of one client address: with bcrypt's usual cost they take one or two seconds. */
export const MAX_PENDING_CHECKS_PER_ADDRESS = 8

export interface PasswordHashJob {
  readonly password: string
  readonly hash: string
}

interface PendingHashCheck extends PasswordHashJob {
  readonly resolve: (isRight: boolean) => void
  readonly reject: (error: Error) => void
}

/**
 * Checks slow hashes in a worker thread, which starts with the first check. Client addresses take turns, so that a client
 * that guesses passwords delays each check of another one by a single check.
 */
export class SlowHashChecks {
  /** Waiting checks by client; the client whose turn is next comes first. The first check of all is running. */
  readonly #waiting = new Map<string, PendingHashCheck[]>()
  #count = 0
  #running: { readonly client: string; readonly check: PendingHashCheck } | null = null
  #worker: Worker | null = null

  /** The limit that a further check of this client would exceed; 0 if none. */
  limitReached(client: string): number {
    if (this.#count >= MAX_PENDING_CHECKS) return MAX_PENDING_CHECKS
    const running = this.#running?.client === client ? 1 : 0
    const own = (this.#waiting.get(client)?.length ?? 0) + running
    return own >= MAX_PENDING_CHECKS_PER_ADDRESS ? MAX_PENDING_CHECKS_PER_ADDRESS : 0
  }

  async check(password: string, hash: string, client: string): Promise<boolean> {
    // Started before the check is queued: a thread that fails to start must not leave an entry in the queue.
    this.#worker ??= this.#start()
    return new Promise<boolean>((resolve, reject) => {
      const check = { password, hash, resolve, reject }
      const own = this.#waiting.get(client)
      if (own === undefined) this.#waiting.set(client, [check])
      else own.push(check)
      this.#count++
      if (this.#running === null) this.#runNext()
    })
  }

  close(): void {
    void this.#worker?.terminate()
  }

  #runNext(): void {
    this.#running = null
    const [next] = this.#waiting
    if (next === undefined) return
    const [client, [check, ...others]] = next
    this.#waiting.delete(client)
    if (others.length > 0) this.#waiting.set(client, others)
    this.#running = { client, check: check! }
    const { password, hash } = check!
    this.#worker?.postMessage({ password, hash } satisfies PasswordHashJob)
  }

  #start(): Worker {
    const worker = new Worker(join(import.meta.dirname, 'hash-worker.js'))
    worker.unref()
    worker.on('message', (isRight: boolean) => {
      this.#running?.check.resolve(isRight)
      this.#count--
      this.#runNext()
    })
    let reason = new Error('the password check thread was terminated')
    worker.on('error', (error) => (reason = error))
    worker.on('exit', () => this.#failAll(reason))
    return worker
  }

  /** Rejects all checks; the next check starts a new thread. */
  #failAll(reason: Error): void {
    this.#worker = null
    const checks = [...this.#waiting.values()].flat()
    if (this.#running !== null) checks.push(this.#running.check)
    this.#waiting.clear()
    this.#running = null
    this.#count = 0
    for (const { reject } of checks) reject(reason)
  }
}
