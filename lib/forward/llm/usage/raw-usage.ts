// Reads what a provider calls usage, in any of the shapes that are about; the names of the shapes do not overlap.

import type { InputCount, RawUsage } from '../types.ts'

export interface Report {
  readonly usage: RawUsage
  /** null where the shape leaves it to its dialect. */
  readonly counts: InputCount | null
}

type Count = keyof RawUsage

/** In each row the first that is there counts; `+` for counts of which one does not hold the other. */
const NAMES: Readonly<Record<Count, readonly string[]>> = {
  input: [
    'prompt_tokens',
    'input_tokens',
    'promptTokenCount + toolUsePromptTokenCount',
    'inputTokens',
    'inputTokenCount',
    'tokens.input_tokens',
    'billed_units.input_tokens',
  ],
  output: [
    'completion_tokens',
    'output_tokens',
    'candidatesTokenCount + thoughtsTokenCount',
    'outputTokens',
    'outputTokenCount',
    'tokens.output_tokens',
    'billed_units.output_tokens',
  ],
  total: ['total_tokens', 'totalTokenCount', 'totalTokens'],
  cachedInput: [
    'prompt_tokens_details.cached_tokens',
    'input_tokens_details.cached_tokens',
    'cache_read_input_tokens',
    'prompt_cache_hit_tokens',
    'cachedContentTokenCount',
    'cacheReadInputTokens',
    'cacheReadInputTokenCount',
  ],
  cacheCreation: [
    'prompt_tokens_details.cache_write_tokens',
    'input_tokens_details.cache_write_tokens',
    'cache_creation_input_tokens',
    'cacheWriteInputTokens',
    'cacheWriteInputTokenCount',
  ],
  reasoning: [
    'completion_tokens_details.reasoning_tokens',
    'output_tokens_details.reasoning_tokens',
    'output_tokens_details.thinking_tokens',
    'thoughtsTokenCount',
  ],
  inputAudio: ['prompt_tokens_details.audio_tokens', 'input_tokens_details.audio_tokens'],
  outputAudio: ['completion_tokens_details.audio_tokens', 'output_tokens_details.audio_tokens'],
}

/** Counts to add, each by its path. */
type Sum = readonly (readonly string[])[]

const SUMS = Object.entries(NAMES).map(
  ([count, names]) => [count as Count, names.map(sumOf)] as const,
)

function sumOf(text: string): Sum {
  return text.split(' + ').map((path) => path.split('.'))
}

/** Beside an input that does not hold them; OpenAI-like servers borrow the first two for one that does. */
const BESIDE_INPUT = ['cache_read_input_tokens', 'cache_creation_input_tokens']
const BEDROCK = ['inputTokens', 'outputTokens', 'inputTokenCount', 'outputTokenCount']

/** null when there is no count in it. */
export function reportOf(value: unknown): Report | null {
  if (!isObject(value)) return null
  const usage: RawUsage = {}
  for (const [count, sums] of SUMS) {
    const number = firstOf(value, sums)
    if (number !== undefined) usage[count] = number
  }
  return Object.keys(usage).length === 0 ? null : { usage, counts: countsOf(value) }
}

export function merge(older: RawUsage | null, newer: RawUsage): RawUsage {
  return { ...older, ...newer }
}

/** Whole, not negative, and exact; anything else is no count. */
export function countAt(value: unknown, path: readonly string[]): number | undefined {
  const found = valueAt(value, path)
  const isCount = typeof found === 'number' && Number.isSafeInteger(found) && found >= 0
  return isCount ? found : undefined
}

/** A text that says something. */
export function textAt(value: unknown, path: readonly string[]): string | undefined {
  const found = valueAt(value, path)
  return typeof found === 'string' && found !== '' ? found : undefined
}

export function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const name of path) {
    if (!isObject(found) || !Object.hasOwn(found, name)) return undefined
    found = found[name]
  }
  return found
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function firstOf(value: unknown, sums: readonly Sum[]): number | undefined {
  for (const sum of sums) {
    let all: number | undefined
    for (const path of sum) {
      const count = countAt(value, path)
      if (count !== undefined) all = (all ?? 0) + count
    }
    if (all !== undefined) return all
  }
  return undefined
}

function countsOf(usage: Readonly<Record<string, unknown>>): InputCount | null {
  if (Object.hasOwn(usage, 'prompt_tokens')) return 'withCached'
  const has = (name: string): boolean => countAt(usage, [name]) !== undefined
  return BESIDE_INPUT.some(has) || BEDROCK.some(has) ? 'withoutCached' : null
}
