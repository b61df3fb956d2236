// Every live limit, by who has it. It lives beside the plans: a limit that a reload leaves as it was keeps its counts.

import { hash } from 'node:crypto'
import { MAX_KEYS } from '../base/bounds/limits.ts'
import type { Expression } from '../base/cel/compile.ts'
import type { LimitConfig } from '../base/config/limit-types.ts'
import { shownExpression } from '../base/config/show-expression.ts'
import type { Decisions } from '../base/limit/decisions.ts'
import { keyRoom } from '../base/limit/keyed-buckets.ts'
import type { KeyRoom } from '../base/limit/keyed-buckets.ts'
import { Rule } from '../base/limit/rule.ts'
import type { Clock } from '../base/limit/rule.ts'
import type { LimitStatus } from '../base/limit/status.ts'
import type { Labels } from '../base/live/metrics.ts'
import { sensitiveNames } from '../base/redact/names.ts'
import type { LimitAsker } from './limit-asker.ts'
import type { BucketCounts } from '../base/live/views.ts'

/** Keys of one rule that its status names. */
export const MAX_KEYS_SHOWN = 20

/** Of those used last, where limits are looked at every second: of one, and of all together. */
export const KEYS_GLANCED_AT = 1_024
const KEYS_IN_ALL = 16_384

const ID_LETTERS = 16

interface Entry {
  readonly owner: string
  readonly rule: Rule
}

export class Limits {
  /** Who counts for all workers; null where there is one, and the buckets of rules are here. */
  readonly asker: LimitAsker | null
  readonly #now: Clock
  readonly #room: KeyRoom
  readonly #entries = new Map<string, Entry>()

  constructor(
    now: Clock = () => Math.floor(performance.now()),
    asker: LimitAsker | null = null,
    maxKeys = MAX_KEYS,
  ) {
    this.#now = now
    this.asker = asker
    this.#room = keyRoom(maxKeys)
  }

  /** One and the same for the same words; a limit that was changed starts anew. */
  of(owner: string, config: LimitConfig): Rule {
    const { name, counts, amount, most, interval, key } = config
    const whole = JSON.stringify([owner, name, counts, amount, most, interval, key?.source])
    let entry = this.#entries.get(whole)
    if (entry === undefined) {
      const id = hash('sha256', whole, 'base64url').slice(0, ID_LETTERS)
      entry = { owner, rule: new Rule(id, config, this.#now, this.#room) }
      this.#entries.set(whole, entry)
    }
    return entry.rule
  }

  /** Forgets every limit but these; charges of requests under way settle with buckets that nobody asks. */
  retain(rules: ReadonlySet<Rule>): void {
    for (const [id, { rule }] of this.#entries) if (!rules.has(rule)) this.#entries.delete(id)
    this.asker?.keep(rules)
  }

  /** Has `status` tell what is left now: where somebody else counts, it is what that one said last. */
  async look(): Promise<void> {
    await this.asker?.look({ most: MAX_KEYS_SHOWN, among: this.#room.most })
  }

  /** Buckets are counted where they are. */
  get counts(): BucketCounts {
    const rules = [...this.#entries.values()]
    if (this.asker !== null) return { rules: rules.length, buckets: 0, forgotten: 0 }
    const buckets = rules.reduce((sum, { rule }) => sum + 1 + (rule.keyed?.size ?? 0), 0)
    return { rules: rules.length, buckets, forgotten: this.#room.forgotten }
  }

  get decisions(): (readonly [Labels, Decisions])[] {
    return [...this.#entries.values()].map(({ owner, rule: { config, decisions } }) => {
      const { name, counts, most, interval, key } = config
      // Together these tell apart whatever an owner has: what is alike in all of them is one limit.
      const labels = { owner, limit: name, counts, most, interval: interval / 1000 }
      return [key === null ? labels : { ...labels, key: shownKey(key) }, decisions]
    })
  }

  status(): LimitStatus[] {
    return [...this.#entries.values()].map((entry) => this.#statusOf(entry, this.#room.most))
  }

  /** One after the other, and of each only keys that were used lately: for those who look often. */
  *glance(): Generator<LimitStatus> {
    this.#lookAgain()
    for (const entry of this.#entries.values()) yield this.#statusOf(entry, this.#among)
  }

  /** What is left of the tightest bucket of each. */
  *tightest(): Generator<{ readonly id: string; readonly remaining: number }> {
    this.#lookAgain()
    for (const { rule } of this.#entries.values()) {
      const { shared, tightest } = this.#seen(rule, 1, this.#among)
      const { remaining } = shared
      yield { id: rule.id, remaining: Math.min(remaining, tightest[0]?.remaining ?? remaining) }
    }
  }

  /** For the next time. */
  #lookAgain(): void {
    void this.asker?.look({ most: MAX_KEYS_SHOWN, among: this.#among })
  }

  /** At least as many as are shown. */
  get #among(): number {
    const share = Math.floor(KEYS_IN_ALL / Math.max(1, this.#entries.size))
    return Math.max(MAX_KEYS_SHOWN, Math.min(KEYS_GLANCED_AT, share))
  }

  #statusOf({ owner, rule }: Entry, among: number): LimitStatus {
    const { id, config, decisions } = rule
    return {
      id,
      name: config.name,
      owner,
      counts: config.counts,
      amount: config.amount,
      limit: config.most,
      interval: config.interval,
      key: config.key,
      ...this.#seen(rule, MAX_KEYS_SHOWN, among),
      decisions,
    }
  }

  #seen(
    rule: Rule,
    most: number,
    among: number,
  ): Pick<LimitStatus, 'keys' | 'shared' | 'tightest'> {
    const now = this.#now()
    const { shared, keyed, config } = rule
    const told = this.asker?.seen(rule)
    if (told === undefined)
      return {
        keys: keyed?.size ?? 0,
        shared: shared.allowance(now),
        tightest: keyed?.tightest(most, now, among) ?? [],
      }
    const [remaining, reset] = told.shared
    const { keys, tightest } = told
    return { keys, shared: { limit: config.most, remaining, reset }, tightest }
  }
}

/** A key may compare with a credential. */
function shownKey({ source }: Expression): string {
  return shownExpression(source, { headers: sensitiveNames([]) })
}
