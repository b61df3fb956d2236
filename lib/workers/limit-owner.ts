// The limits of all workers, counted in one place: a worker asks before it lets a request pass, so that the limit is the same
// however many there are. What was counted outlives the worker that counted it.

import { ASK_LIMITS, LOOK_AT_LIMITS } from '../base/limit/asking.ts'
import type { Answer, Batch, Left, Look, Named, Place, Seen, Step } from '../base/limit/asking.ts'
import type { Bucket } from '../base/limit/bucket.ts'
import { keyRoom } from '../base/limit/keyed-buckets.ts'
import { RuleBuckets } from '../base/limit/rule-buckets.ts'
import type { Clock } from '../base/limit/rule.ts'
import { TokenCharge } from '../base/limit/token-charge.ts'
import type { Link } from '../base/processes/link.ts'
import { workerName } from '../base/processes/session-mark.ts'
import type { WorkerService } from './supervisor.ts'
import type { WorkerId } from './types.ts'
import type { BucketCounts } from '../base/live/views.ts'

/** Of one worker: requests whose tokens are not settled yet. One more cannot be asked about. */
const MAX_OPEN_CHARGES = 262_144

/** What one worker has. */
interface Member {
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
  readonly #now: Clock
  readonly #room = keyRoom()
  readonly #limits = new Map<string, RuleBuckets>()
  readonly #members = new Map<string, Member>()

  constructor(now: Clock = () => Math.floor(performance.now())) {
    this.#now = now
  }

  born(id: WorkerId, link: Link): void {
    const member: Member = { limits: new Map(), charges: new Map(), state: 'new' }
    this.#members.set(workerName(id), member)
    link.on(ASK_LIMITS, (batch) => this.#answer(member, batch as Batch))
    link.on(LOOK_AT_LIMITS, (look) => this.#look(member, look as Look))
  }

  gone(id: WorkerId): void {
    this.#members.delete(workerName(id))
    this.#forget()
  }

  /** config.rateLimit.maxKeys; a restart of the workers may bring another. */
  set maxKeys(most: number) {
    this.#room.most = most
  }

  get counts(): BucketCounts {
    const all = [...this.#limits.values()]
    const buckets = all.reduce((sum, { keyed }) => sum + 1 + (keyed?.size ?? 0), 0)
    return { rules: all.length, buckets, forgotten: this.#room.forgotten }
  }

  #answer(member: Member, { named, steps }: Batch): Answer[] {
    for (const limit of named) this.#name(member, limit)
    const answers: Answer[] = []
    for (const step of steps) {
      const answer = this.#step(member, step)
      if (answer !== undefined) answers.push(answer)
    }
    return answers
  }

  #name(member: Member, { number, id, most, amount, interval, buckets }: Named): void {
    member.limits.set(number, id)
    if (this.#limits.has(id)) return
    const terms = { most, amount, interval, anchor: this.#now() }
    this.#limits.set(id, new RuleBuckets(terms, buckets, this.#room))
  }

  #step(member: Member, step: Step): Answer | undefined {
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
        this.#keep(member, new Set(step.limits))
        return undefined
    }
  }

  /** As `localLimit` does for one process: what earlier limits took stays taken. */
  #take(member: Member, at: readonly Place[]): Answer {
    const left: Left[] = []
    for (const place of at) {
      const now = this.#now()
      const bucket = this.#bucketOf(member, place, now)
      if (bucket === null) return null
      const isTaken = bucket.take(now)
      left.push(leftOf(bucket, now))
      if (!isTaken) return { decision: 'deny', left }
    }
    return { decision: 'allow', left }
  }

  /** As `tokenLimits` does for one process: all are asked before any is charged. */
  #admit(member: Member, { at, charge, tokens }: Step & { do: 'admit' }): Answer {
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
    return { decision, left: met.map((bucket) => leftOf(bucket, now)) }
  }

  #bucketOf({ limits }: Member, [number, key]: Place, now: number): Bucket | null {
    const id = limits.get(number)
    return (id === undefined ? undefined : this.#limits.get(id))?.of(key, now) ?? null
  }

  #keep(member: Member, limits: ReadonlySet<number>): void {
    member.state = 'heard'
    for (const number of member.limits.keys()) if (!limits.has(number)) member.limits.delete(number)
    this.#forget()
  }

  /** What no worker has, unless one is about to say what it has: all may have died at once. */
  #forget(): void {
    const members = [...this.#members.values()]
    if (members.every(({ state }) => state === 'new')) return
    const wanted = new Set(members.flatMap(({ limits }) => [...limits.values()]))
    for (const id of this.#limits.keys()) if (!wanted.has(id)) this.#limits.delete(id)
  }

  #look(member: Member, { most, among }: Look): Seen[] {
    const now = this.#now()
    const seen: Seen[] = []
    for (const [number, id] of member.limits) {
      const limit = this.#limits.get(id)
      if (limit === undefined) continue
      const { shared, keyed } = limit
      const tightest = keyed?.tightest(most, now, among) ?? []
      seen.push({ number, keys: keyed?.size ?? 0, shared: leftOf(shared, now), tightest })
    }
    return seen
  }
}

function leftOf(bucket: Bucket, now: number): Left {
  const { remaining, reset } = bucket.allowance(now)
  return [remaining, reset]
}
