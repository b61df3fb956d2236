// Passwords against their hashes. A slow hash is paid for once: what was right is remembered for a while, and only as a
// keyed hash that says nothing to whoever reads it.

import { createHash, createHmac, randomBytes } from 'node:crypto'
import { LRUMapWithDelete } from 'mnemonist'
import type { Refusals } from '../../base/bounds/refusals.ts'
import { costOf, hashKindOf, plainOf } from '../../base/password-hash.ts'
import { isSame } from './is-same.ts'
import { MAX_PENDING_CHECKS, SlowChecks } from './slow-checks.ts'

/** `busy`: too many wait already. */
export type PasswordCheck = 'right' | 'wrong' | 'busy'

/** Pairs of a password and its hash, over all policies. */
export const MAX_REMEMBERED = 10_000
/** A password that is changed has another hash, so this bounds memory rather than trust. */
export const REMEMBERED_MS = 600_000

export interface Clock {
  now(): number
}

type Slow = Pick<SlowChecks, 'isFull' | 'check' | 'close'>

export class Passwords {
  readonly #refusals: Refusals
  readonly #slow: Slow
  readonly #clock: Clock
  readonly #key = randomBytes(32)
  /** Until when each is remembered. */
  readonly #right = new LRUMapWithDelete<string, number>(MAX_REMEMBERED)
  readonly #pending = new Map<string, Promise<PasswordCheck>>()

  constructor(refusals: Refusals, slow: Slow = new SlowChecks(), clock: Clock = performance) {
    this.#refusals = refusals
    this.#slow = slow
    this.#clock = clock
  }

  /** At once where the hash is a fast one, or was right before. */
  check(password: string, hash: string): PasswordCheck | Promise<PasswordCheck> {
    const kind = hashKindOf(hash)
    if (kind === 'plain') return isSame(password, plainOf(hash)) ? 'right' : 'wrong'
    if (kind === 'sha') return isSame(shaOf(password), hash) ? 'right' : 'wrong'
    const id = createHmac('sha256', this.#key).update(`${hash}:${password}`).digest('base64')
    if (this.#recalls(id)) return 'right'
    const pending = this.#pending.get(id)
    if (pending !== undefined) return pending
    if (this.#slow.isFull) {
      this.#refusals.count('passwordChecks', MAX_PENDING_CHECKS)
      return 'busy'
    }
    const check = this.#checkSlowly(password, hash, id).finally(() => this.#pending.delete(id))
    this.#pending.set(id, check)
    return check
  }

  close(): void {
    this.#slow.close()
  }

  async #checkSlowly(password: string, hash: string, id: string): Promise<PasswordCheck> {
    if (!(await this.#slow.check(password, hash))) return 'wrong'
    this.#right.set(id, this.#clock.now() + REMEMBERED_MS)
    return 'right'
  }

  #recalls(id: string): boolean {
    const until = this.#right.get(id)
    if (until === undefined) return false
    if (this.#clock.now() < until) return true
    this.#right.delete(id)
    return false
  }
}

/** What nobody has the password of, and costs as much as the costliest of these: for users that do not exist. */
export function decoyOf(hashes: readonly string[]): string {
  const cost = Math.max(0, ...hashes.filter((one) => hashKindOf(one) === 'bcrypt').map(costOf))
  if (cost > 0) return `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`
  const isSlow = hashes.some((one) => hashKindOf(one) === 'apr1')
  return isSlow ? `$apr1$decoy$${'.'.repeat(22)}` : `{SHA}${'A'.repeat(27)}=`
}

function shaOf(password: string): string {
  return `{SHA}${createHash('sha1').update(password).digest('base64')}`
}
