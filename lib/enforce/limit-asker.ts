// A worker's side of limits that are counted for all workers together: questions go to their owner, those of one turn in
// one message, and what requests have cost follows.

import { ASK_LIMITS, LOOK_AT_LIMITS } from '../base/limit/asking.ts'
import type { Answer, Batch, Look, Named, Place, Seen, Step } from '../base/limit/asking.ts'
import type { Rule } from '../base/limit/rule.ts'
import { soundTokens } from '../base/limit/sound-tokens.ts'
import type { Link } from '../base/processes/link.ts'
import type { Charge, Cost } from '../base/types.ts'

/** For an answer of the owner: a request waits for it, and is refused when none comes. */
const OWNER_DEADLINE = 2_000

/** Questions without an answer; one more is refused at once. While the owner is silent one tries, for all. */
const MAX_WAITING = 32_768
const MAX_TRYING = 1

/** Steps of one message. */
const MAX_STEPS = 64

interface Waiting {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

export class LimitAsker {
  readonly #link: Link
  readonly #numbers = new Map<Rule, number>()
  readonly #seen = new Map<number, Seen>()
  #last = 0
  #lastCharge = 0
  #waiting = 0
  /** What the next message says; `due` while it is about to be sent. */
  #named: Named[] = []
  #steps: Step[] = []
  #asking: Waiting[] = []
  #state: 'idle' | 'due' = 'idle'
  #owner: 'heard' | 'silent' = 'heard'
  #looking: Promise<void> | null = null

  constructor(link: Link) {
    this.#link = link
  }

  /** Takes one of each limit, in order; rejects when nobody says whether. */
  take(at: readonly Place[]): Promise<Answer> {
    return this.#ask({ do: 'take', at })
  }

  /** Takes tokens of each limit if all are open; what was taken is the charge. */
  admit(at: readonly Place[], tokens: number): [Promise<Answer>, Charge] {
    if (this.#isFull) return [this.#refused(), NO_CHARGE]
    const charge = ++this.#lastCharge
    const asked = this.#ask({ do: 'admit', at, charge, tokens: soundTokens(tokens) })
    return [asked, new AskedCharge(charge, (step, when) => this.#say(step, when))]
  }

  /** By what the owner knows it. */
  numberOf(rule: Rule): number {
    const known = this.#numbers.get(rule)
    if (known !== undefined) return known
    const number = ++this.#last
    const { id, config } = rule
    const { most, amount, interval, key } = config
    const buckets = key === null ? 'one' : 'by key'
    this.#numbers.set(rule, number)
    this.#named.push({ number, id, most, amount, interval, buckets })
    return number
  }

  /** The owner may forget all others, unless another worker has them. */
  keep(rules: ReadonlySet<Rule>): void {
    for (const rule of rules) this.numberOf(rule)
    for (const [rule, number] of this.#numbers)
      if (!rules.has(rule)) {
        this.#numbers.delete(rule)
        this.#seen.delete(number)
      }
    this.#say({ do: 'keep', limits: [...this.#numbers.values()] }, 'now')
  }

  /** What the owner last said of a limit. */
  seen(rule: Rule): Seen | undefined {
    const number = this.#numbers.get(rule)
    return number === undefined ? undefined : this.#seen.get(number)
  }

  /** Asks the owner how much is left; one that is silent leaves what is known. */
  look(look: Look): Promise<void> {
    this.#looking ??= this.#look(look).finally(() => (this.#looking = null))
    return this.#looking
  }

  async #look(look: Look): Promise<void> {
    try {
      const seen = (await this.#link.ask(LOOK_AT_LIMITS, look, OWNER_DEADLINE)) as Seen[]
      this.#seen.clear()
      for (const one of seen) this.#seen.set(one.number, one)
    } catch {}
  }

  get #isFull(): boolean {
    return this.#waiting >= (this.#owner === 'silent' ? MAX_TRYING : MAX_WAITING)
  }

  #refused(): Promise<Answer> {
    return Promise.reject(new Error(`${this.#waiting} questions wait already`))
  }

  #ask(step: Step): Promise<Answer> {
    if (this.#isFull) return this.#refused()
    this.#waiting++
    return new Promise((resolve, reject) => {
      this.#asking.push({ resolve, reject })
      this.#say(step, 'soon')
    })
  }

  /** Said with the next message, or with this one: who has an answer may come again by another worker, and meets its cost. */
  #say(step: Step, when: 'soon' | 'now'): void {
    this.#steps.push(step)
    if (when === 'now' || this.#steps.length >= MAX_STEPS) return this.#send()
    if (this.#state === 'due') return
    this.#state = 'due'
    setImmediate(() => this.#send())
  }

  #send(): void {
    this.#state = 'idle'
    if (this.#steps.length === 0) return
    const batch: Batch = { named: this.#named, steps: this.#steps }
    const asking = this.#asking
    this.#named = []
    this.#steps = []
    this.#asking = []
    if (asking.length === 0) return this.#link.tell(ASK_LIMITS, batch)
    this.#link.ask(ASK_LIMITS, batch, OWNER_DEADLINE).then(
      (answers) => {
        this.#waiting -= asking.length
        this.#owner = 'heard'
        for (const [at, { resolve }] of asking.entries()) resolve((answers as Answer[])[at] ?? null)
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

class AskedCharge implements Charge {
  readonly #number: number
  readonly #say: (step: Step, when: 'soon' | 'now') => void
  #state: 'open' | 'settled' = 'open'

  constructor(number: number, say: (step: Step, when: 'soon' | 'now') => void) {
    this.#number = number
    this.#say = say
  }

  raise(tokens: number): void {
    const more = soundTokens(tokens)
    if (this.#state === 'open' && more > 0)
      this.#say({ do: 'raise', charge: this.#number, tokens: more }, 'soon')
  }

  settle(cost: Cost): void {
    if (this.#state === 'settled') return
    this.#state = 'settled'
    const [input, output] = [soundTokens(cost.input), soundTokens(cost.output)]
    this.#say({ do: 'settle', charge: this.#number, input, output }, 'now')
  }
}
