// After any interleaving of admissions, raises, settlements and waits, a bucket agrees with a ledger that is kept window
// by window and token by token.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Bucket } from '../../../lib/enforce/limit/bucket.ts'
import { CostHistory } from '../../../lib/enforce/limit/learned-costs.ts'
import { TokenCharge } from '../../../lib/enforce/limit/token-charge.ts'
import type { TokenEstimate } from '../../../lib/core/types.ts'
import { fc } from '../../support/fast-check.ts'

const balance = suite('bucket properties')

const INTERVAL = 1000

interface Terms {
  readonly maxLevel: number
  readonly amount: number
}

/** One request in the ledger. */
interface Line {
  taken: number
  /** The part that no refill has restored yet. */
  owed: number
  isSettled: boolean
}

/** A simple model: it advances window by window, and visits every line each time. */
class Ledger {
  readonly #terms: Terms
  readonly lines: Line[] = []
  level: number
  time = 0
  /** Tokens taken and refunded since the window began. */
  debits = 0
  refunds = 0

  constructor(terms: Terms) {
    this.#terms = terms
    this.level = terms.maxLevel
  }

  wait(ms: number): void {
    for (let passed = 0; passed < ms; passed++) {
      this.time++
      if (this.time % INTERVAL === 0) this.#turn()
    }
  }

  #turn(): void {
    const { maxLevel, amount } = this.#terms
    const isForgiven = this.level < 0
    this.level = (isForgiven ? 0 : this.level) + amount
    if (isForgiven || this.level >= maxLevel) for (const line of this.lines) line.owed = 0
    if (this.level > maxLevel) this.level = maxLevel
    this.debits = 0
    this.refunds = 0
  }

  admit(estimate: number): boolean {
    if (this.level <= 0) return false
    this.lines.push({ taken: 0, owed: 0, isSettled: false })
    this.raise(this.lines.length - 1, estimate)
    return true
  }

  raise(at: number, tokens: number): void {
    const line = this.lines[at]!
    if (line.isSettled) return
    line.taken += tokens
    line.owed += tokens
    this.#debit(tokens)
  }

  settle(at: number, cost: number): void {
    const line = this.lines[at]!
    if (line.isSettled) return
    line.isSettled = true
    if (cost > line.taken) return this.#debit(cost - line.taken)
    const refund = Math.min(line.taken - cost, line.owed)
    this.level = Math.min(this.#terms.maxLevel, this.level + refund)
    this.refunds += refund
  }

  #debit(tokens: number): void {
    this.level -= tokens
    this.debits += tokens
  }
}

type Step =
  | { readonly kind: 'admit'; readonly tokens: number }
  | { readonly kind: 'raise'; readonly at: number; readonly tokens: number }
  | {
      readonly kind: 'settle'
      readonly at: number
      readonly input: number
      readonly output: number
    }
  | { readonly kind: 'abort'; readonly at: number }
  | { readonly kind: 'wait'; readonly ms: number }

/** Round numbers, so that budgets are often exhausted exactly. */
const TOKENS = fc.oneof(
  fc.nat(40),
  fc.nat(4).map((tens) => tens * 10),
)
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('admit' as const), tokens: TOKENS }) },
  fc.record({ kind: fc.constant('raise' as const), at: fc.nat(), tokens: TOKENS }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      at: fc.nat(),
      input: TOKENS,
      output: TOKENS,
    }),
  },
  fc.record({ kind: fc.constant('abort' as const), at: fc.nat() }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.oneof(fc.nat(3 * INTERVAL), fc.constantFrom(1, INTERVAL - 1, INTERVAL)),
    }),
  },
)
const STEPS = fc.array(STEP, { minLength: 1, maxLength: 60, size: 'max' })
const AMOUNT = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constantFrom(10, 20, 50))
const FIXED: fc.Arbitrary<Terms> = AMOUNT.map((maxLevel) => ({ maxLevel, amount: maxLevel }))
const ANY: fc.Arbitrary<Terms> = fc
  .tuple(AMOUNT, fc.oneof(fc.nat(60), fc.constantFrom(0, 10, 50)))
  .map(([amount, burst]) => ({ amount, maxLevel: amount + burst }))

/** The cost of a request without input is not learned, so its estimate is what is taken. */
const NOTHING_LEARNED = new CostHistory('one')

function estimateOf(tokens: number): TokenEstimate {
  return { model: null, input: 0, output: tokens, maxOutput: null }
}

/** A bucket and its ledger, which run the same steps. */
class Pair {
  readonly terms: Terms
  readonly ledger: Ledger
  readonly bucket: Bucket
  readonly #charges: TokenCharge[] = []

  constructor(terms: Terms) {
    this.terms = terms
    this.ledger = new Ledger(terms)
    this.bucket = new Bucket({ ...terms, interval: INTERVAL, anchor: 0 }, 0)
  }

  get left(): number {
    return this.bucket.remaining(this.ledger.time)
  }

  do(step: Step): void {
    const { ledger } = this
    if (step.kind === 'wait') ledger.wait(step.ms)
    else if (step.kind === 'admit') this.#admit(step.tokens)
    else if (this.#charges.length > 0) this.#change(step, step.at % this.#charges.length)
    const { maxLevel } = this.terms
    assert.ok(this.left >= 0 && this.left <= maxLevel, `${this.left} of ${maxLevel} left`)
    assert.is(this.left, Math.max(0, ledger.level))
    assert.is(this.bucket.isOpen(ledger.time), ledger.level > 0)
  }

  #admit(tokens: number): void {
    const isOpen = this.bucket.isOpen(this.ledger.time)
    assert.is(isOpen, this.ledger.admit(tokens))
    if (!isOpen) return
    const charge = new TokenCharge(NOTHING_LEARNED, this.bucket, () => this.ledger.time)
    charge.raise(estimateOf(tokens))
    this.#charges.push(charge)
  }

  #change(step: Exclude<Step, { kind: 'wait' | 'admit' }>, at: number): void {
    const { ledger, left } = this
    const line = ledger.lines[at]!
    const [charge, own] = [this.#charges[at]!, line.isSettled ? 0 : line.owed]
    switch (step.kind) {
      case 'raise':
        charge.raise(estimateOf(line.taken + step.tokens))
        return ledger.raise(at, step.tokens)
      case 'settle':
        charge.settle({ input: step.input, output: step.output, basis: 'counted' })
        ledger.settle(at, step.input + step.output)
        break
      case 'abort':
        charge.settle({ input: line.taken, output: 0, basis: 'estimated' })
        ledger.settle(at, line.taken)
    }
    assert.ok(this.left - left <= own, 'a refund opens a window by no more than its own amount')
  }
}

balance('agrees with the ledger after every step, in any order', () => {
  fc.assert(
    fc.property(ANY, STEPS, (terms, steps) => {
      const pair = new Pair(terms)
      for (const step of steps) pair.do(step)
    }),
    { numRuns: 3000 },
  )
})

balance('in a fixed window is reduced by what was taken less what was refunded', () => {
  fc.assert(
    fc.property(FIXED, STEPS, (terms, steps) => {
      const pair = new Pair(terms)
      for (const step of steps) {
        pair.do(step)
        const { debits, refunds, level } = pair.ledger
        assert.is(level, terms.maxLevel - debits + refunds)
        assert.ok(refunds <= debits)
      }
    }),
    { numRuns: 3000 },
  )
})

balance('is full again after enough idle windows, from any state', () => {
  fc.assert(
    fc.property(ANY, STEPS, (terms, steps) => {
      const pair = new Pair(terms)
      for (const step of steps) pair.do(step)
      pair.do({ kind: 'wait', ms: INTERVAL * Math.ceil(terms.maxLevel / terms.amount) })
      assert.is(pair.left, terms.maxLevel)
    }),
    { numRuns: 1000 },
  )
})

balance('admits requests at one point in time only while something remains', () => {
  fc.assert(
    fc.property(
      ANY,
      fc.array(fc.integer({ min: 1, max: 40 })),
      ({ maxLevel, amount }, estimates) => {
        const bucket = new Bucket({ maxLevel, amount, interval: INTERVAL, anchor: 0 }, 0)
        let spent = 0
        for (const estimate of estimates) {
          assert.is(bucket.isOpen(0), spent < maxLevel)
          if (spent >= maxLevel) break
          new TokenCharge(NOTHING_LEARNED, bucket, () => 0).raise(estimateOf(estimate))
          spent += estimate
        }
        // All but the last fit in the budget, so only the last can overshoot.
        assert.ok(spent < maxLevel + 40)
      },
    ),
    { numRuns: 1000 },
  )
})

balance.run()
