// The registry of all rate limits by owner. It outlives configuration reloads: an unchanged limit keeps its counts.

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

/** Maximum number of keys in the status of one rule. */
export const MAX_KEYS_SHOWN = 20

/** Most recently used keys that are inspected when the status is read every second: of one limit, and in total. */
export const MAX_RECENT_KEYS = 1_024
const MAX_RECENT_KEYS_TOTAL = 16_384

const ID_LENGTH = 16

interface LimitEntry {
  readonly owner: string
  readonly rule: RateLimitRule
}

export class LimitRegistry {
  /** The client of the process that counts for all workers; null when there is one process, which counts itself. */
  readonly ownerClient: LimitOwnerClient | null
  readonly #now: MillisecondClock
  readonly #capacity: BucketCapacity
  readonly #entries = new Map<string, LimitEntry>()

  constructor(
    now: MillisecondClock = () => Math.floor(performance.now()),
    ownerClient: LimitOwnerClient | null = null,
    maxKeys = MAX_LIMIT_KEYS,
  ) {
    this.#now = now
    this.ownerClient = ownerClient
    this.#capacity = createBucketCapacity(maxKeys)
  }

  /** Returns the same rule for the same configuration in the same list; a changed limit starts with new buckets. */
  ruleFor(owner: string, config: LimitConfig, list = config.name): RateLimitRule {
    const { counts, amount, most, interval, key } = config
    const identity = JSON.stringify([owner, list, counts, amount, most, interval, key?.source])
    let entry = this.#entries.get(identity)
    if (entry === undefined) {
      const id = hash('sha256', identity, 'base64url').slice(0, ID_LENGTH)
      entry = { owner, rule: new RateLimitRule(id, config, this.#now, this.#capacity) }
      this.#entries.set(identity, entry)
    }
    return entry.rule
  }

  /**
   * Keeps the limits of the active plan, with the names that they have in it, and removes all others; charges of running
   * requests settle against their removed buckets.
   */
  retain(names: ReadonlyMap<RateLimitRule, string>): void {
    for (const [id, { rule }] of this.#entries) {
      const name = names.get(rule)
      if (name === undefined) this.#entries.delete(id)
      else rule.rename(name)
    }
    this.ownerClient?.retainRules(names)
  }

  /** Updates `status` from the process that counts; otherwise `status` shows what that process last reported. */
  async refreshStatus(): Promise<void> {
    await this.ownerClient?.refreshStatus({
      most: MAX_KEYS_SHOWN,
      among: this.#capacity.maxBuckets,
    })
  }

  /** Buckets are counted in the process that has them. */
  get counts(): BucketCounts {
    const rules = [...this.#entries.values()]
    if (this.ownerClient !== null) return { rules: rules.length, buckets: 0, evicted: 0 }
    const buckets = rules.reduce((sum, { rule }) => sum + 1 + (rule.keyed?.size ?? 0), 0)
    return { rules: rules.length, buckets, evicted: this.#capacity.evicted }
  }

  get decisions(): (readonly [MetricLabels, DecisionCounts])[] {
    return [...this.#entries.values()].map(({ owner, rule: { config, decisions } }) => {
      const { name, counts, most, interval, key } = config
      // These labels identify a limit of an owner: rules that are equal in all of them are one limit.
      const labels = { owner, limit: name, counts, most, interval: interval / 1000 }
      return [key === null ? labels : { ...labels, key: showKeyExpression(key) }, decisions]
    })
  }

  status(): LimitStatus[] {
    return [...this.#entries.values()].map((entry) =>
      this.#statusOf(entry, this.#capacity.maxBuckets),
    )
  }

  /** Yields the status of each limit with only recently used keys, for frequent reads. */
  *recentStatus(): Generator<LimitStatus> {
    this.#requestStatusUpdate()
    for (const entry of this.#entries.values()) yield this.#statusOf(entry, this.#recentKeys)
  }

  /** Yields the remaining amount of the tightest bucket of each limit. */
  *tightestRemaining(): Generator<{ readonly id: string; readonly remaining: number }> {
    this.#requestStatusUpdate()
    for (const { rule } of this.#entries.values()) {
      const { shared, tightest } = this.#readBuckets(rule, 1, this.#recentKeys)
      const { remaining } = shared
      yield { id: rule.id, remaining: Math.min(remaining, tightest[0]?.remaining ?? remaining) }
    }
  }

  /** Starts an update, which the next read will see. */
  #requestStatusUpdate(): void {
    void this.ownerClient?.refreshStatus({ most: MAX_KEYS_SHOWN, among: this.#recentKeys })
  }

  /** The number of recently used keys to inspect; at least as many as are shown. */
  get #recentKeys(): number {
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
      ...this.#readBuckets(rule, MAX_KEYS_SHOWN, among),
      decisions,
    }
  }

  #readBuckets(
    rule: RateLimitRule,
    maxKeys: number,
    among: number,
  ): Pick<LimitStatus, 'keys' | 'shared' | 'tightest'> {
    const now = this.#now()
    const { shared, keyed, config } = rule
    const reading = this.ownerClient?.lastStatusOf(rule)
    if (reading === undefined)
      return {
        keys: keyed?.size ?? 0,
        shared: shared.allowance(now),
        tightest: keyed?.tightest(maxKeys, now, among) ?? [],
      }
    const [remaining, reset] = reading.shared
    const { keys, tightest } = reading
    return { keys, shared: { limit: config.most, remaining, reset }, tightest }
  }
}

/** Redacts the key expression, because it may contain a credential. */
function showKeyExpression({ source }: Expression): string {
  return redactExpression(source, { headers: sensitiveHeaderNames([]) })
}
