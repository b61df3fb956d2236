// Counts the rate limits of all workers in the supervisor: a worker asks before it admits a request, so a limit does not
// depend on the number of workers. Counts stay when a worker ends.

import { ASK_LIMITS, READ_LIMITS } from '../enforce/limit/limit-messages.ts'
import type {
  LimitAnswer,
  LimitBatch,
  RemainingQuota,
  LimitReadRequest,
  LimitDeclaration,
  BucketRef,
  LimitReading,
  LimitOperation,
} from '../enforce/limit/limit-messages.ts'
import type { Bucket } from '../enforce/limit/bucket.ts'
import { createBucketCapacity } from '../enforce/limit/keyed-buckets.ts'
import { LimitBuckets } from '../enforce/limit/limit-rule.ts'
import type { MillisecondClock } from '../enforce/limit/limit-rule.ts'
import { TokenCharge } from '../enforce/limit/token-charge.ts'
import type { ProcessLink } from '../core/process-link.ts'
import { workerNameOf } from '../core/session-owner.ts'
import type { WorkerService } from './supervisor.ts'
import type { WorkerId } from './worker-messages.ts'
import type { BucketCounts } from '../core/runtime-views.ts'

/** Requests of one worker whose tokens are not settled yet; the owner does not decide about more. */
const MAX_OPEN_CHARGES = 262_144

interface WorkerLimits {
  readonly limits: Map<number, string>
  /**
   * By the worker's charge number, one charge per limit. Charges of a worker that dies are never settled: what they took
   * stays taken until the window ends, because the cost of those requests is unknown.
   */
  readonly charges: Map<number, readonly TokenCharge[]>
  /** `declared`: the worker has named its limits; only then may unused limits be deleted. */
  state: 'new' | 'declared'
}

export class LimitOwner implements WorkerService {
  readonly #now: MillisecondClock
  readonly #capacity = createBucketCapacity()
  readonly #limits = new Map<string, LimitBuckets>()
  readonly #workers = new Map<string, WorkerLimits>()

  constructor(now: MillisecondClock = () => Math.floor(performance.now())) {
    this.#now = now
  }

  workerStarted(id: WorkerId, link: ProcessLink): void {
    const member: WorkerLimits = { limits: new Map(), charges: new Map(), state: 'new' }
    this.#workers.set(workerNameOf(id), member)
    link.on(ASK_LIMITS, (batch) => this.#answer(member, batch as LimitBatch))
    link.on(READ_LIMITS, (request) => this.#readStatus(member, request as LimitReadRequest))
  }

  workerGone(id: WorkerId): void {
    this.#workers.delete(workerNameOf(id))
    this.#deleteUnusedLimits()
  }

  /** config.rateLimit.maxKeys; a restart of the workers may change it. */
  set maxKeys(max: number) {
    this.#capacity.maxBuckets = max
  }

  get counts(): BucketCounts {
    const all = [...this.#limits.values()]
    const buckets = all.reduce((sum, { keyed }) => sum + 1 + (keyed?.size ?? 0), 0)
    return { rules: all.length, buckets, evicted: this.#capacity.evicted }
  }

  #answer(member: WorkerLimits, { named, steps }: LimitBatch): LimitAnswer[] {
    for (const limit of named) this.#registerRule(member, limit)
    const answers: LimitAnswer[] = []
    for (const step of steps) {
      const answer = this.#apply(member, step)
      if (answer !== undefined) answers.push(answer)
    }
    return answers
  }

  #registerRule(
    member: WorkerLimits,
    { number, id, most, amount, interval, buckets }: LimitDeclaration,
  ): void {
    member.limits.set(number, id)
    if (this.#limits.has(id)) return
    const terms = { maxLevel: most, amount, interval, anchor: this.#now() }
    this.#limits.set(id, new LimitBuckets(terms, buckets, this.#capacity))
  }

  #apply(member: WorkerLimits, step: LimitOperation): LimitAnswer | undefined {
    switch (step.do) {
      case 'take':
        return this.#take(member, step.at)
      case 'admit':
        return this.#admit(member, step)
      case 'raise':
        for (const charge of member.charges.get(step.charge) ?? []) charge.raise(step.estimate)
        return undefined
      case 'settle':
        for (const charge of member.charges.get(step.charge) ?? []) charge.settle(step.cost)
        member.charges.delete(step.charge)
        return undefined
      case 'keep':
        this.#retainRules(member, new Set(step.limits))
        return undefined
    }
  }

  /** Like `createLocalRateLimitPolicy` in one process: what earlier limits took stays taken when a later one denies. */
  #take(member: WorkerLimits, at: readonly BucketRef[]): LimitAnswer {
    const left: RemainingQuota[] = []
    for (const [number, key] of at) {
      const now = this.#now()
      const bucket = this.#limitOf(member, number)?.bucketFor(key, now) ?? null
      if (bucket === null) return null
      const isTaken = bucket.take(now)
      left.push(remainingOf(bucket, now))
      if (!isTaken) return { decision: 'deny', left }
    }
    return { decision: 'allow', left }
  }

  /** Like `createTokenLimitPolicy` in one process: every limit is checked before any is charged. */
  #admit(
    member: WorkerLimits,
    { at, charge, estimate }: LimitOperation & { do: 'admit' },
  ): LimitAnswer {
    if (member.charges.size >= MAX_OPEN_CHARGES) return null
    const now = this.#now()
    const found: [LimitBuckets, Bucket][] = []
    for (const [number, key] of at) {
      const limit = this.#limitOf(member, number)
      if (limit === null) return null
      found.push([limit, limit.bucketFor(key, now)])
    }
    const decision = found.every(([, bucket]) => bucket.isOpen(now)) ? 'allow' : 'deny'
    if (decision === 'allow') {
      const charges = found.map(([{ costs }, one]) => new TokenCharge(costs, one, this.#now))
      for (const one of charges) one.raise(estimate)
      member.charges.set(charge, charges)
    }
    return { decision, left: found.map(([, bucket]) => remainingOf(bucket, now)) }
  }

  #limitOf({ limits }: WorkerLimits, number: number): LimitBuckets | null {
    const id = limits.get(number)
    return (id === undefined ? undefined : this.#limits.get(id)) ?? null
  }

  #retainRules(member: WorkerLimits, limits: ReadonlySet<number>): void {
    member.state = 'declared'
    for (const number of member.limits.keys()) if (!limits.has(number)) member.limits.delete(number)
    this.#deleteUnusedLimits()
  }

  /** Deletes limits that no worker has, except while all workers are new: they may all have died at once. */
  #deleteUnusedLimits(): void {
    const members = [...this.#workers.values()]
    if (members.every(({ state }) => state === 'new')) return
    const wanted = new Set(members.flatMap(({ limits }) => [...limits.values()]))
    for (const id of this.#limits.keys()) if (!wanted.has(id)) this.#limits.delete(id)
  }

  #readStatus(member: WorkerLimits, { most, among }: LimitReadRequest): LimitReading[] {
    const now = this.#now()
    const readings: LimitReading[] = []
    for (const [number, id] of member.limits) {
      const limit = this.#limits.get(id)
      if (limit === undefined) continue
      const { shared, keyed } = limit
      const tightest = keyed?.tightest(most, now, among) ?? []
      readings.push({ number, keys: keyed?.size ?? 0, shared: remainingOf(shared, now), tightest })
    }
    return readings
  }
}

function remainingOf(bucket: Bucket, now: number): RemainingQuota {
  const { remaining, reset } = bucket.allowance(now)
  return [remaining, reset]
}
