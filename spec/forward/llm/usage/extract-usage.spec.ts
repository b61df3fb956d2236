// Usage in large events.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LlmFormat, ObservedUsage } from '../../../../lib/forward/llm/llm-call-types.ts'
import { MAX_WATCHED_MEMBER_BYTES } from '../../../../lib/forward/llm/usage/member-reader.ts'
import { frameOf, wrappedFrameOf } from '../../../support/llm/frames.ts'
import { watched } from '../../../support/llm/watched.ts'

/** A member that is longer than the bound. */
const LONG = JSON.stringify({ text: '"usage":{} \\'.repeat(MAX_WATCHED_MEMBER_BYTES / 8) })

/** An image in base64, longer than any event that is held. */
const IMAGE = 'iVBORw0KGgo/'.repeat(500_000)

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

extracting('reads the usage of an event of any size, in pieces of any size', () => {
  const usage = '"usage":{"input_tokens":50,"output_tokens":1100,"total_tokens":1150}'
  const events = [
    `{"type":"image_generation.completed","b64_json":"${IMAGE}",${usage}}`,
    `{"type":"image_generation.completed",${usage},"b64_json":"${IMAGE}"}`,
    `{"type":"response.completed","response":{"output":[{"result":"${IMAGE}"}],${usage}}}`,
    `{"type":"response.completed","response":{${usage},"output":[{"result":"${IMAGE}"}]}}`,
  ]
  for (const event of events)
    for (const size of [1, 1_000, 65_536, 10_000_000]) {
      // Single bytes only at the start and the end, where everything but the image is.
      const bytes = Buffer.from(`data: ${event}\n\n`)
      const chunks = [...piecesOf(bytes.subarray(0, 500), Math.min(size, 500))]
      chunks.push(...piecesOf(bytes.subarray(500, -500), Math.max(size, 1_000)))
      chunks.push(...piecesOf(bytes.subarray(-500), Math.min(size, 500)))
      const seen = watched('detect', 'text/event-stream', chunks)
      assert.equal(seen.usage, { input: 50, output: 1100, total: 1150 }, `${size}`)
    }
})

function piecesOf(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_none, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  )
}

extracting('estimates no tokens for base64, in events, JSON, lines and frames', () => {
  const text = 'words and more words. '.repeat(100)
  const image = `{"content":"${text}","image":"${IMAGE.slice(0, 60_000)}"}`
  const plain = `{"content":"${text}","image":""}`
  for (const [type, wrap] of [
    ['text/event-stream', (event: string) => Buffer.from(`data: ${event}\n\n`)],
    ['application/json', (event: string) => Buffer.from(event)],
    ['application/x-ndjson', (event: string) => Buffer.from(`${event}\n{}\n`)],
    ['application/vnd.amazon.eventstream', (event: string) => frameOf('chunk', event)],
    [
      'application/vnd.amazon.eventstream',
      (event: string) => wrappedFrameOf(event.slice(0, 40_000)),
    ],
  ] as const) {
    const [with64, without] = [image, plain].map(
      (event) => watched('completions', type, piecesOf(wrap(event), 700)).outputGuess,
    )
    assert.ok(Math.abs(with64! - without!) <= 1, `${type}: ${with64} and ${without}`)
    assert.ok(without! > 1, type)
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
