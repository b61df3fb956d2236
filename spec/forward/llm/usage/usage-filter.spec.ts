// Streams with the usage chunk that the gateway asked for: it is removed, and all other bytes are unchanged.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  MAX_HELD_EVENT_BYTES,
  UsageFilter,
} from '../../../../lib/forward/llm/usage/usage-filter.ts'
import { TappedBody } from '../../../../lib/http/tapped-body.ts'
import { fc } from '../../../support/fast-check.ts'
import { bytesOf } from '../../../support/llm/fixture.ts'
import { RecordingSink, PushedBody } from '../../../support/llm/pushing.ts'
import { splits } from '../../../support/splits.ts'

function filtered() {
  const source = new PushedBody('chunked')
  const body = new UsageFilter(source, () => true)
  const sink = new RecordingSink()
  body.start(sink, 'wire')
  return { source, body, sink }
}

function leftOf(chunks: readonly Buffer[]): string {
  const { source, sink } = filtered()
  for (const chunk of chunks) source.push(chunk)
  source.sink.end(null)
  assert.equal(sink.calls, ['end'])
  return sink.text
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')

/** At every split, with each kind of line end; the wire is written with LF. */
function holds(wire: string, left: string): void {
  for (const end of ['\n', '\r\n', '\r']) {
    const expected = left.replaceAll('\n', end)
    for (const chunks of splits(latin1(wire.replaceAll('\n', end))))
      assert.is(leftOf(chunks), expected, JSON.stringify([wire, end, chunks[0]?.length]))
  }
}

const WORD = 'data: {"choices":[{"delta":{"content":"Gr\xc3\xbc\xc3\x9fe"}}],"usage":null}\n\n'
const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
const DONE = 'data: [DONE]\n\n'

const filter = suite('usage filter')

filter('removes the chunk with usage and without choices, with any line ends', () => {
  holds(WORD + USAGE + DONE, WORD + DONE)
  holds(USAGE + WORD + DONE, WORD + DONE)
  holds(WORD + USAGE, WORD)
  holds(USAGE, '')
  holds(WORD + USAGE + USAGE + DONE, WORD + DONE)
})

filter('removes it from real streams of providers', () => {
  for (const file of ['chat-stream.sse', 'text-stream.sse', 'chat-stream-azure.sse']) {
    const wire = bytesOf(file).toString('latin1')
    const events = wire.split(/(?<=\n\n)/)
    const usage = events.at(-2)!
    assert.match(usage, /"choices":\[\].*"usage":\{/)
    const left = wire.replace(usage, '')
    for (const chunks of splits(latin1(wire))) assert.is(leftOf(chunks), left)
    assert.is(leftOf(events.map(latin1)), left)
  }
})

filter('does not change a stream without such a chunk', () => {
  for (const file of ['chat-stream-last-choice.sse', 'chat-stream-groq.sse', 'messages-stream.sse'])
    for (const chunks of splits(bytesOf(file)))
      assert.is(leftOf(chunks), bytesOf(file).toString('latin1'))
})

filter('removes it in every notation', () => {
  holds(`${WORD}id: 4\n:c\nevent: x\n${USAGE}${DONE}`, WORD + DONE)
  holds('data:{"usage":{},"choices":[]}\n\n', '')
  holds('data: {"choices":null,"usage":{"prompt_tokens":1}}\n\n', '')
  holds('data: {"id":"a","object":"chat.completion.chunk","usage":{"prompt_tokens":1}}\n\n', '')
  holds('data: {"choices" : [ ],\ndata: "usage"\ndata: :\ndata: {"total_tokens":1}}\n\n', '')
  holds(`\xef\xbb\xbf${USAGE}${DONE}`, DONE)
})

filter('keeps every event that only looks similar', () => {
  const alike = [
    'data: {"choices":[],"usage":null}',
    'data: {"choices":[],"usage":[]}',
    'data: {"choices":[],"usage":7}',
    'data: {"choices":[{}],"usage":{"prompt_tokens":1}}',
    'data: {"choices":{},"usage":{"prompt_tokens":1}}',
    'data: {"error":{"message":"x"},"usage":{"prompt_tokens":1}}',
    'data: {"x":{"choices":[],"usage":{"prompt_tokens":1}}}',
    'data: [{"choices":[],"usage":{"prompt_tokens":1}}]',
    'data: {"choices":[],"usage":{"prompt_tokens":1}',
    'data: "\\"choices\\":[],\\"usage\\":{}"',
    ': {"choices":[],"usage":{"prompt_tokens":1}}',
    '{"choices":[],"usage":{"prompt_tokens":1}}',
    'event: {"choices":[],"usage":{}}',
  ]
  for (const event of alike) holds(`${event}\n\n${DONE}`, `${event}\n\n${DONE}`)
})

filter('forwards complete events at once, in one write', () => {
  const { source, sink } = filtered()
  for (const [chunk, writes] of [
    [WORD, 1],
    [WORD + WORD, 2],
    [`${WORD.trimEnd()}\r\n\r\n`, 3],
    [`: ping\n\n`, 4],
    [DONE, 5],
  ] as const) {
    source.push(latin1(chunk))
    assert.is(sink.writes.length, writes)
  }
})

filter('forwards comments before an event at once, and keeps them if the event is removed', () => {
  for (const heartbeat of [':\n', ': ping\n', ':\r\n', ':\r', ':\n:\n', ':\n\n']) {
    const { source, sink } = filtered()
    source.push(latin1(WORD))
    source.push(latin1(heartbeat))
    assert.is(sink.text, WORD + heartbeat)
    source.push(latin1(`${heartbeat}data: {`))
    assert.is(sink.text, WORD + heartbeat + heartbeat)
  }
  holds(`${WORD}:c\n: usage"\nid: 4\nevent: x\n${USAGE}${DONE}`, `${WORD}:c\n: usage"\n${DONE}`)
  const { source, sink } = filtered()
  source.push(latin1(': pi'))
  source.push(latin1(`ng\n${USAGE.slice(0, 9)}`))
  assert.is(sink.text, ': ping\n')
})

filter('forwards the events before and after the removed chunk at once', () => {
  const { source, sink } = filtered()
  source.push(latin1(WORD + USAGE + WORD))
  assert.equal(sink.writes.map(String), [WORD, WORD].map(utf8))
})

function utf8(text: string): string {
  return latin1(text).toString()
}

filter('holds an incomplete event, and nothing before it', () => {
  const { source, sink } = filtered()
  source.push(latin1(WORD + 'data: {"cho'))
  assert.is(sink.text, WORD)
  source.push(latin1('ices":[{}]}\n'))
  assert.is(sink.text, WORD)
  source.push(latin1('\n'))
  assert.is(sink.text, WORD + 'data: {"choices":[{}]}\n\n')
})

filter('holds no more of an event than a usage chunk may have', () => {
  const { source, sink } = filtered()
  const half = `data: ${'x'.repeat(MAX_HELD_EVENT_BYTES / 2)}`
  source.push(latin1(half))
  assert.is(sink.text, '')
  source.push(latin1(half))
  assert.is(sink.text, half + half)
  source.push(latin1('y'))
  assert.is(sink.text, `${half}${half}y`)
  source.push(latin1(`","choices":[],"usage":{}}\n\n${USAGE}${DONE}`))
  assert.is(sink.text, `${half}${half}y","choices":[],"usage":{}}\n\n${DONE}`)
})

filter('does not read the end of a long event as an event', () => {
  const long = `data: ${'x'.repeat(MAX_HELD_EVENT_BYTES)}\n`
  assert.is(leftOf([latin1(long), latin1(USAGE + USAGE)]), long + USAGE)
})

filter('forwards an event above the bound that arrives in one piece', () => {
  const giant = `data: {"choices":[],"usage":{"x":"${'x'.repeat(MAX_HELD_EVENT_BYTES)}"}}\n\n`
  assert.is(leftOf([latin1(giant + USAGE + giant)]), giant + giant)
})

filter('forwards held bytes when the stream ends or is cut', () => {
  for (const rest of ['data: {"choices":[{}]}', 'data: {"usage":{', ': "usage"', 'data: x\n']) {
    holds(WORD + rest, WORD + rest)
    const { source, sink } = filtered()
    source.push(latin1(WORD + rest))
    source.sink.cut('backend_reset')
    assert.equal([sink.text, sink.calls], [WORD + rest, ['cut backend_reset']])
  }
})

filter('removes the chunk even if it is the last and has no blank line', () => {
  holds(WORD + USAGE.trimEnd(), WORD)
  holds(`${WORD}${USAGE.trimEnd()}\n`, WORD)
})

filter('discards held bytes when it is cancelled, and cancels its source', () => {
  const { source, sink, body } = filtered()
  source.push(latin1('data: x'))
  body.cancel()
  assert.equal([source.calls, sink.text, sink.calls], [['cancel'], '', []])
})

filter('has open framing, or none without a body', () => {
  const { body, source } = filtered()
  assert.equal([body.framing, body.length, source.form], ['open', -1, 'content'])
  assert.is(new UsageFilter(new PushedBody('none'), () => true).framing, 'none')
})

filter('reports that the sink is full, and has room while it holds bytes', () => {
  const { source, sink, body } = filtered()
  sink.room = false
  assert.not(source.push(latin1(WORD)))
  assert.ok(source.push(latin1('data: {')))
  assert.not(source.push(latin1(`}\n\n${USAGE}`)))
  assert.ok(source.push(latin1(USAGE)))
  body.pause()
  body.resume()
  assert.equal(source.calls, ['pause', 'resume'])
})

filter('is after the tap, which also gets the removed chunk', () => {
  const source = new PushedBody('chunked')
  const shown: string[] = []
  const tap = {
    chunk: (bytes: Buffer, from: number, to: number) =>
      void shown.push(bytes.toString('latin1', from, to)),
    end: (outcome: string) => void shown.push(outcome),
  }
  const body = new UsageFilter(new TappedBody(source, tap), () => true)
  const sink = new RecordingSink()
  body.start(sink, 'wire')
  source.push(latin1(WORD))
  source.push(latin1(USAGE))
  source.sink.end(null)
  assert.equal([shown, sink.text], [[WORD, USAGE, 'complete'], WORD])
})

const PIECE = fc.constantFrom(
  ...[USAGE, USAGE.trimEnd(), WORD, DONE, '\n', '\r', '\r\n', '\n\n', '\r\n\r\n', '\r\r'],
  ...['data: ', 'data: {"choices":[],"usage":{}}', ':c', 'x', '{"choices":[],', '"usage":{}}'],
)

/** The expected result, computed event by event on the whole text. */
function modelOf(text: string): string {
  const events = text.match(/(?:[^\r\n]+(?:\r\n|\n|\r|$))*(?:\r\n|\n|\r|$)/g) ?? []
  return events.map((event) => (isExtra(event) ? commentsOf(event) : event)).join('')
}

/** The comments before the first field of an event. */
function commentsOf(event: string): string {
  return /^(?::[^\r\n]*(?:\r\n|\n|\r))*/.exec(event)![0]
}

function isExtra(event: string): boolean {
  const lines = event.split(/\r\n|\n|\r/).filter((line) => /^data(:|$)/.test(line))
  const data = lines.map((line) => line.replace(/^data:? ?/, '')).join('\n')
  try {
    const { choices = [], usage } = JSON.parse(data) as Record<string, unknown>
    const isEmpty = Array.isArray(choices) && choices.length === 0
    return isEmpty && typeof usage === 'object' && usage !== null
  } catch {
    return false
  }
}

filter('keeps everything but usage chunks of any stream, at any split', () => {
  fc.assert(
    fc.property(fc.array(PIECE, { maxLength: 12 }), fc.array(fc.nat(400)), (pieces, cuts) => {
      const wire = latin1(pieces.join(''))
      const at = [0, ...cuts.filter((cut) => cut < wire.length).sort((a, b) => a - b), wire.length]
      const chunks = at.slice(1).map((to, i) => wire.subarray(at[i], to))
      assert.is(leftOf(chunks), modelOf(wire.toString('latin1')))
    }),
    { numRuns: 5000 },
  )
})

filter.run()
