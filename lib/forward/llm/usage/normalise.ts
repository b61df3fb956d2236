// What an answer cost, made comparable: some providers count cached tokens as input, others beside it. Here they are input.

import type { LlmFacts } from '../../../base/cel/facts.ts'
import { NO_COST } from '../../../base/cost.ts'
import type { Cost } from '../../../base/types.ts'
import type { RawUsage, Seen } from '../types.ts'

/** `input`: what the prompt is taken for if nobody counted it. */
export function costOf(seen: Seen, input: number): Cost {
  // Whatever it was asked as, what an answer reports was spent.
  if (seen.isFree && seen.usage === null) return NO_COST
  const counted = inputOf(seen)
  const output = outputOf(seen)
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
export function llmFactsOf(seen: Seen): Partial<LlmFacts> {
  const { model, serviceTier, countTokens } = seen
  const usage = seen.usage ?? {}
  const input = inputOf(seen)
  const output = outputOf(seen)
  return withoutGaps({
    responseModel: model ?? undefined,
    serviceTier: serviceTier ?? undefined,
    countTokens: countTokens ?? undefined,
    inputTokens: input,
    outputTokens: output,
    totalTokens: sumOf(input, output),
    providerInputTokens: usage.input,
    providerTotalTokens: usage.total ?? sumOf(usage.input, output),
    cachedInputTokens: usage.cachedInput,
    cacheCreationInputTokens: usage.cacheCreation,
    reasoningTokens: usage.reasoning,
    inputAudioTokens: usage.inputAudio,
    outputAudioTokens: usage.outputAudio,
  })
}

function inputOf({ usage, counts }: Seen): number | undefined {
  if (usage === null) return undefined
  const input = usage.input ?? restOf(usage, usage.output ?? 0)
  if (input === undefined || counts === 'withCached') return input
  return exact(input + (usage.cachedInput ?? 0) + (usage.cacheCreation ?? 0))
}

/** Of an answer that was cut only what was counted as it came. */
function outputOf({ usage, outputCount, ending }: Seen): number | undefined {
  if (usage === null) return undefined
  if (ending === 'seen') return usage.output ?? restOf(usage, usage.input)
  return outputCount === 'whole' ? usage.output : undefined
}

/** A total without the other part of it: embeddings and rankings have only one. */
function restOf({ total }: RawUsage, part: number | undefined): number | undefined {
  if (total === undefined) return undefined
  return Math.max(0, total - (part ?? total))
}

function sumOf(input: number | undefined, output: number | undefined): number | undefined {
  return input === undefined || output === undefined ? undefined : exact(input + output)
}

function exact(sum: number): number {
  return Math.min(sum, Number.MAX_SAFE_INTEGER)
}

function withoutGaps<Facts extends object>(facts: Facts): Partial<Facts> {
  const told: Partial<Facts> = {}
  for (const name of Object.keys(facts) as (keyof Facts)[])
    if (facts[name] !== undefined) told[name] = facts[name]
  return told
}
