// A worker's side of limits that are counted for all workers together: questions go to their owner, those of one turn in
// one message, and what requests have cost follows.

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
import { sanitizeTokenCount } from '../../config/limit-status.ts'
import type { ProcessLink } from '../../core/process-link.ts'
import type { Charge, TokenCost } from '../../core/types.ts'

/** For an answer of the owner: a request waits for it, and is refused when none comes. */
const OWNER_DEADLINE = 2_000

/** Questions without an answer; one more is refused at once. While the owner is silent one tries, for all. */
const MAX_WAITING = 32_768
const MAX_PROBING = 1

/** Steps of one message. */
const MAX_STEPS = 64

interface PendingLimitAnswer {
  readonly resolve: (answer: LimitAnswer) => void
  readonly reject: (error: Error) => void
}

export class LimitOwnerClient {
  readonly #link: ProcessLink
  readonly #numbers = new Map<RateLimitRule, number>()
  readonly #lastStatus = new Map<number, LimitReading>()
  #last = 0
  #lastCharge = 0
  #waiting = 0
  /** What the next message says; `due` while it is about to be sent. */
  #newRules: LimitDeclaration[] = []
  #steps: LimitOperation[] = []
  #pendingAnswers: PendingLimitAnswer[] = []
  #state: 'idle' | 'due' = 'idle'
  #owner: 'heard' | 'silent' = 'heard'
  #refreshing: Promise<void> | null = null

  constructor(link: ProcessLink) {
    this.#link = link
  }

  /** Takes one of each limit, in order; rejects when nobody says whether. */
  takeRequests(at: readonly BucketRef[]): Promise<LimitAnswer> {
    return this.#ask({ do: 'take', at })
  }

  /** Takes tokens of each limit if all are open; what was taken is the charge. */
  admitTokens(at: readonly BucketRef[], tokens: number): [Promise<LimitAnswer>, Charge] {
    if (this.#isFull) return [this.#refused(), NO_CHARGE]
    const charge = ++this.#lastCharge
    const asked = this.#ask({ do: 'admit', at, charge, tokens: sanitizeTokenCount(tokens) })
    return [asked, new SharedLimitCharge(charge, (step, when) => this.#enqueue(step, when))]
  }

  /** By what the owner knows it. */
  ruleNumberOf(rule: RateLimitRule): number {
    const known = this.#numbers.get(rule)
    if (known !== undefined) return known
    const number = ++this.#last
    const { id, config } = rule
    const { most, amount, interval, key } = config
    const buckets = key === null ? 'one' : 'by key'
    this.#numbers.set(rule, number)
    this.#newRules.push({ number, id, most, amount, interval, buckets })
    return number
  }

  /** The owner may forget all others, unless another worker has them. */
  retainRules(rules: ReadonlySet<RateLimitRule>): void {
    for (const rule of rules) this.ruleNumberOf(rule)
    for (const [rule, number] of this.#numbers)
      if (!rules.has(rule)) {
        this.#numbers.delete(rule)
        this.#lastStatus.delete(number)
      }
    this.#enqueue({ do: 'keep', limits: [...this.#numbers.values()] }, 'now')
  }

  /** What the owner last said of a limit. */
  lastStatusOf(rule: RateLimitRule): LimitReading | undefined {
    const number = this.#numbers.get(rule)
    return number === undefined ? undefined : this.#lastStatus.get(number)
  }

  /** Asks the owner how much is left; one that is silent leaves what is known. */
  refreshStatus(look: LimitReadRequest): Promise<void> {
    this.#refreshing ??= this.#requestStatus(look).finally(() => (this.#refreshing = null))
    return this.#refreshing
  }

  async #requestStatus(look: LimitReadRequest): Promise<void> {
    try {
      const seen = (await this.#link.request(READ_LIMITS, look, OWNER_DEADLINE)) as LimitReading[]
      this.#lastStatus.clear()
      for (const one of seen) this.#lastStatus.set(one.number, one)
    } catch {}
  }

  get #isFull(): boolean {
    return this.#waiting >= (this.#owner === 'silent' ? MAX_PROBING : MAX_WAITING)
  }

  #refused(): Promise<LimitAnswer> {
    return Promise.reject(new Error(`${this.#waiting} questions wait already`))
  }

  #ask(step: LimitOperation): Promise<LimitAnswer> {
    if (this.#isFull) return this.#refused()
    this.#waiting++
    return new Promise((resolve, reject) => {
      this.#pendingAnswers.push({ resolve, reject })
      this.#enqueue(step, 'soon')
    })
  }

  /** Said with the next message, or with this one: who has an answer may come again by another worker, and meets its cost. */
  #enqueue(step: LimitOperation, when: 'soon' | 'now'): void {
    this.#steps.push(step)
    if (when === 'now' || this.#steps.length >= MAX_STEPS) return this.#send()
    if (this.#state === 'due') return
    this.#state = 'due'
    setImmediate(() => this.#send())
  }

  #send(): void {
    this.#state = 'idle'
    if (this.#steps.length === 0) return
    const batch: LimitBatch = { named: this.#newRules, steps: this.#steps }
    const asking = this.#pendingAnswers
    this.#newRules = []
    this.#steps = []
    this.#pendingAnswers = []
    if (asking.length === 0) return this.#link.notify(ASK_LIMITS, batch)
    this.#link.request(ASK_LIMITS, batch, OWNER_DEADLINE).then(
      (answers) => {
        this.#waiting -= asking.length
        this.#owner = 'heard'
        for (const [at, { resolve }] of asking.entries())
          resolve((answers as LimitAnswer[])[at] ?? null)
      },
      (error: Error) => {
        this.#waiting -= asking.length
        this.#owner = 'silent'
        for (const { reject } of asking) reject(error)
      },
    )
  }
}

/** Of a question that was never sent. */
const NO_CHARGE: Charge = { raise() {}, settle() {} }

class SharedLimitCharge implements Charge {
  readonly #number: number
  readonly #enqueue: (step: LimitOperation, when: 'soon' | 'now') => void
  #state: 'open' | 'settled' = 'open'

  constructor(number: number, say: (step: LimitOperation, when: 'soon' | 'now') => void) {
    this.#number = number
    this.#enqueue = say
  }

  raise(tokens: number): void {
    const more = sanitizeTokenCount(tokens)
    if (this.#state === 'open' && more > 0)
      this.#enqueue({ do: 'raise', charge: this.#number, tokens: more }, 'soon')
  }

  settle(cost: TokenCost): void {
    if (this.#state === 'settled') return
    this.#state = 'settled'
    const [input, output] = [sanitizeTokenCount(cost.input), sanitizeTokenCount(cost.output)]
    this.#enqueue({ do: 'settle', charge: this.#number, input, output }, 'now')
  }
}
