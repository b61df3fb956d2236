// The worker's client of the limit owner, which counts limits for all workers together. Requests of one event loop turn
// are sent in one message; token costs follow later.

import { ASK_LIMITS, READ_LIMITS } from './limit-messages.ts'
import type {
  LimitAnswer,
  LimitBatch,
  LimitReadRequest,
  LimitDeclaration,
  BucketRef,
  LimitReading,
  LimitOperation,
} from './limit-messages.ts'
import type { RateLimitRule } from './limit-rule.ts'
import { storedKeyOf } from './stored-key.ts'
import { sanitizeTokenCount } from '../../config/limit-status.ts'
import type { ProcessLink } from '../../core/process-link.ts'
import type { Charge, TokenCost, TokenEstimate } from '../../core/types.ts'

/** Timeout of the owner's answer: a request waits for it, and is refused without it. */
const OWNER_TIMEOUT_MS = 2_000

/** Maximum number of waiting requests. While the owner does not answer, only one request at a time probes it. */
const MAX_WAITING = 32_768
const MAX_PROBING = 1

/** Maximum number of operations in one message. */
const MAX_OPERATIONS = 64

interface PendingLimitAnswer {
  readonly resolve: (answer: LimitAnswer) => void
  readonly reject: (error: Error) => void
}

export class LimitOwnerClient {
  readonly #link: ProcessLink
  readonly #numbers = new Map<RateLimitRule, number>()
  readonly #lastStatus = new Map<number, LimitReading>()
  #lastNumber = 0
  #lastCharge = 0
  #waiting = 0
  /** The next message; `due` while a send is scheduled. */
  #newRules: LimitDeclaration[] = []
  #operations: LimitOperation[] = []
  #pendingAnswers: PendingLimitAnswer[] = []
  #state: 'idle' | 'due' = 'idle'
  #owner: 'responding' | 'silent' = 'responding'
  #refreshing: Promise<void> | null = null

  constructor(link: ProcessLink) {
    this.#link = link
  }

  /** Takes one request of each limit, in order; rejects when the owner does not answer. */
  takeRequests(buckets: readonly BucketRef[]): Promise<LimitAnswer> {
    return this.#ask({ do: 'take', at: buckets })
  }

  /** Takes tokens of each limit if all are open; the charge settles what was taken. */
  admitTokens(
    buckets: readonly BucketRef[],
    estimate: TokenEstimate,
  ): [Promise<LimitAnswer>, Charge] {
    if (this.#isFull) return [this.#rejectAsFull(), NO_CHARGE]
    const charge = ++this.#lastCharge
    const answer = this.#ask({
      do: 'admit',
      at: buckets,
      charge,
      estimate: toPlainEstimate(estimate),
    })
    return [
      answer,
      new SharedLimitCharge(charge, (operation, when) => this.#enqueue(operation, when)),
    ]
  }

  /** Returns the number of a rule in messages to the owner; a new rule is declared with the next message. */
  ruleNumberOf(rule: RateLimitRule): number {
    const known = this.#numbers.get(rule)
    if (known !== undefined) return known
    const number = ++this.#lastNumber
    const { id, config } = rule
    const { most, amount, interval, key } = config
    const buckets = key === null ? 'one' : 'by key'
    this.#numbers.set(rule, number)
    this.#newRules.push({ number, id, most, amount, interval, buckets })
    return number
  }

  /** Tells the owner which rules this worker uses; it may drop the others unless another worker uses them. */
  retainRules(rules: ReadonlyMap<RateLimitRule, unknown>): void {
    for (const rule of rules.keys()) this.ruleNumberOf(rule)
    for (const [rule, number] of this.#numbers)
      if (!rules.has(rule)) {
        this.#numbers.delete(rule)
        this.#lastStatus.delete(number)
      }
    this.#enqueue({ do: 'keep', limits: [...this.#numbers.values()] }, 'now')
  }

  /** Returns the last known status of a limit. */
  lastStatusOf(rule: RateLimitRule): LimitReading | undefined {
    const number = this.#numbers.get(rule)
    return number === undefined ? undefined : this.#lastStatus.get(number)
  }

  /** Reads the remaining quotas from the owner; without an answer the last known status stays. */
  refreshStatus(request: LimitReadRequest): Promise<void> {
    this.#refreshing ??= this.#requestStatus(request).finally(() => (this.#refreshing = null))
    return this.#refreshing
  }

  async #requestStatus(request: LimitReadRequest): Promise<void> {
    try {
      const answer = await this.#link.request(READ_LIMITS, request, OWNER_TIMEOUT_MS)
      this.#lastStatus.clear()
      for (const reading of answer as LimitReading[]) this.#lastStatus.set(reading.number, reading)
    } catch {}
  }

  get #isFull(): boolean {
    return this.#waiting >= (this.#owner === 'silent' ? MAX_PROBING : MAX_WAITING)
  }

  #rejectAsFull(): Promise<LimitAnswer> {
    return Promise.reject(new Error(`${this.#waiting} requests already wait for the limit owner`))
  }

  #ask(operation: LimitOperation): Promise<LimitAnswer> {
    if (this.#isFull) return this.#rejectAsFull()
    this.#waiting++
    return new Promise((resolve, reject) => {
      this.#pendingAnswers.push({ resolve, reject })
      this.#enqueue(operation, 'soon')
    })
  }

  /** Queues for the next message, or sends now: a client may come back through another worker, which must see the cost. */
  #enqueue(operation: LimitOperation, when: 'soon' | 'now'): void {
    this.#operations.push(operation)
    if (when === 'now' || this.#operations.length >= MAX_OPERATIONS) return this.#send()
    if (this.#state === 'due') return
    this.#state = 'due'
    setImmediate(() => this.#send())
  }

  #send(): void {
    this.#state = 'idle'
    if (this.#operations.length === 0) return
    const batch: LimitBatch = { named: this.#newRules, steps: this.#operations }
    const pending = this.#pendingAnswers
    this.#newRules = []
    this.#operations = []
    this.#pendingAnswers = []
    if (pending.length === 0) return this.#link.notify(ASK_LIMITS, batch)
    this.#link.request(ASK_LIMITS, batch, OWNER_TIMEOUT_MS).then(
      (answers) => {
        this.#waiting -= pending.length
        this.#owner = 'responding'
        for (const [index, { resolve }] of pending.entries())
          resolve((answers as LimitAnswer[])[index] ?? null)
      },
      (error: Error) => {
        this.#waiting -= pending.length
        this.#owner = 'silent'
        for (const { reject } of pending) reject(error)
      },
    )
  }
}

/** The charge of a request that was never sent. */
const NO_CHARGE: Charge = { raise() {}, settle() {} }

class SharedLimitCharge implements Charge {
  readonly #number: number
  readonly #enqueue: (operation: LimitOperation, when: 'soon' | 'now') => void
  #state: 'open' | 'settled' = 'open'

  constructor(number: number, enqueue: (operation: LimitOperation, when: 'soon' | 'now') => void) {
    this.#number = number
    this.#enqueue = enqueue
  }

  raise(estimate: TokenEstimate): void {
    if (this.#state === 'settled') return
    const charge = this.#number
    this.#enqueue({ do: 'raise', charge, estimate: toPlainEstimate(estimate) }, 'soon')
  }

  settle(cost: TokenCost): void {
    if (this.#state === 'settled') return
    this.#state = 'settled'
    const [input, output] = [sanitizeTokenCount(cost.input), sanitizeTokenCount(cost.output)]
    const { basis } = cost
    this.#enqueue({ do: 'settle', charge: this.#number, cost: { input, output, basis } }, 'now')
  }
}

/** With numbers that JSON can express, and without a name of any length. */
function toPlainEstimate({ model, input, output, maxOutput }: TokenEstimate): TokenEstimate {
  return {
    model: model === null ? null : storedKeyOf(model),
    input: sanitizeTokenCount(input),
    output: sanitizeTokenCount(output),
    maxOutput: maxOutput === null ? null : sanitizeTokenCount(maxOutput),
  }
}
