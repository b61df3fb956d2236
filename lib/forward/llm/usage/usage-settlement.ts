// Settles the cost of an LLM response at its end: for the token limits, the log, the trace and the `llm` facts.

import { NO_COST } from '../../../core/exchange.ts'
import type { Exchange } from '../../../core/exchange.ts'
import type { LlmFacts } from '../../../core/facts.ts'
import type { Outcome, Tap, TokenCost, TokenEstimate } from '../../../core/types.ts'
import type { ObservedUsage, RawUsage } from '../llm-call-types.ts'
import type { ResponseWatch } from './response-watch.ts'

export interface UsageSettlementContext {
  readonly watch: ResponseWatch
  readonly facts: LlmFacts
  /** Only event streams have a last event that may be missing. */
  readonly kind: 'events' | 'other'
  /** Estimated input tokens, for a provider that reports none; null if the request is not an LLM request. */
  readonly guessInputTokens: () => number | null
  /** The request passed as free; a cost that its response reports is charged late. */
  readonly mayChargeLate: boolean
}

export class UsageSettlement implements Tap {
  readonly #exchange: Exchange
  readonly #watch: ResponseWatch
  readonly #context: UsageSettlementContext
  #outcome: Outcome = 'complete'

  constructor(exchange: Exchange, context: UsageSettlementContext) {
    this.#exchange = exchange
    this.#watch = context.watch
    this.#context = context
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#watch.chunk(bytes, from, to)
  }

  end(outcome: Outcome): void {
    this.#outcome = outcome
    this.#watch.end(outcome)
    let state: 'counting' | 'counted' = 'counting'
    this.#watch.whenDone(() => {
      state = 'counted'
      this.#settle()
    })
    // A compressed response is decoded asynchronously; the log line waits for it.
    if (state === 'counting')
      this.#exchange.forwarding.awaitUsage = (done) => this.#watch.whenDone(done)
  }

  /** Runs before the client gets the end of the response, so that its next request meets the reduced budget. */
  #settle(): void {
    const exchange = this.#exchange
    const { observed } = this.#watch
    const { facts, kind, guessInputTokens, mayChargeLate } = this.#context
    Object.assign(facts, llmFactsOf(observed))
    Object.assign(facts, timesOf(exchange.startedAt, observed, facts.outputTokens ?? 0))
    const isTruncated =
      kind === 'events' && this.#outcome === 'complete' && observed.ending === 'missing'
    if (isTruncated) facts.ending = 'missing'
    const guess = guessInputTokens()
    const isFree = guess === null && observed.usage === null
    const cost = isFree ? NO_COST : computeLlmCost(observed, guess ?? 0)
    exchange.forwarding.tokenCost = cost
    exchange.trace?.emit({ type: 'llmUsage', usage: { ...cost, ...facts } })
    if (mayChargeLate && cost.input + cost.output > 0) return chargeLate(exchange, cost)
    for (const charge of exchange.enforcement.charges) charge.settle(cost)
  }
}

function timesOf(
  startedAt: number,
  { firstAt, lastAt }: ObservedUsage,
  output: number,
): Partial<LlmFacts> {
  if (firstAt === 0) return {}
  const perToken =
    output > 1 ? { timePerOutputToken: formatSeconds((lastAt - firstAt) / output) } : {}
  return { timeToFirstToken: formatSeconds(firstAt - startedAt), ...perToken }
}

function formatSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(6)}s`
}

const NO_ESTIMATE: TokenEstimate = { model: null, input: 0, output: 0, maxOutput: 0 }

/** Charges a request that passed as free and whose response reports a cost; an exhausted budget is not charged. */
export function chargeLate(exchange: Exchange, cost: TokenCost): void {
  const settle = (): void => {
    for (const charge of exchange.enforcement.charges) charge.settle(cost)
  }
  const verdict = exchange.handler.admit(exchange, NO_ESTIMATE)
  if (verdict instanceof Promise) verdict.then(settle, settle)
  else settle()
}

/**
 * The normalised cost: cached tokens are part of the input, which some providers report without them. `inputGuess` is used if
 * the provider reports no input.
 */
export function computeLlmCost(observed: ObservedUsage, inputGuess: number): TokenCost {
  // Usage that a response reports is charged, even if the format is free.
  if (observed.isFree && observed.usage === null) return NO_COST
  const input = countedInputOf(observed)
  const output = countedOutputOf(observed)
  const outputGuess = Math.max(observed.outputGuess, observed.usage?.output ?? 0)
  const isOutputKnown = output !== undefined || outputGuess === 0
  const isCounted = input !== undefined && isOutputKnown && observed.ending === 'seen'
  return {
    input: input ?? inputGuess,
    output: output ?? outputGuess,
    basis: isCounted ? 'counted' : 'estimated',
  }
}

/** What the provider reported, without estimates. */
export function llmFactsOf(observed: ObservedUsage): Partial<LlmFacts> {
  const { model, serviceTier, countTokens } = observed
  const usage = observed.usage ?? {}
  const input = countedInputOf(observed)
  const output = countedOutputOf(observed)
  return omitUndefined({
    responseModel: model ?? undefined,
    serviceTier: serviceTier ?? undefined,
    countTokens: countTokens ?? undefined,
    inputTokens: input,
    outputTokens: output,
    totalTokens: addIfKnown(input, output),
    providerInputTokens: usage.input,
    providerTotalTokens: usage.total ?? addIfKnown(usage.input, output),
    cachedInputTokens: usage.cachedInput,
    cacheCreationInputTokens: usage.cacheCreation,
    reasoningTokens: usage.reasoning ?? (unlistedOutputOf(observed) || undefined),
    inputAudioTokens: usage.inputAudio,
    outputAudioTokens: usage.outputAudio,
  })
}

function countedInputOf({ usage, counts }: ObservedUsage): number | undefined {
  if (usage === null) return undefined
  const input = usage.input ?? remainderOf(usage, usage.output ?? 0)
  if (input === undefined || counts === 'withCached') return input
  return toSafeInteger(input + (usage.cachedInput ?? 0) + (usage.cacheCreation ?? 0))
}

/** Of a truncated response, only a count that was reported during the stream. */
function countedOutputOf(observed: ObservedUsage): number | undefined {
  const { usage, outputCount, ending } = observed
  if (usage === null) return undefined
  if (usage.output === undefined)
    return ending === 'seen' ? remainderOf(usage, usage.input) : undefined
  if (ending !== 'seen' && outputCount !== 'whole') return undefined
  return toSafeInteger(usage.output + unlistedOutputOf(observed))
}

/** What the total has above input and output: reasoning, which xAI and Gemini's OpenAI path do not count as output. */
function unlistedOutputOf(observed: ObservedUsage): number {
  const { input, output, total } = observed.usage ?? {}
  if (input === undefined || output === undefined || total === undefined) return 0
  return Math.max(0, total - (countedInputOf(observed) ?? 0) - output)
}

/** The total minus the other part: embeddings and rerank report only a total. */
function remainderOf({ total }: RawUsage, part: number | undefined): number | undefined {
  if (total === undefined) return undefined
  return Math.max(0, total - (part ?? total))
}

function addIfKnown(input: number | undefined, output: number | undefined): number | undefined {
  return input === undefined || output === undefined ? undefined : toSafeInteger(input + output)
}

function toSafeInteger(sum: number): number {
  return Math.min(sum, Number.MAX_SAFE_INTEGER)
}

function omitUndefined<Facts extends object>(facts: Facts): Partial<Facts> {
  const known: Partial<Facts> = {}
  for (const name of Object.keys(facts) as (keyof Facts)[])
    if (facts[name] !== undefined) known[name] = facts[name]
  return known
}
