// The limits of all workers, counted in one place: a worker asks before it lets a request pass, so that the limit is the same
// however many there are. What was counted outlives the worker that counted it.

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

/** Of one worker: requests whose tokens are not settled yet. One more cannot be asked about. */
const MAX_OPEN_CHARGES = 262_144

/** What one worker has. */
interface WorkerLimits {
  readonly limits: Map<number, string>
  /**
   * By the worker's number, each with one for every limit it met. Those of a worker that dies are never settled: what they
   * took stays taken until the window turns, as nobody knows what the requests have cost.
   */
  readonly charges: Map<number, readonly TokenCharge[]>
  /** It has said what is in force: only then can anything be forgotten. */
  state: 'new' | 'heard'
}

export class LimitOwner implements WorkerService {
  readonly #now: MillisecondClock
  readonly #room = createBucketCapacity()
  readonly #limits = new Map<string, LimitBuckets>()
  readonly #workers = new Map<string, WorkerLimits>()

  constructor(now: MillisecondClock = () => Math.floor(performance.now())) {
    this.#now = now
  }

  workerStarted(id: WorkerId, link: ProcessLink): void {
    const member: WorkerLimits = { limits: new Map(), charges: new Map(), state: 'new' }
    this.#workers.set(workerNameOf(id), member)
    link.on(ASK_LIMITS, (batch) => this.#answer(member, batch as LimitBatch))
    link.on(READ_LIMITS, (look) => this.#readStatus(member, look as LimitReadRequest))
  }

  workerGone(id: WorkerId): void {
    this.#workers.delete(workerNameOf(id))
    this.#forget()
  }

  /** config.rateLimit.maxKeys; a restart of the workers may bring another. */
  set maxKeys(most: number) {
    this.#room.maxBuckets = most
  }

  get counts(): BucketCounts {
    const all = [...this.#limits.values()]
    const buckets = all.reduce((sum, { keyed }) => sum + 1 + (keyed?.size ?? 0), 0)
    return { rules: all.length, buckets, evicted: this.#room.evicted }
  }

  #answer(member: WorkerLimits, { named, steps }: LimitBatch): LimitAnswer[] {
    for (const limit of named) this.#registerRule(member, limit)
    const answers: LimitAnswer[] = []
    for (const step of steps) {
      const answer = this.#step(member, step)
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
    this.#limits.set(id, new LimitBuckets(terms, buckets, this.#room))
  }

  #step(member: WorkerLimits, step: LimitOperation): LimitAnswer | undefined {
    switch (step.do) {
      case 'take':
        return this.#take(member, step.at)
      case 'admit':
        return this.#admit(member, step)
      case 'raise':
        for (const charge of member.charges.get(step.charge) ?? []) charge.raise(step.tokens)
        return undefined
      case 'settle':
        for (const charge of member.charges.get(step.charge) ?? [])
          charge.settle({ input: step.input, output: step.output, basis: 'counted' })
        member.charges.delete(step.charge)
        return undefined
      case 'keep':
        this.#retainRules(member, new Set(step.limits))
        return undefined
    }
  }

  /** As `createLocalRateLimitPolicy` does for one process: what earlier limits took stays taken. */
  #take(member: WorkerLimits, at: readonly BucketRef[]): LimitAnswer {
    const left: RemainingQuota[] = []
    for (const place of at) {
      const now = this.#now()
      const bucket = this.#bucketOf(member, place, now)
      if (bucket === null) return null
      const isTaken = bucket.take(now)
      left.push(remainingOf(bucket, now))
      if (!isTaken) return { decision: 'deny', left }
    }
    return { decision: 'allow', left }
  }

  /** As `createTokenMeter` does for one process: all are asked before any is charged. */
  #admit(
    member: WorkerLimits,
    { at, charge, tokens }: LimitOperation & { do: 'admit' },
  ): LimitAnswer {
    if (member.charges.size >= MAX_OPEN_CHARGES) return null
    const now = this.#now()
    const met: Bucket[] = []
    for (const place of at) {
      const bucket = this.#bucketOf(member, place, now)
      if (bucket === null) return null
      met.push(bucket)
    }
    const decision = met.every((bucket) => bucket.isOpen(now)) ? 'allow' : 'deny'
    if (decision === 'allow') {
      const charges = met.map((bucket) => new TokenCharge(bucket, this.#now))
      for (const one of charges) one.raise(tokens)
      member.charges.set(charge, charges)
    }
    return { decision, left: met.map((bucket) => remainingOf(bucket, now)) }
  }

  #bucketOf({ limits }: WorkerLimits, [number, key]: BucketRef, now: number): Bucket | null {
    const id = limits.get(number)
    return (id === undefined ? undefined : this.#limits.get(id))?.bucketFor(key, now) ?? null
  }

  #retainRules(member: WorkerLimits, limits: ReadonlySet<number>): void {
    member.state = 'heard'
    for (const number of member.limits.keys()) if (!limits.has(number)) member.limits.delete(number)
    this.#forget()
  }

  /** What no worker has, unless one is about to say what it has: all may have died at once. */
  #forget(): void {
    const members = [...this.#workers.values()]
    if (members.every(({ state }) => state === 'new')) return
    const wanted = new Set(members.flatMap(({ limits }) => [...limits.values()]))
    for (const id of this.#limits.keys()) if (!wanted.has(id)) this.#limits.delete(id)
  }

  #readStatus(member: WorkerLimits, { most, among }: LimitReadRequest): LimitReading[] {
    const now = this.#now()
    const seen: LimitReading[] = []
    for (const [number, id] of member.limits) {
      const limit = this.#limits.get(id)
      if (limit === undefined) continue
      const { shared, keyed } = limit
      const tightest = keyed?.tightest(most, now, among) ?? []
      seen.push({ number, keys: keyed?.size ?? 0, shared: remainingOf(shared, now), tightest })
    }
    return seen
  }
}

function remainingOf(bucket: Bucket, now: number): RemainingQuota {
  const { remaining, reset } = bucket.allowance(now)
  return [remaining, reset]
}
