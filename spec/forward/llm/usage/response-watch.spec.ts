// Which watch reads a response, by its content-type or its first byte.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildResponseHead } from '../../../../lib/core/replies.ts'
import { createResponseWatch } from '../../../../lib/forward/llm/usage/response-watch.ts'
import { bytesOf } from '../../../support/llm/fixture.ts'
import { watched } from '../../../support/llm/watched.ts'
import { splits } from '../../../support/splits.ts'

const STREAM = bytesOf('chat-stream.sse')
const OBJECT = bytesOf('chat.json')

const watch = suite('watch')

watch('distinguishes events from JSON by the type, with or without parameters', () => {
  for (const type of [
    'text/event-stream',
    'Text/Event-Stream; charset=utf-8',
    'text/event-stream ;x',
  ])
    assert.is(watched('completions', type, [STREAM]).usage?.input, 1117, type)
  for (const type of ['application/json', 'Application/JSON;charset=utf-8', 'application/a.b+json'])
    assert.is(watched('completions', type, [OBJECT]).usage?.input, 19, type)
})

watch('checks the first byte where the type is missing, unspecific or wrong', () => {
  for (const type of ['', 'text/plain', 'text/plain; charset=utf-8', 'application/json'])
    for (const [bytes, input] of [
      [STREAM, 1117],
      [OBJECT, 19],
      [Buffer.from(`\ufeff${STREAM.toString()}`), 1117],
      [Buffer.from(`\ufeff \n${OBJECT.toString()}`), 19],
      [Buffer.from(`\n\n: hello\n\n${STREAM.toString()}`), 1117],
    ] as const)
      assert.is(watched('completions', type, [bytes]).usage?.input, input, type)
})

watch('detects the type by the first byte at every split', () => {
  for (const bytes of [
    Buffer.from(` \n${STREAM.toString()}`),
    Buffer.from(` \n${OBJECT.toString()}`),
  ])
    for (const chunks of splits(bytes)) assert.ok(watched('completions', '', chunks).usage !== null)
})

watch('trusts an unspecific type where no text is expected', () => {
  for (const format of ['detect', 'passthrough', 'embeddings'] as const)
    assert.is(watched(format, 'text/plain', [OBJECT]).usage, null)
})

watch('does not read audio, images and other streams, or estimate their tokens', () => {
  const types = ['audio/mpeg', 'image/png', 'application/octet-stream', 'text/event-streams']
  for (const type of types) {
    const seen = watched('passthrough', type, [OBJECT, OBJECT])
    assert.equal([seen.usage, seen.outputGuess, seen.ending], [null, 0, 'seen'], type)
  }
  for (const format of ['messages', 'detect'] as const)
    assert.is(watched(format, 'audio/mpeg', [OBJECT]).outputGuess, 0)
  assert.is(watched('messages', 'audio/mpeg', [OBJECT], 'backend_reset').ending, 'missing')
})

watch(
  'estimates tokens from the bytes of a response that it cannot read where text is expected',
  () => {
    const guess = Math.ceil((OBJECT.length * 2) / 4)
    for (const format of [
      'completions',
      'messages',
      'responses',
      'generateContent',
      'detect',
    ] as const) {
      const seen = watched(format, 'application/octet-stream', [OBJECT, OBJECT])
      assert.equal([seen.usage, seen.outputGuess, seen.firstAt], [null, guess, 101], format)
    }
  },
)

watch('reports nothing for a response without a body', () => {
  for (const type of ['', 'application/json', 'text/event-stream', 'image/png']) {
    const seen = watched('completions', type, [])
    assert.equal([seen.usage, seen.outputGuess, seen.firstAt], [null, 0, 0], type)
  }
})

watch('calls back at once where nothing is compressed', () => {
  for (const type of ['', 'application/json', 'text/event-stream', 'image/png']) {
    const watching = createResponseWatch(
      'completions',
      buildResponseHead(200, [['content-type', type]]),
    )
    watching.end('complete')
    let calls = 0
    watching.whenDone(() => calls++)
    assert.is(calls, 1, type)
  }
})

watch('uses the clock of the process by default', () => {
  const before = performance.now()
  const watching = createResponseWatch(
    'completions',
    buildResponseHead(200, [['content-type', 'application/json']]),
  )
  watching.chunk(OBJECT, 0, OBJECT.length)
  assert.ok(watching.observed.firstAt >= before && watching.observed.lastAt <= performance.now())
})

watch.run()
