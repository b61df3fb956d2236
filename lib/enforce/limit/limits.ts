// Every live limit, by who has it. It lives beside the plans: a limit that a reload leaves as it was keeps its counts.

import { hash } from 'node:crypto'
import { MAX_LIMIT_KEYS } from '../../core/bounds.ts'
import type { Expression } from '../../expressions/compile.ts'
import type { LimitConfig } from '../../config/policy-types.ts'
import { redactExpression } from '../../config/show.ts'
import type { DecisionCounts, LimitStatus } from '../../config/limit-status.ts'
import { createBucketCapacity } from './keyed-buckets.ts'
import type { BucketCapacity } from './keyed-buckets.ts'
import { RateLimitRule } from './limit-rule.ts'
import type { MillisecondClock } from './limit-rule.ts'
import type { MetricLabels } from '../../core/metric-families.ts'
import { sensitiveHeaderNames } from '../../text/redaction.ts'
import type { LimitOwnerClient } from './limit-owner-client.ts'
import type { BucketCounts } from '../../core/runtime-views.ts'

/** Keys of one rule that its status names. */
export const MAX_KEYS_SHOWN = 20

/** Of those used last, where limits are looked at every second: of one, and of all together. */
export const MAX_RECENT_KEYS = 1_024
const MAX_RECENT_KEYS_TOTAL = 16_384

const ID_LETTERS = 16

interface LimitEntry {
  readonly owner: string
  readonly rule: RateLimitRule
}

export class LimitRegistry {
  /** Who counts for all workers; null where there is one, and the buckets of rules are here. */
  readonly ownerClient: LimitOwnerClient | null
  readonly #now: MillisecondClock
  readonly #room: BucketCapacity
  readonly #entries = new Map<string, LimitEntry>()

  constructor(
    now: MillisecondClock = () => Math.floor(performance.now()),
    asker: LimitOwnerClient | null = null,
    maxKeys = MAX_LIMIT_KEYS,
  ) {
    this.#now = now
    this.ownerClient = asker
    this.#room = createBucketCapacity(maxKeys)
  }

  /** One and the same for the same words; a limit that was changed starts anew. */
  ruleFor(owner: string, config: LimitConfig): RateLimitRule {
    const { name, counts, amount, most, interval, key } = config
    const whole = JSON.stringify([owner, name, counts, amount, most, interval, key?.source])
    let entry = this.#entries.get(whole)
    if (entry === undefined) {
      const id = hash('sha256', whole, 'base64url').slice(0, ID_LETTERS)
      entry = { owner, rule: new RateLimitRule(id, config, this.#now, this.#room) }
      this.#entries.set(whole, entry)
    }
    return entry.rule
  }

  /** Forgets every limit but these; charges of requests under way settle with buckets that nobody asks. */
  retain(rules: ReadonlySet<RateLimitRule>): void {
    for (const [id, { rule }] of this.#entries) if (!rules.has(rule)) this.#entries.delete(id)
    this.ownerClient?.retainRules(rules)
  }

  /** Has `status` tell what is left now: where somebody else counts, it is what that one said last. */
  async refreshStatus(): Promise<void> {
    await this.ownerClient?.refreshStatus({ most: MAX_KEYS_SHOWN, among: this.#room.maxBuckets })
  }

  /** Buckets are counted where they are. */
  get counts(): BucketCounts {
    const rules = [...this.#entries.values()]
    if (this.ownerClient !== null) return { rules: rules.length, buckets: 0, evicted: 0 }
    const buckets = rules.reduce((sum, { rule }) => sum + 1 + (rule.keyed?.size ?? 0), 0)
    return { rules: rules.length, buckets, evicted: this.#room.evicted }
  }

  get decisions(): (readonly [MetricLabels, DecisionCounts])[] {
    return [...this.#entries.values()].map(({ owner, rule: { config, decisions } }) => {
      const { name, counts, most, interval, key } = config
      // Together these tell apart whatever an owner has: what is alike in all of them is one limit.
      const labels = { owner, limit: name, counts, most, interval: interval / 1000 }
      return [key === null ? labels : { ...labels, key: showKeyExpression(key) }, decisions]
    })
  }

  status(): LimitStatus[] {
    return [...this.#entries.values()].map((entry) => this.#statusOf(entry, this.#room.maxBuckets))
  }

  /** One after the other, and of each only keys that were used lately: for those who look often. */
  *recentStatus(): Generator<LimitStatus> {
    this.#requestStatusUpdate()
    for (const entry of this.#entries.values()) yield this.#statusOf(entry, this.#among)
  }

  /** What is left of the tightest bucket of each. */
  *tightestRemaining(): Generator<{ readonly id: string; readonly remaining: number }> {
    this.#requestStatusUpdate()
    for (const { rule } of this.#entries.values()) {
      const { shared, tightest } = this.#seen(rule, 1, this.#among)
      const { remaining } = shared
      yield { id: rule.id, remaining: Math.min(remaining, tightest[0]?.remaining ?? remaining) }
    }
  }

  /** For the next time. */
  #requestStatusUpdate(): void {
    void this.ownerClient?.refreshStatus({ most: MAX_KEYS_SHOWN, among: this.#among })
  }

  /** At least as many as are shown. */
  get #among(): number {
    const share = Math.floor(MAX_RECENT_KEYS_TOTAL / Math.max(1, this.#entries.size))
    return Math.max(MAX_KEYS_SHOWN, Math.min(MAX_RECENT_KEYS, share))
  }

  #statusOf({ owner, rule }: LimitEntry, among: number): LimitStatus {
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
    rule: RateLimitRule,
    most: number,
    among: number,
  ): Pick<LimitStatus, 'keys' | 'shared' | 'tightest'> {
    const now = this.#now()
    const { shared, keyed, config } = rule
    const told = this.ownerClient?.lastStatusOf(rule)
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
function showKeyExpression({ source }: Expression): string {
  return redactExpression(source, { headers: sensitiveHeaderNames([]) })
}
