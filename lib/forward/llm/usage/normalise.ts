// What an answer cost, made comparable: some providers count cached tokens as input, others beside it. Here they are input.

import type { LlmFacts } from '../../../base/cel/facts.ts'
import type { Cost } from '../../../base/types.ts'
import type { RawUsage, Seen } from '../types.ts'

const FREE: Cost = { input: 0, output: 0, basis: 'counted' }

/** `input`: what the prompt is taken for if nobody counted it. */
export function costOf(seen: Seen, input: number): Cost {
  if (seen.isFree) return FREE
  const counted = inputOf(seen)
  const output = outputOf(seen)
  const isOutputKnown = output !== undefined || seen.outputGuess === 0
  const isCounted = counted !== undefined && isOutputKnown && seen.ending === 'seen'
  return {
    input: counted ?? input,
    output: output ?? seen.outputGuess,
    basis: isCounted ? 'counted' : 'estimated',
  }
}

/** What a provider reported; nothing that was guessed. */
export function llmFactsOf(seen: Seen): Partial<LlmFacts> {
  const { model, serviceTier, countTokens } = seen
  const usage = seen.usage ?? {}
  const input = inputOf(seen)
  const output = seen.outputCount === 'whole' ? outputOf(seen) : undefined
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

/** Of an answer that was cut behind its first words, at least what was seen of it. */
function outputOf({ usage, outputCount, outputGuess, ending }: Seen): number | undefined {
  const output = usage?.output
  if (output === undefined) return usage === null ? undefined : restOf(usage, usage.input)
  const isGrown = outputCount === 'begun' && ending === 'missing'
  return isGrown ? Math.max(output, outputGuess) : output
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
  const told = Object.entries(facts).filter(([, value]) => value !== undefined)
  return Object.fromEntries(told) as Partial<Facts>
}
