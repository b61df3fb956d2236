// Usage in event streams, in every dialect.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Outcome } from '../../../../lib/core/types.ts'
import type { LlmFormat, ObservedUsage } from '../../../../lib/forward/llm/llm-call-types.ts'
import { computeLlmCost, llmFactsOf } from '../../../../lib/forward/llm/usage/usage-settlement.ts'
import { PROMPT_GUESS, bytesOf } from '../../../support/llm/fixture.ts'
import { watched } from '../../../support/llm/watched.ts'
import { splits } from '../../../support/splits.ts'

function read(
  chunks: readonly string[],
  format: LlmFormat = 'completions',
  outcome?: Outcome,
): ObservedUsage {
  return watched(format, 'text/event-stream', chunks, outcome)
}

/** The first events of a stored stream. */
function beginOf(file: string, events: number): string[] {
  return bytesOf(file)
    .toString()
    .split(/(?<=\n\n)/)
    .slice(0, events)
}

const events = suite('event watch')

events('ignores usage, models and endings inside of text or other members', () => {
  const data = [
    '{"choices":[{"delta":{"content":"\\"usage\\":{\\"prompt_tokens\\":1},\\"model\\":\\"x\\""}}]}',
    '{"choices":[{"delta":{"content":"data: [DONE]\\n\\n"}}]}',
    '{"choices":[{"delta":{"content":"[DONE]"}}]}',
    '{"choices":[{"usage":{"prompt_tokens":1},"model":"x"}]}',
    '{"content":"usage","x":"model","type":"[DONE]x"}',
    '[{"usage":{"prompt_tokens":1},"model":"x"}]',
    '"usage\\":{\\"prompt_tokens\\":1}"',
    '{"usage":{"prompt_tokens":1},"model":"x"',
    ' [DONE]',
  ]
  for (const text of data)
    for (const chunks of splits(Buffer.from(`data: {}\n\ndata: ${text}\n\n`))) {
      const seen = watched('completions', 'text/event-stream', chunks)
      assert.equal([seen.usage, seen.model, seen.ending], [null, null, 'missing'], text)
    }
})

events('ignores text with the endings of other dialects', () => {
  const texts = ['message_stop', 'response.completed', '{\\"type\\":\\"message_stop\\"}']
  for (const text of texts)
    for (const format of ['messages', 'responses'] as const) {
      const seen = read([`data: {"delta":"${text}"}\n\n`], format)
      assert.is(seen.ending, 'missing', text)
    }
})

events('recognises the last event of each dialect by its type or by its name', () => {
  const ends: [LlmFormat, string][] = [
    ['completions', 'data: [DONE]'],
    ['messages', 'data: {"type":"message_stop"}'],
    ['messages', 'event: message_stop\ndata: {}'],
    ['responses', 'data: {"type":"response.completed","response":{}}'],
    ['responses', 'data: {"type":"response.failed","response":{}}'],
    ['responses', 'data: {"type":"response.incomplete","response":{}}'],
    ['responses', 'event: response.completed\ndata: {}'],
  ]
  for (const [format, end] of ends)
    for (const outcome of ['complete', 'client_closed'] as const) {
      const seen = read(['data: {}\n\n', `${end}\n\n`], format, outcome)
      assert.is(seen.ending, 'seen', `${format} ${end}`)
    }
})

events('accepts a stream without a last event only if the dialect has none', () => {
  const ends = (['generateContent', 'detect', 'completions', 'messages', 'responses'] as const).map(
    (format) => read(['data: {}\n\n'], format).ending,
  )
  assert.equal(ends, ['seen', 'seen', 'missing', 'missing', 'missing'])
  assert.is(read(['data: {}\n\n'], 'generateContent', 'backend_reset').ending, 'missing')
})

events('uses the last count of each kind, and adds nothing up', () => {
  const seen = read(
    [
      'data: {"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}}\n\n',
      'data: {"type":"message_delta","usage":{"output_tokens":7}}\n\n',
      'data: {"type":"message_delta","usage":{"input_tokens":12,"output_tokens":9,"cache_read_input_tokens":null}}\n\n',
    ],
    'messages',
  )
  assert.equal(seen.usage, { input: 12, output: 9, cachedInput: 5 })
})

events('ignores null and any value that is not a count', () => {
  const usages = ['null', '{}', '7', '"x"', '{"prompt_tokens":null}', '{"prompt_tokens":"7"}']
  usages.push('{"prompt_tokens":-1}', '{"prompt_tokens":1.5}', '{"prompt_tokens":9007199254740992}')
  usages.push('{"prompt_tokens":1e400}', '{"prompt_tokens":[1]}', '{"prompt_tokens":true}')
  const report = 'data: {"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n'
  for (const usage of usages) {
    const seen = read([report, `data: {"usage":${usage}}\n\n`])
    assert.equal(seen.usage, { input: 3, output: 4 }, usage)
    assert.is(read([`data: {"usage":${usage}}\n\n`]).usage, null, usage)
  }
})

events('keeps the first model that is not empty', () => {
  const models = ['""', 'null', '7', '"first"', '"second"']
  const seen = read(models.map((model) => `data: {"model":${model}}\n\n`))
  assert.is(seen.model, 'first')
})

events('counts events in any split, but no comments and no ending', () => {
  const event = 'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'
  for (const end of ['\n', '\r\n', '\r']) {
    const wire = `${event.repeat(5)}: ping\n\n${event.repeat(2)}data: [DONE]\n\n`
    const bytes = Buffer.from(wire.replaceAll('\n', end))
    for (const chunks of splits(bytes))
      assert.is(watched('completions', 'text/event-stream', chunks).outputGuess, 7)
  }
})

events('counts long events as more than one token, in chunks of any size', () => {
  const event = `data: {"choices":[{"delta":{"content":"${'word '.repeat(12_000)}"}}]}\n\n`
  const bytes = Buffer.from(event.repeat(20))
  const expected = 20 + Math.ceil((bytes.length - 20 * 512) / 4)
  for (const size of [1000, event.length, bytes.length]) {
    const count = Math.ceil(bytes.length / size)
    const chunks = Array.from({ length: count }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
    assert.is(watched('completions', 'text/event-stream', chunks).outputGuess, expected)
  }
})

events('estimates the cost of a truncated stream from what it has read', () => {
  const chat = read(beginOf('chat-stream.sse', 4), 'completions', 'client_closed')
  assert.equal(computeLlmCost(chat, PROMPT_GUESS), {
    input: PROMPT_GUESS,
    output: 4,
    basis: 'estimated',
  })
  assert.equal(llmFactsOf(chat), { responseModel: 'gpt-4o-2024-08-06', serviceTier: 'default' })
  const whole = read(beginOf('chat-stream.sse', 8), 'completions', 'client_closed')
  assert.equal(computeLlmCost(whole, PROMPT_GUESS), { input: 1117, output: 46, basis: 'estimated' })
})

events('does not use the output count at the start of a response as its total', () => {
  const cut = read(beginOf('messages-stream.sse', 6), 'messages', 'backend_reset')
  assert.equal(computeLlmCost(cut, PROMPT_GUESS), { input: 2373, output: 6, basis: 'estimated' })
  const { inputTokens, outputTokens, totalTokens } = llmFactsOf(cut)
  assert.equal([inputTokens, outputTokens, totalTokens], [2373, undefined, undefined])
  const early = read(beginOf('messages-stream.sse', 1), 'messages', 'client_closed')
  assert.equal(computeLlmCost(early, PROMPT_GUESS), { input: 2373, output: 1, basis: 'estimated' })
})

events('uses the last value of a growing count', () => {
  const cut = read(beginOf('chat-stream-cumulative.sse', 3), 'completions', 'client_closed')
  assert.equal(computeLlmCost(cut, PROMPT_GUESS), { input: 21, output: 2, basis: 'estimated' })
})

events('measures the time of the first event and of the last bytes, ignoring comments', () => {
  const word = 'data: {"choices":[]}\n\n'
  const seen = read([': waiting\n\n', ': waiting\n\n', word, word, word])
  assert.equal([seen.firstAt, seen.lastAt], [103, 105])
  const silent = read([': waiting\n\n'])
  assert.equal([silent.firstAt, silent.outputGuess], [0, 0])
})

events('costs little for a chunk without new information', () => {
  // The reason: parsing every delta makes a proxy several times slower.
  const word = `data: {"id":"chatcmpl-1","model":"gpt-4o","choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}],"usage":null}\n\n`
  const chunks = Array.from({ length: 50_000 }, () => word)
  const started = process.cpuUsage()
  read(chunks)
  const { user, system } = process.cpuUsage(started)
  const each = (user + system) / chunks.length
  assert.ok(each < 10, `${each} us`)
})

events.run()
