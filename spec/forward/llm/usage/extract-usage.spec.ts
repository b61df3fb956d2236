// Usage in large events.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LlmFormat, ObservedUsage } from '../../../../lib/forward/llm/llm-call-types.ts'
import { MAX_WATCHED_MEMBER_BYTES } from '../../../../lib/forward/llm/usage/extract-usage.ts'
import { watched } from '../../../support/llm/watched.ts'

/** A member that is longer than the bound. */
const LONG = JSON.stringify({ text: '"usage":{} \\'.repeat(MAX_WATCHED_MEMBER_BYTES / 8) })

function read(data: string, format: LlmFormat = 'completions'): ObservedUsage {
  return watched(format, 'text/event-stream', [`data: ${data}\n\n`])
}

const extracting = suite('extract usage')

extracting('finds the same in a long event as in a short one', () => {
  const usage = '"usage":{"prompt_tokens":3,"completion_tokens":4}'
  for (const filling of ['0', LONG])
    for (const data of [
      `{"a":${filling},${usage},"model":"m"}`,
      `{${usage},"a":${filling},"model":"m"}`,
      `{"model":"m",${usage},"a":${filling}}`,
    ]) {
      const seen = read(data)
      assert.equal([seen.usage, seen.model], [{ input: 3, output: 4 }, 'm'])
    }
})

extracting('searches a long member that may contain usage, model and tier', () => {
  for (const filling of ['0', LONG]) {
    const response = `{"output":${filling},"model":"m","service_tier":"flex","usage":{"input_tokens":3,"output_tokens":4}}`
    const seen = read(`{"type":"response.completed","response":${response}}`, 'responses')
    assert.equal(
      [seen.usage, seen.model, seen.serviceTier, seen.ending],
      [{ input: 3, output: 4 }, 'm', 'flex', 'seen'],
    )
  }
})

extracting('ignores a usage member that is too long', () => {
  for (const usage of [LONG, JSON.stringify([LONG]), JSON.stringify(LONG)]) {
    const seen = read(`{"model":"m","usage":${usage}}`)
    assert.equal([seen.usage, seen.model], [null, 'm'])
    assert.ok(seen.outputGuess > 1)
  }
})

extracting('reads nothing from a long event that is not a JSON object, or truncated', () => {
  for (const data of [`{"model":"m","a":${LONG}`, `[{"model":"m","a":${LONG}}]`, `${LONG}"model"`])
    assert.is(read(data).model, null)
})

extracting('takes no longer for an event of nested arrays', () => {
  // The bug: `JSON.parse` of a 4 MB event blocked all other streams for seconds.
  const depth = 2_000_000
  const started = process.cpuUsage()
  const seen = read(`{"usage":${'['.repeat(depth)}${']'.repeat(depth)}}`)
  const { user, system } = process.cpuUsage(started)
  assert.is(seen.usage, null)
  assert.ok(user + system < 500_000, `${user + system} us`)
})

extracting.run()
