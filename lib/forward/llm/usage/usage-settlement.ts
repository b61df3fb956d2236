// Follows an answer to its end and tells what it cost: to the limits, the log and whoever reads `llm`.

import { NO_COST } from '../../../core/exchange.ts'
import type { Exchange } from '../../../core/exchange.ts'
import type { LlmFacts } from '../../../core/facts.ts'
import type { Outcome, Tap, TokenCost } from '../../../core/types.ts'
import type { ObservedUsage, RawUsage } from '../llm-call-types.ts'
import type { ResponseWatch } from './response-watch.ts'

export interface UsageSettlementContext {
  readonly watch: ResponseWatch
  readonly facts: LlmFacts
  /** Only streams of events have a last one. */
  readonly kind: 'events' | 'other'
  /** Tokens of the prompt, in case nobody counts them; null if it is none, and costs only what the answer says. */
  readonly guessInputTokens: () => number | null
  /** Asked only if it costs anything; null for what was admitted. */
  readonly mayChargeLate: boolean
}

export class UsageSettlement implements Tap {
  readonly #exchange: Exchange
  readonly #watch: ResponseWatch
  readonly #context: UsageSettlementContext
  #outcome: Outcome = 'complete'

  constructor(exchange: Exchange, watched: UsageSettlementContext) {
    this.#exchange = exchange
    this.#watch = watched.watch
    this.#context = watched
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
    // What is compressed is counted a moment later; the log line waits for it.
    if (state === 'counting')
      this.#exchange.forwarding.awaitUsage = (done) => this.#watch.whenDone(done)
  }

  /** Before the client knows of the end: its next request meets a budget that has this one in it. */
  #settle(): void {
    const exchange = this.#exchange
    const { observed } = this.#watch
    const { facts, kind, guessInputTokens, mayChargeLate } = this.#context
    Object.assign(facts, llmFactsOf(observed))
    Object.assign(facts, timesOf(exchange.startedAt, observed, facts.outputTokens ?? 0))
    const isShort =
      kind === 'events' && this.#outcome === 'complete' && observed.ending === 'missing'
    if (isShort) facts.ending = 'missing'
    const guess = guessInputTokens()
    const isNone = guess === null && observed.usage === null
    const cost = isNone ? NO_COST : computeLlmCost(observed, guess ?? 0)
    exchange.forwarding.tokenCost = cost
    exchange.trace?.emit({ type: 'llmUsage', usage: { ...cost, ...facts } })
    if (mayChargeLate && cost.input + cost.output > 0) return chargeLate(exchange, cost)
    for (const charge of exchange.enforcement.charges) charge.settle(cost)
  }
}

function timesOf(
  started: number,
  { firstAt, lastAt }: ObservedUsage,
  output: number,
): Partial<LlmFacts> {
  if (firstAt === 0) return {}
  const perToken =
    output > 1 ? { timePerOutputToken: formatSeconds((lastAt - firstAt) / output) } : {}
  return { timeToFirstToken: formatSeconds(firstAt - started), ...perToken }
}

function formatSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(6)}s`
}

// A request that was let pass as free, and whose answer tells that it was not.

/** Where nothing is left any more, nothing is taken. */
export function chargeLate(exchange: Exchange, cost: TokenCost): void {
  const {
    enforcement: { refusalReason: refusal },
  } = exchange
  const settle = (): void => {
    // Whoever says no says it too late.
    exchange.enforcement.refusalReason = refusal
    for (const charge of exchange.enforcement.charges) charge.settle(cost)
  }
  const verdict = exchange.handler.admit(exchange, 0)
  if (verdict instanceof Promise) verdict.then(settle, settle)
  else settle()
}

// What an answer cost, made comparable: some providers count cached tokens as input, others beside it. Here they are input.

/** `input`: what the prompt is taken for if nobody counted it. */
export function computeLlmCost(seen: ObservedUsage, input: number): TokenCost {
  // Whatever it was asked as, what an answer reports was spent.
  if (seen.isFree && seen.usage === null) return NO_COST
  const counted = countedInputOf(seen)
  const output = countedOutputOf(seen)
  const guess = Math.max(seen.outputGuess, seen.usage?.output ?? 0)
  const isOutputKnown = output !== undefined || guess === 0
  const isCounted = counted !== undefined && isOutputKnown && seen.ending === 'seen'
  return {
    input: counted ?? input,
    output: output ?? guess,
    basis: isCounted ? 'counted' : 'estimated',
  }
}

/** What a provider reported; nothing that was guessed. */
export function llmFactsOf(seen: ObservedUsage): Partial<LlmFacts> {
  const { model, serviceTier, countTokens } = seen
  const usage = seen.usage ?? {}
  const input = countedInputOf(seen)
  const output = countedOutputOf(seen)
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
    reasoningTokens: usage.reasoning,
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

/** Of an answer that was cut only what was counted as it came. */
function countedOutputOf({ usage, outputCount, ending }: ObservedUsage): number | undefined {
  if (usage === null) return undefined
  if (ending === 'seen') return usage.output ?? remainderOf(usage, usage.input)
  return outputCount === 'whole' ? usage.output : undefined
}

/** A total without the other part of it: embeddings and rankings have only one. */
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
  const told: Partial<Facts> = {}
  for (const name of Object.keys(facts) as (keyof Facts)[])
    if (facts[name] !== undefined) told[name] = facts[name]
  return told
}
