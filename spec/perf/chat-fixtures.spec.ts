import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  CHAT_ANSWER,
  CHAT_BODY,
  CHAT_END,
  MODEL,
  MODEL_ALIAS,
  STREAM_BODY,
  chatChunk,
  chatRequest,
} from '../../perf/chat-fixtures.ts'
import { eachStamp } from '../../perf/fixtures.ts'

const fixtures = suite('perf chat fixtures')

/** The contents of the HTTP chunks in a text that ends with one. */
function contentsOf(text: string): string[] {
  const contents: string[] = []
  let at = 0
  while (at < text.length) {
    const line = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, line), 16)
    contents.push(text.slice(line + 2, line + 2 + size))
    assert.is(text.slice(line + 2 + size, line + 4 + size), '\r\n')
    at = line + 4 + size
  }
  return contents
}

fixtures('are chats of 2 KB, one byte a character, by a name that is not the model’s', () => {
  for (const body of [CHAT_BODY, STREAM_BODY]) {
    assert.ok(body.length >= 1_950 && body.length <= 2_200, `${body.length}`)
    assert.is(Buffer.byteLength(body), body.length)
    assert.is((JSON.parse(body) as { model: string }).model, MODEL_ALIAS)
  }
  assert.not.equal(MODEL_ALIAS, MODEL)
})

fixtures('stream without asking for usage', () => {
  const { stream, stream_options } = JSON.parse(STREAM_BODY) as Record<string, unknown>
  assert.is(stream, true)
  assert.is(stream_options, undefined)
})

fixtures('declare the length of a request’s body', () => {
  const text = chatRequest('/v1/chat/completions', CHAT_BODY, 'x-more: 1\r\n')
  const [head = '', body = ''] = text.split('\r\n\r\n')
  assert.ok(head.endsWith(`x-more: 1\r\ncontent-length: ${body.length}`))
  assert.is(body, CHAT_BODY)
})

fixtures('answer with usage', () => {
  assert.is(Buffer.byteLength(CHAT_ANSWER), CHAT_ANSWER.length)
  const { usage } = JSON.parse(CHAT_ANSWER) as { usage: Record<string, number> }
  assert.is(usage['total_tokens'], 580)
})

fixtures('frame a chunk of about 200 bytes with the moment it was sent, and no usage yet', () => {
  const [event = '', ...more] = contentsOf(chatChunk(1_234_567.89))
  assert.equal(more, [])
  assert.ok(event.length >= 190 && event.length <= 270, `${event.length}`)
  assert.ok(event.startsWith('data: ') && event.endsWith('\n\n'))
  const { usage } = JSON.parse(event.slice('data: '.length)) as { usage: unknown }
  assert.is(usage, null)
  const stamps: number[] = []
  eachStamp(event, (micros) => stamps.push(micros))
  assert.equal(stamps, [1_234_567])
})

fixtures('end with the reason, the usage without choices, the mark and the end of the body', () => {
  const [reason = '', usage = '', ...rest] = contentsOf(CHAT_END)
  assert.match(reason, '"finish_reason":"stop"')
  const told = JSON.parse(usage.slice('data: '.length)) as Record<string, unknown>
  assert.equal(told['choices'], [])
  assert.equal(told['usage'], { prompt_tokens: 480, completion_tokens: 100, total_tokens: 580 })
  assert.equal(rest, ['data: [DONE]\n\n', ''])
})

fixtures.run()
