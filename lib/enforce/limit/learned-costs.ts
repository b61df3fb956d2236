// What requests cost in comparison with their estimates, by bucket and model. Later requests are charged accordingly when
// they are admitted, so that many parallel requests cannot exceed a budget by a multiple.

import type { TokenCost, TokenEstimate } from '../../core/types.ts'
import { sanitizeTokenCount } from '../../config/limit-status.ts'
import { copyKey, storedKeyOf } from './stored-key.ts'

/** Models that a rule remembers, and that the bucket of one key remembers; the one used longest ago is replaced. */
export const MAX_LEARNED_MODELS = 64
export const MAX_LEARNED_MODELS_PER_KEY = 4

/** The averages follow about as many requests. */
const AVERAGED_REQUESTS = 16
/** Fewer requests say too little about the next one: until then the estimate is charged. */
export const MIN_LEARNED_REQUESTS = 4
/** The weight, in requests, of the averages that a new key takes over from its rule. */
const INHERITED_REQUESTS = MIN_LEARNED_REQUESTS

/** The entry for models of which too little is known: otherwise a new name in each request would avoid every average. */
const UNKNOWN_MODELS = '*'

/** The average estimate and the average cost of the requests for one model. */
export class LearnedCost {
  readonly model: string
  #requests = 0
  /** `exceeded`: an answer was longer than the maximum of its request, by `n` or a server that ignores it. */
  #maximum: 'kept' | 'exceeded' = 'kept'
  #estimatedInput = 0
  #input = 0
  #output = 0

  constructor(model: string, inherited: LearnedCost | null = null) {
    this.model = model
    if (inherited === null) return
    this.#requests = Math.min(inherited.#requests, INHERITED_REQUESTS)
    this.#estimatedInput = inherited.#estimatedInput
    this.#input = inherited.#input
    this.#output = inherited.#output
    this.#maximum = inherited.#maximum
  }

  get isReliable(): boolean {
    return this.#requests >= MIN_LEARNED_REQUESTS
  }

  /** Input that the body does not show, such as an earlier conversation, is added; other input is in proportion. */
  predict({ input, maxOutput }: TokenEstimate): number {
    const hidden = this.#input - this.#estimatedInput
    const expected = hidden > 0 ? input + hidden : (input * this.#input) / this.#estimatedInput
    const most = this.#maximum === 'kept' ? (maxOutput ?? Infinity) : Infinity
    return sanitizeTokenCount(expected + Math.min(this.#output, most))
  }

  learn({ input: estimatedInput, maxOutput }: TokenEstimate, { input, output }: TokenCost): void {
    if (maxOutput !== null && output > maxOutput) this.#maximum = 'exceeded'
    this.#requests = Math.min(this.#requests + 1, AVERAGED_REQUESTS)
    const share = 1 / this.#requests
    this.#estimatedInput += (sanitizeTokenCount(estimatedInput) - this.#estimatedInput) * share
    this.#input += (sanitizeTokenCount(input) - this.#input) * share
    this.#output += (sanitizeTokenCount(output) - this.#output) * share
  }
}

/** A bucket that remembers costs; null before the first request that was settled. */
export interface LearningBucket {
  learnedCosts: LearnedCost[] | null
}

/** The learned costs of one rule: of all its buckets together, and of each bucket with a key. */
export class CostHistory {
  readonly #buckets: 'one' | 'by key'
  #all: LearnedCost[] = []

  constructor(buckets: 'one' | 'by key') {
    this.#buckets = buckets
  }

  /** The tokens to charge at admission; without experience those of the estimate. */
  predict({ learnedCosts }: LearningBucket, estimate: TokenEstimate): number {
    // Nothing is known of a request that passed as free and is charged late.
    if (estimate.input === 0) return sanitizeTokenCount(estimate.output)
    const ofKey = learnedCosts ?? NOTHING_LEARNED
    const model = learnedNameOf(estimate)
    const learned =
      findReliable(ofKey, model) ??
      findReliable(this.#all, model) ??
      findReliable(ofKey, UNKNOWN_MODELS) ??
      findReliable(this.#all, UNKNOWN_MODELS)
    return learned === null
      ? sanitizeTokenCount(estimate.input + estimate.output)
      : learned.predict(estimate)
  }

  /** A request that the provider refused, or that its client left before the response, teaches nothing. */
  learn(bucket: LearningBucket, estimate: TokenEstimate, cost: TokenCost): void {
    const { input, output, basis } = cost
    const isAnswered = basis === 'counted' ? input + output > 0 : output > 0
    if (!isAnswered || sanitizeTokenCount(estimate.input) === 0) return
    const model = learnedNameOf(estimate)
    if (findReliable(this.#all, model) === null)
      this.#learnAs(UNKNOWN_MODELS, bucket, estimate, cost)
    this.#learnAs(model, bucket, estimate, cost)
  }

  #learnAs(model: string, bucket: LearningBucket, estimate: TokenEstimate, cost: TokenCost): void {
    let ofRule = findLearned(this.#all, model)
    if (ofRule === null) {
      ofRule = new LearnedCost(copyKey(model))
      this.#all = prependLearned(this.#all, ofRule, MAX_LEARNED_MODELS)
    }
    if (this.#buckets === 'by key') {
      const known = bucket.learnedCosts ?? []
      let ofKey = findLearned(known, model)
      if (ofKey === null) {
        ofKey = new LearnedCost(ofRule.model, ofRule)
        bucket.learnedCosts = prependLearned(known, ofKey, MAX_LEARNED_MODELS_PER_KEY)
      }
      ofKey.learn(estimate, cost)
    }
    ofRule.learn(estimate, cost)
  }
}

function learnedNameOf({ model }: TokenEstimate): string {
  return model === null ? '' : storedKeyOf(model)
}

const NOTHING_LEARNED: LearnedCost[] = []

function findReliable(list: LearnedCost[], model: string): LearnedCost | null {
  const learned = findLearned(list, model)
  return learned?.isReliable === true ? learned : null
}

/** The list is in the order of use, so the entry that is found moves to its front. */
function findLearned(list: LearnedCost[], model: string): LearnedCost | null {
  const index = list.findIndex((learned) => learned.model === model)
  if (index < 0) return null
  const learned = list[index]!
  if (index > 0) {
    list.copyWithin(1, 0, index)
    list[0] = learned
  }
  return learned
}

/** Returns a new list: one that grows in place reserves room for 17 entries, for every key. */
function prependLearned(list: LearnedCost[], learned: LearnedCost, max: number): LearnedCost[] {
  return [learned].concat(list.slice(0, max - 1))
}
