// Parses the usage that a provider reports: in a usage object, in the root of a response, or in response headers. The member
// names of the different shapes do not overlap.

import type { HeaderFields } from '../../../core/head.ts'
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
    'cached_tokens',
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

/** Counts of providers without a usage object, by their paths in the response; those in an array are added. */
const ROOT_FIELD_NAMES: Readonly<Partial<Record<UsageField, readonly string[]>>> = {
  input: [
    'prompt_eval_count', // Ollama
    'tokens_evaluated', // llama.cpp
    'prompt_token_count', // Llama on Bedrock
    'inputTextTokenCount', // Titan on Bedrock
    'details.input_length', // TGI
    'predictions.metadata.input_tokens', // Databricks
  ],
  output: [
    'eval_count',
    'tokens_predicted',
    'generation_token_count',
    'totalOutputTextTokenCount',
    'results.tokenCount', // Titan without a stream
    'details.generated_tokens + details.best_of_sequences.generated_tokens',
    'predictions.metadata.output_tokens',
  ],
}

/** Headers of Bedrock and TGI, whose bodies do not always report usage. */
const USAGE_HEADERS: readonly (readonly [UsageField, readonly string[]])[] = [
  ['input', ['x-amzn-bedrock-input-token-count', 'x-prompt-tokens']],
  ['output', ['x-amzn-bedrock-output-token-count', 'x-generated-tokens']],
  ['cachedInput', ['x-amzn-bedrock-cache-read-input-token-count']],
  ['cacheCreation', ['x-amzn-bedrock-cache-write-input-token-count']],
]

/** Counts to add, each by its path. */
type UsageSum = readonly (readonly string[])[]
type UsageSums = readonly (readonly [UsageField, readonly UsageSum[]])[]

const USAGE_SUMS = parseUsageSums(USAGE_FIELD_NAMES)
const ROOT_SUMS = parseUsageSums(ROOT_FIELD_NAMES)

/** The paths of the counts that `parseRootUsage` reads. */
export const ROOT_USAGE_PATHS: readonly (readonly string[])[] = ROOT_SUMS.flatMap(([, sums]) =>
  sums.flat(),
)

function parseUsageSums(
  names: Readonly<Partial<Record<UsageField, readonly string[]>>>,
): UsageSums {
  return Object.entries(names).map(
    ([count, texts]) => [count as UsageField, texts.map(parseUsageSum)] as const,
  )
}

function parseUsageSum(text: string): UsageSum {
  return text.split(' + ').map((path) => path.split('.'))
}

/** Not included in the input count, except by OpenAI-like servers (`prompt_tokens`) that use the same names. */
const CACHE_FIELDS = ['cache_read_input_tokens', 'cache_creation_input_tokens']
const BEDROCK_FIELDS = ['inputTokens', 'outputTokens', 'inputTokenCount', 'outputTokenCount']

/** null if the value has no count. */
export function parseUsage(value: unknown): ParsedUsage | null {
  if (!isObject(value)) return null
  const usage = readSums(value, USAGE_SUMS)
  return usage === null ? null : { usage, counts: inputCountMeaningOf(value) }
}

/** Parses the counts in the root of a response without a usage object; null if it has none. */
export function parseRootUsage(response: unknown): ParsedUsage | null {
  const usage = isObject(response) ? readSums(response, ROOT_SUMS) : null
  return usage === null ? null : { usage, counts: null }
}

/** Parses the counts in the headers of a response; null if it has none. */
export function parseHeaderUsage(head: Pick<HeaderFields, 'get'>): ParsedUsage | null {
  let usage: RawUsage | null = null
  for (const [count, names] of USAGE_HEADERS)
    for (const name of names) {
      const text = head.get(name)
      if (text === undefined || !COUNT_TEXT.test(text)) continue
      usage ??= {}
      usage[count] ??= Number(text)
    }
  return usage === null ? null : { usage, counts: 'withoutCached' }
}

/** A count as text; 15 digits are always a safe integer. */
const COUNT_TEXT = /^\d{1,15}$/

function readSums(value: Readonly<Record<string, unknown>>, rows: UsageSums): RawUsage | null {
  let usage: RawUsage | null = null
  for (const [count, sums] of rows) {
    const number = readFirstSum(value, sums)
    if (number === undefined) continue
    usage ??= {}
    usage[count] = number
  }
  return usage
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
      const count = addCountsAt(value, path, 0)
      if (count !== undefined) total = (total ?? 0) + count
    }
    if (total !== undefined) return total
  }
  return undefined
}

/** The count at a path from its member `index` on; of an array, the counts in its elements are added. */
function addCountsAt(value: unknown, path: readonly string[], index: number): number | undefined {
  if (Array.isArray(value) && index > 0 && index < path.length) {
    let total: number | undefined
    for (const element of value) {
      const count = addCountsAt(element, path, index)
      if (count !== undefined) total = (total ?? 0) + count
    }
    return total
  }
  if (index === path.length) return readCountAt(value, [])
  const name = path[index]!
  if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
  return addCountsAt(value[name], path, index + 1)
}

function inputCountMeaningOf(usage: Readonly<Record<string, unknown>>): InputCountMeaning | null {
  if (Object.hasOwn(usage, 'prompt_tokens')) return 'withCached'
  const has = (name: string): boolean => readCountAt(usage, [name]) !== undefined
  return CACHE_FIELDS.some(has) || BEDROCK_FIELDS.some(has) ? 'withoutCached' : null
}
