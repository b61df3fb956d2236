// Usage in Amazon event stream frames.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LlmFormat, ObservedUsage } from '../../../../lib/forward/llm/llm-call-types.ts'
import type { Outcome } from '../../../../lib/core/types.ts'
import { computeLlmCost } from '../../../../lib/forward/llm/usage/usage-settlement.ts'
import { MAX_WATCHED_PAYLOAD_BYTES } from '../../../../lib/forward/llm/usage/watch-frames.ts'
import { guessEventTokens } from '../../../../lib/forward/llm/usage/extract-usage.ts'
import { frameOf, wrappedFrameOf } from '../../../support/llm/frames.ts'
import { watched } from '../../../support/llm/watched.ts'
import { splits } from '../../../support/splits.ts'

const TYPE = 'application/vnd.amazon.eventstream'
const WORD = frameOf(
  'contentBlockDelta',
  '{"contentBlockIndex":0,"delta":{"text":"a \\"usage\\""}}',
)
const STOP = frameOf('messageStop', '{"stopReason":"end_turn"}')
const USAGE =
  '{"metrics":{"latencyMs":9},"usage":{"inputTokens":30,"outputTokens":20,"totalTokens":50}}'
const METADATA = frameOf('metadata', USAGE)
const CONVERSE = [frameOf('messageStart', '{"role":"assistant"}'), WORD, WORD, STOP, METADATA]

function read(
  chunks: readonly Buffer[],
  format: LlmFormat = 'detect',
  outcome: Outcome = 'complete',
): ObservedUsage {
  return watched(format, TYPE, chunks, outcome)
}

const frames = suite('frame watch')

frames('reads the usage at the end of a Converse stream, at every split', () => {
  for (const chunks of splits(Buffer.concat(CONVERSE)))
    assert.equal(computeLlmCost(read(chunks), 1), { input: 30, output: 20, basis: 'counted' })
})

frames('reads the wrapped response of a model in its own dialect', () => {
  const seen = read(
    [
      wrappedFrameOf(
        '{"type":"message_start","message":{"model":"m","usage":{"input_tokens":3,"output_tokens":1}}}',
      ),
      wrappedFrameOf('{"type":"content_block_delta","delta":{"text":"x"}}'),
      wrappedFrameOf('{"type":"message_delta","usage":{"output_tokens":7}}'),
      wrappedFrameOf('{"type":"message_stop"}'),
    ],
    'messages',
  )
  assert.equal([seen.usage, seen.model, seen.ending], [{ input: 3, output: 7 }, 'm', 'seen'])
})

frames('reads the counts of Llama and Titan, with and without metrics', () => {
  const metrics =
    '"amazon-bedrock-invocationMetrics":{"inputTokenCount":27,"outputTokenCount":9,"invocationLatency":864}'
  const llama = [
    '{"generation":" Hi","prompt_token_count":27,"generation_token_count":1,"stop_reason":null}',
    '{"generation":"!","prompt_token_count":null,"generation_token_count":9,"stop_reason":"stop"}',
  ]
  const titan = [
    '{"outputText":"a","index":0,"totalOutputTextTokenCount":null,"completionReason":null,"inputTextTokenCount":27}',
    '{"outputText":"b","index":0,"totalOutputTextTokenCount":9,"completionReason":"FINISH","inputTextTokenCount":null}',
  ]
  for (const [first, last] of [llama, titan] as [string, string][])
    for (const end of [last, `${last.slice(0, -1)},${metrics}}`]) {
      const seen = read([wrappedFrameOf(first), wrappedFrameOf(end)])
      assert.equal(seen.usage, { input: 27, output: 9 }, end)
    }
})

frames('counts each frame of a truncated stream as a token', () => {
  const cut = read(CONVERSE.slice(0, 3), 'detect', 'client_closed')
  assert.equal(computeLlmCost(cut, 5), { input: 5, output: 3, basis: 'estimated' })
  const half = [...CONVERSE.slice(0, 3), METADATA.subarray(0, -2)]
  assert.equal(
    [read(half, 'messages').ending, read(CONVERSE, 'messages').ending],
    ['missing', 'seen'],
  )
})

frames('skips a payload that is too long, and frames without a payload', () => {
  const payloads = ['', `{"delta":"${'a word '.repeat(MAX_WATCHED_PAYLOAD_BYTES / 4)}"}`, USAGE]
  const bytes = payloads.join('').length
  const seen = read(payloads.map((payload) => frameOf('x', payload)))
  assert.equal([seen.usage?.output, seen.outputGuess], [20, guessEventTokens(3, bytes)])
})

frames('reads nothing from other framings', () => {
  const lengths = Buffer.alloc(16)
  lengths.writeUInt32BE(17, 0)
  lengths.writeUInt32BE(2, 4)
  for (const bytes of [Buffer.from('data: {"usage":{"inputTokens":1}}\n\n'), lengths])
    assert.is(read([bytes, METADATA]).usage, null)
})

frames.run()
