// Usage in JSON responses.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Outcome } from '../../../../lib/core/types.ts'
import type { LlmFormat, ObservedUsage } from '../../../../lib/forward/llm/llm-call-types.ts'
import { MAX_WATCHED_MEMBER_BYTES } from '../../../../lib/forward/llm/usage/member-reader.ts'
import { watched } from '../../../support/llm/watched.ts'
import { splits } from '../../../support/splits.ts'

function read(text: string, format: LlmFormat = 'completions', outcome?: Outcome): ObservedUsage {
  return watched(format, 'application/json', [text], outcome)
}

const json = suite('json watch')

json('reads usage and model only from the root', () => {
  const texts = [
    '{"choices":[{"usage":{"prompt_tokens":1},"model":"x"}],"a":{"usage":{"prompt_tokens":2}}}',
    '{"choices":"\\"usage\\":{\\"prompt_tokens\\":1},\\"model\\":\\"x\\""}',
    '{"usage":"{\\"prompt_tokens\\":1}","model":{"model":"x"}}',
    '{"usage":[{"prompt_tokens":1}],"model":7}',
    '{"usage":null,"model":null}',
    '{"usage":{"model":"x"},"model":""}',
    '{}',
  ]
  for (const text of texts)
    for (const chunks of splits(Buffer.from(text))) {
      const seen = watched('completions', 'application/json', chunks)
      assert.equal([seen.usage, seen.model, seen.ending], [null, null, 'seen'], text)
    }
})

json('continues after members of any size', () => {
  const long = 'x'.repeat(MAX_WATCHED_MEMBER_BYTES)
  const usage = '"usage":{"prompt_tokens":3,"completion_tokens":4}'
  assert.equal(read(`{"choices":["${long.repeat(20)}"],${usage}}`).usage, { input: 3, output: 4 })
})

json('skips a member that is longer than any usage', () => {
  const long = 'x'.repeat(MAX_WATCHED_MEMBER_BYTES)
  const seen = read(`{"usage":{"x":"${long}","prompt_tokens":3},"model":"m"}`)
  assert.equal([seen.usage, seen.model, seen.ending], [null, 'm', 'seen'])
})

json('reads objects on lines, at every split, and counts each line of a truncated response', () => {
  const word = '{"model":"m","message":{"content":"}\\n{"},"done":false}'
  const last = '{"done":true,"prompt_eval_count":3,"eval_count":4}'
  for (const end of ['\n', '\r\n'])
    for (const chunks of splits(Buffer.from([word, word, last, ''].join(end)))) {
      const seen = watched('detect', 'application/x-ndjson', chunks)
      assert.equal(
        [seen.usage, seen.model, seen.ending],
        [{ input: 3, output: 4 }, 'm', 'seen'],
        `${chunks[0]?.length}`,
      )
      const cut = watched('detect', 'application/jsonl', [word, end, word, end], 'backend_reset')
      assert.equal([cut.usage, cut.outputGuess], [null, 2])
    }
})

json('keeps the usage of a truncated response, but marks it as incomplete', () => {
  const text = '{"model":"m","usage":{"prompt_tokens":3,"completion_tokens":4},"id":"a'
  for (const outcome of ['backend_reset', 'client_closed', 'complete'] as const) {
    const seen = read(text, 'completions', outcome)
    assert.equal([seen.usage, seen.model], [{ input: 3, output: 4 }, 'm'])
    assert.is(seen.ending, 'missing', outcome)
  }
})

json('marks a response as complete if the client closes the connection after its end', () => {
  assert.is(read('{"usage":{}}', 'completions', 'client_closed').ending, 'seen')
})

json('reads nothing from bytes that are not JSON', () => {
  for (const text of [
    '{"usage":}',
    '{"a":01,"usage":{"prompt_tokens":1}}',
    '[1]',
    '{]',
    '[[{}]]',
  ]) {
    const seen = read(text)
    assert.equal([seen.usage, seen.ending], [null, 'missing'], text)
  }
})

const ARRAY = [
  '[{"usageMetadata":{"promptTokenCount":3},"modelVersion":"g"}',
  ',\r\n{"candidates":[{"x":"]},{"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4}}',
  '\n,\n{}\n]\n',
].join('')

json('reads the objects of an array one by one, and uses the last counts', () => {
  for (const text of [ARRAY, ` \n${ARRAY}`, `\ufeff${ARRAY}`])
    for (const chunks of splits(Buffer.from(text))) {
      const seen = watched('generateContent', 'application/json', chunks)
      assert.equal([seen.usage, seen.model], [{ input: 3, output: 4 }, 'g'])
      assert.is(seen.ending, 'seen')
    }
  assert.is(read('[]', 'generateContent', 'client_closed').ending, 'seen')
  assert.is(read('[{}', 'generateContent', 'client_closed').ending, 'missing')
})

json('reads a response in one piece and in many pieces alike, with any space around it', () => {
  const answer =
    '{"model":"m","choices":[{"x":"}{"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}'
  for (const text of [answer, `${answer}\r\n`, ` ${answer}`, `\ufeff${answer}`, `${answer}}`])
    for (const chunks of splits(Buffer.from(text))) {
      const seen = watched('completions', 'application/json', chunks)
      assert.equal([seen.usage, seen.model], [{ input: 3, output: 4 }, 'm'], text)
      assert.is(seen.ending, 'seen', text)
    }
})

json('does not confuse the end of an inner object with the end of the response', () => {
  const seen = read('{"model":"m","usage":{"prompt_tokens":3,"completion_tokens":4}')
  assert.equal([seen.usage, seen.ending], [{ input: 3, output: 4 }, 'missing'])
})

json('estimates tokens from bytes where a response is text', () => {
  assert.is(read('{"a":"bcdefghij"}').outputGuess, 5)
  for (const format of ['embeddings', 'rerank', 'detect', 'passthrough'] as const)
    assert.is(read('{"a":"bcdefghij"}', format).outputGuess, 0)
})

json('measures the time of the first and of the last bytes', () => {
  const seen = watched('messages', 'application/json', ['{', '"a":1', '}'])
  assert.equal([seen.firstAt, seen.lastAt], [101, 103])
})

json.run()
