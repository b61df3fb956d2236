// Every live limit, by who has it. It lives beside the plans: a limit that a reload leaves as it was keeps its counts.

import { hash } from 'node:crypto'
import type { LimitConfig } from '../base/config/limit-types.ts'
import { MAX_KEYED_BUCKETS } from '../base/limit/keyed-buckets.ts'
import { Rule } from '../base/limit/rule.ts'
import type { Clock } from '../base/limit/rule.ts'
import type { Decisions } from '../base/limit/decisions.ts'
import type { LimitStatus } from '../base/limit/status.ts'
import type { Labels } from '../base/metrics.ts'

/** Keys of one rule that its status names. */
export const MAX_KEYS_SHOWN = 20

/** Of those used last, where limits are looked at every second: of one, and of all together. */
export const KEYS_GLANCED_AT = 1_024
const KEYS_IN_ALL = 16_384

const ID_LETTERS = 16

interface Entry {
  readonly id: string
  readonly owner: string
  readonly rule: Rule
}

export class Limits {
  readonly #now: Clock
  readonly #entries = new Map<string, Entry>()

  constructor(now: Clock = () => Math.floor(performance.now())) {
    this.#now = now
  }

  /** One and the same for the same words; a limit that was changed starts anew. */
  of(owner: string, config: LimitConfig): Rule {
    const { name, counts, amount, most, interval, key } = config
    const whole = JSON.stringify([owner, name, counts, amount, most, interval, key?.source])
    let entry = this.#entries.get(whole)
    if (entry === undefined) {
      const id = hash('sha256', whole, 'base64url').slice(0, ID_LETTERS)
      entry = { id, owner, rule: new Rule(config, this.#now) }
      this.#entries.set(whole, entry)
    }
    return entry.rule
  }

  /** Forgets every limit but these; charges of requests under way settle with buckets that nobody asks. */
  retain(rules: ReadonlySet<Rule>): void {
    for (const [id, { rule }] of this.#entries) if (!rules.has(rule)) this.#entries.delete(id)
  }

  get counts(): { readonly rules: number; readonly buckets: number } {
    const rules = [...this.#entries.values()]
    const buckets = rules.reduce((sum, { rule }) => sum + 1 + (rule.keyed?.size ?? 0), 0)
    return { rules: rules.length, buckets }
  }

  get decisions(): (readonly [Labels, Decisions])[] {
    return [...this.#entries.values()].map(({ owner, rule: { config, decisions } }) => {
      const { name, counts, most, interval, key } = config
      // Together these tell apart whatever an owner has: what is alike in all of them is one limit.
      const labels = { owner, limit: name, counts, most, interval: interval / 1000 }
      return [key === null ? labels : { ...labels, key: key.source }, decisions]
    })
  }

  status(): LimitStatus[] {
    return [...this.#entries.values()].map((entry) => this.#statusOf(entry, MAX_KEYED_BUCKETS))
  }

  /** One after the other, and of each only keys that were used lately: for those who look often. */
  *glance(): Generator<LimitStatus> {
    for (const entry of this.#entries.values()) yield this.#statusOf(entry, this.#among)
  }

  /** What is left of the tightest bucket of each. */
  *tightest(): Generator<{ readonly id: string; readonly remaining: number }> {
    const now = this.#now()
    for (const { id, rule } of this.#entries.values()) {
      const [first] = rule.keyed?.tightest(1, now, this.#among) ?? []
      const remaining = rule.shared.remaining(now)
      yield { id, remaining: Math.min(remaining, first?.remaining ?? remaining) }
    }
  }

  /** At least as many as are shown. */
  get #among(): number {
    const share = Math.floor(KEYS_IN_ALL / Math.max(1, this.#entries.size))
    return Math.max(MAX_KEYS_SHOWN, Math.min(KEYS_GLANCED_AT, share))
  }

  #statusOf({ id, owner, rule }: Entry, among: number): LimitStatus {
    const now = this.#now()
    const { config, shared, keyed, decisions } = rule
    return {
      id,
      name: config.name,
      owner,
      counts: config.counts,
      amount: config.amount,
      limit: config.most,
      interval: config.interval,
      key: config.key,
      keys: keyed?.size ?? 0,
      shared: shared.allowance(now),
      tightest: keyed?.tightest(MAX_KEYS_SHOWN, now, among) ?? [],
      decisions,
    }
  }
}
