// Parses the usage object of any provider. The member names of the different shapes do not overlap.

import type { InputCountMeaning, RawUsage } from '../llm-call-types.ts'

export interface ParsedUsage {
  readonly usage: RawUsage
  /** null where the dialect decides it, not the shape. */
  readonly counts: InputCountMeaning | null
}

type UsageField = keyof RawUsage

/** In each row the first member found is used; `+` adds counts that do not include each other. */
const USAGE_FIELD_NAMES: Readonly<Record<UsageField, readonly string[]>> = {
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
type UsageSum = readonly (readonly string[])[]

const USAGE_SUMS = Object.entries(USAGE_FIELD_NAMES).map(
  ([count, names]) => [count as UsageField, names.map(parseUsageSum)] as const,
)

function parseUsageSum(text: string): UsageSum {
  return text.split(' + ').map((path) => path.split('.'))
}

/** Not included in the input count, except by OpenAI-like servers (`prompt_tokens`) that use the same names. */
const CACHE_FIELDS = ['cache_read_input_tokens', 'cache_creation_input_tokens']
const BEDROCK_FIELDS = ['inputTokens', 'outputTokens', 'inputTokenCount', 'outputTokenCount']

/** null if the value has no count. */
export function parseUsage(value: unknown): ParsedUsage | null {
  if (!isObject(value)) return null
  const usage: RawUsage = {}
  for (const [count, sums] of USAGE_SUMS) {
    const number = readFirstSum(value, sums)
    if (number !== undefined) usage[count] = number
  }
  return Object.keys(usage).length === 0 ? null : { usage, counts: inputCountMeaningOf(value) }
}

export function mergeUsage(older: RawUsage | null, newer: RawUsage): RawUsage {
  return { ...older, ...newer }
}

/** A safe integer that is not negative; undefined for any other value. */
export function readCountAt(value: unknown, path: readonly string[]): number | undefined {
  const found = readValueAt(value, path)
  const isCount = typeof found === 'number' && Number.isSafeInteger(found) && found >= 0
  return isCount ? found : undefined
}

/** A string that is not empty; undefined for any other value. */
export function readTextAt(value: unknown, path: readonly string[]): string | undefined {
  const found = readValueAt(value, path)
  return typeof found === 'string' && found !== '' ? found : undefined
}

export function readValueAt(value: unknown, path: readonly string[]): unknown {
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

function readFirstSum(value: unknown, sums: readonly UsageSum[]): number | undefined {
  for (const sum of sums) {
    let total: number | undefined
    for (const path of sum) {
      const count = readCountAt(value, path)
      if (count !== undefined) total = (total ?? 0) + count
    }
    if (total !== undefined) return total
  }
  return undefined
}

function inputCountMeaningOf(usage: Readonly<Record<string, unknown>>): InputCountMeaning | null {
  if (Object.hasOwn(usage, 'prompt_tokens')) return 'withCached'
  const has = (name: string): boolean => readCountAt(usage, [name]) !== undefined
  return CACHE_FIELDS.some(has) || BEDROCK_FIELDS.some(has) ? 'withoutCached' : null
}
