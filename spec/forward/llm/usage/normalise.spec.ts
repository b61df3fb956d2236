// The cost and the facts of a response, from the usage that a provider reports.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RawUsage, ObservedUsage } from '../../../../lib/forward/llm/llm-call-types.ts'
import { computeLlmCost, llmFactsOf } from '../../../../lib/forward/llm/usage/usage-settlement.ts'
import { parseUsage } from '../../../../lib/forward/llm/usage/raw-usage.ts'

const NOTHING: ObservedUsage = {
  usage: null,
  counts: 'withCached',
  model: null,
  serviceTier: null,
  outputCount: 'whole',
  countTokens: null,
  isFree: false,
  ending: 'seen',
  outputGuess: 9,
  firstAt: 0,
  lastAt: 0,
}

function seen(usage: RawUsage, more: Partial<ObservedUsage> = {}): ObservedUsage {
  return { ...NOTHING, usage, ...more }
}

const normalise = suite('normalise')

normalise('does not change an input that includes cached tokens', () => {
  const usage = { input: 100, output: 5, cachedInput: 80, cacheCreation: 10 }
  assert.equal(computeLlmCost(seen(usage), 7), { input: 100, output: 5, basis: 'counted' })
})

normalise('adds cached tokens to an input without them, and keeps the raw numbers', () => {
  const usage = { input: 10, output: 5, total: 15, cachedInput: 80, cacheCreation: 20 }
  const said = seen(usage, { counts: 'withoutCached' })
  assert.equal(computeLlmCost(said, 7), { input: 110, output: 5, basis: 'counted' })
  assert.equal(llmFactsOf(said), {
    inputTokens: 110,
    outputTokens: 5,
    totalTokens: 115,
    providerInputTokens: 10,
    providerTotalTokens: 15,
    cachedInputTokens: 80,
    cacheCreationInputTokens: 20,
  })
})

normalise('computes a missing count from the total', () => {
  const cases: [RawUsage, number, number][] = [
    [{ total: 8 }, 8, 0],
    [{ input: 8, total: 8 }, 8, 0],
    [{ input: 5, total: 8 }, 5, 3],
    [{ output: 5, total: 8 }, 3, 5],
    [{ input: 9, total: 8 }, 9, 0],
  ]
  for (const [usage, input, output] of cases)
    assert.equal(computeLlmCost(seen(usage), 7), { input, output, basis: 'counted' })
})

normalise('counts what the total has above input and output as reasoning', () => {
  const xai = seen({ input: 32, output: 9, total: 135 })
  assert.equal(computeLlmCost(xai, 7), { input: 32, output: 103, basis: 'counted' })
  assert.is(llmFactsOf(xai).reasoningTokens, 94)
  const said = seen({ input: 32, output: 9, total: 135, reasoning: 90 })
  assert.is(llmFactsOf(said).reasoningTokens, 90)
  // A total may include cached tokens that the input does not.
  const usage = { input: 10, output: 5, total: 95, cachedInput: 80 }
  const cached = seen(usage, { counts: 'withoutCached' })
  assert.equal(computeLlmCost(cached, 7), { input: 90, output: 5, basis: 'counted' })
  assert.is(llmFactsOf(cached).reasoningTokens, undefined)
  const cut = seen({ input: 32, output: 9, total: 135 }, { ending: 'missing' })
  assert.is(computeLlmCost(cut, 7).output, 103)
  const huge = seen({ input: 0, output: 1, total: Number.MAX_SAFE_INTEGER })
  assert.is(computeLlmCost(huge, 7).output, Number.MAX_SAFE_INTEGER)
})

normalise('estimates counts that are not reported, and marks them as estimated', () => {
  const basis = 'estimated'
  assert.equal(computeLlmCost(NOTHING, 7), { input: 7, output: 9, basis })
  assert.equal(computeLlmCost(seen({ input: 3 }), 7), { input: 3, output: 9, basis })
  assert.equal(computeLlmCost(seen({ output: 3 }), 7), { input: 7, output: 3, basis })
  const cut = seen({ input: 3, output: 4 }, { ending: 'missing' })
  assert.equal(computeLlmCost(cut, 7), { input: 3, output: 4, basis })
  assert.equal(computeLlmCost(seen({ input: 3, total: 3 }, { ending: 'missing' }), 7), {
    input: 3,
    output: 9,
    basis,
  })
})

normalise('counts only the input where there is no output', () => {
  const only = seen({ input: 3 }, { outputGuess: 0 })
  assert.equal(computeLlmCost(only, 7), { input: 3, output: 0, basis: 'counted' })
})

normalise('uses the larger of the count at the start and the events seen', () => {
  const cut = { outputCount: 'begun', ending: 'missing' } as const
  assert.is(computeLlmCost(seen({ input: 3, output: 4 }, cut), 7).output, 9)
  assert.is(computeLlmCost(seen({ input: 3, output: 40 }, cut), 7).output, 40)
  assert.is(llmFactsOf(seen({ input: 3, output: 4 }, cut)).outputTokens, undefined)
  const whole = seen({ input: 3, output: 4 }, { outputCount: 'begun' })
  assert.equal(computeLlmCost(whole, 7), { input: 3, output: 4, basis: 'counted' })
})

normalise('charges nothing for free formats', () => {
  const free = { ...NOTHING, isFree: true, ending: 'missing', countTokens: 31 } as const
  assert.equal(computeLlmCost(free, 7), { input: 0, output: 0, basis: 'counted' })
  assert.equal(llmFactsOf(free), { countTokens: 31 })
})

normalise('omits facts that were not reported', () => {
  assert.equal(llmFactsOf(NOTHING), {})
  assert.equal(Object.keys(llmFactsOf(seen({ reasoning: 2 }, { model: 'm' }))), [
    'responseModel',
    'reasoningTokens',
  ])
})

normalise('does not add beyond the largest safe integer', () => {
  const most = Number.MAX_SAFE_INTEGER
  const said = seen({ input: most, output: most, cachedInput: most }, { counts: 'withoutCached' })
  assert.equal(computeLlmCost(said, 7), { input: most, output: most, basis: 'counted' })
  assert.is(llmFactsOf(said).totalTokens, most)
})

const SHAPES: [usage: unknown, report: ReturnType<typeof parseUsage>][] = [
  [{ prompt_tokens: 1 }, { usage: { input: 1 }, counts: 'withCached' }],
  [
    { prompt_tokens: 9, cache_read_input_tokens: 8, cache_creation_input_tokens: 1 },
    { usage: { input: 9, cachedInput: 8, cacheCreation: 1 }, counts: 'withCached' },
  ],
  [
    { prompt_tokens: 9, prompt_cache_hit_tokens: 8, prompt_cache_miss_tokens: 1 },
    { usage: { input: 9, cachedInput: 8 }, counts: 'withCached' },
  ],
  [
    { input_tokens: 1, output_tokens: 2 },
    { usage: { input: 1, output: 2 }, counts: null },
  ],
  [
    { input_tokens: 1, cache_read_input_tokens: 8 },
    { usage: { input: 1, cachedInput: 8 }, counts: 'withoutCached' },
  ],
  [
    { input_tokens: 9, input_tokens_details: { cached_tokens: 8, cache_write_tokens: 1 } },
    { usage: { input: 9, cachedInput: 8, cacheCreation: 1 }, counts: null },
  ],
  [
    { inputTokens: 1, outputTokens: 2, cacheWriteInputTokens: 3 },
    { usage: { input: 1, output: 2, cacheCreation: 3 }, counts: 'withoutCached' },
  ],
  [
    { promptTokenCount: 1, toolUsePromptTokenCount: 2, thoughtsTokenCount: 3, totalTokenCount: 6 },
    { usage: { input: 3, output: 3, total: 6, reasoning: 3 }, counts: null },
  ],
  [
    { billed_units: { input_tokens: 1 }, tokens: { input_tokens: 71, output_tokens: 5 } },
    { usage: { input: 71, output: 5 }, counts: null },
  ],
  [{ search_units: 1 }, null],
  [{ prompt_tokens: '1' }, null],
  [null, null],
  [[], null],
  ['usage', null],
  [JSON.parse('{"__proto__":{"prompt_tokens":5}}'), null],
  [Object.create({ prompt_tokens: 5 }), null],
]

normalise('reads usage in every shape', () => {
  for (const [usage, report] of SHAPES) assert.equal(parseUsage(usage), report)
})

normalise.run()
