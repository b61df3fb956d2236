// Events of a streamed body: where they end, when they came, and what a model said in them.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { EventStreamReader } from '../../../lib/base/trace-reading/stream-events.ts'
import type { StreamEvent } from '../../../lib/base/trace-reading/stream-events.ts'
import { outputTokensOf, talkOf, talkWords } from '../../../lib/base/trace-reading/llm-stream.ts'
import { stepOf } from '../../../lib/base/trace-reading/step.ts'
import {
  arrivalsOf,
  arrivalWords,
  partCount,
  streamWords,
  timedEvents,
} from '../../../lib/base/trace-reading/stream-times.ts'
import type { TimedEvents } from '../../../lib/base/trace-reading/stream-times.ts'
import { splits } from '../../support/splits.ts'

const MOST = 1_000

function eventsIn(chunks: readonly Uint8Array[], most = MOST): StreamEvent[] {
  const events: StreamEvent[] = []
  const reader = new EventStreamReader((event) => events.push(event), most)
  for (const chunk of chunks) reader.write(chunk)
  reader.end()
  return events
}

const brief = ({ kind, name, id, data, end }: StreamEvent): unknown[] => [kind, name, id, data, end]

const streams = suite('stream times')

streams('finds events, comments and what was cut off, wherever the bytes are split', () => {
  const text =
    '\ufeff: hi\r\nevent: ä\nid: 7\ndata: one\rdata:two\r\r\ndata\n\nevent: x\n\ndata: re'
  for (const chunks of splits(Buffer.from(text)))
    assert.equal(eventsIn(chunks).map(brief), [
      ['comment', '', null, 'hi', 8],
      ['event', 'ä', '7', 'one\ntwo', 45],
      ['event', '', '7', '', 52],
      ['rest', '', '7', 're', 70],
    ])
})

streams('a stream that ended well has no rest', () => {
  assert.equal(eventsIn([Buffer.from('data: a\n\n')]).map(brief), [['event', '', null, 'a', 9]])
  assert.equal(eventsIn([Buffer.from('')]), [])
})

streams('gives up at an event above the bound, in one line or in many', () => {
  const long = Buffer.from(`data: ${'x'.repeat(20)}`)
  assert.throws(() => eventsIn([long], 25), /too long/)
  assert.is(eventsIn([long], 26).length, 1)
  const lines = Buffer.from('data: xxxx\n'.repeat(6) + '\n')
  assert.throws(() => eventsIn([lines], 29), /too long/)
  assert.is(eventsIn([lines], 30).length, 1)
})

const TICKS = Buffer.from('data: a\n\ndata: b\n\n: ping\n\ndata: c\n\n')

streams('an event came when its last byte did', () => {
  const { events } = timedEvents(TICKS, [
    [8, 100],
    [18, 250],
    [20, 300],
    [35, 1_250],
  ])
  assert.equal(
    events.map(({ data, at, gap }) => [data, at, gap]),
    [
      ['a', 250, null],
      ['b', 250, 0],
      ['ping', 1_250, 1_000],
      ['c', 1_250, 0],
    ],
  )
})

streams('when an event came is not known without its arrival', () => {
  const { events } = timedEvents(TICKS, [[9, 100]])
  assert.equal(
    events.map(({ at }) => at),
    [100, null, null, null],
  )
})

streams('arrivals that make no sense are none', () => {
  assert.equal(arrivalsOf({ arrivals: [[1, 2]] }), { list: [[1, 2]], step: 1 })
  for (const arrivals of [
    undefined,
    null,
    'x',
    {},
    [1],
    [[1]],
    [['1', 2]],
    [[1, -2]],
    [
      [2, 2],
      [1, 3],
    ],
  ])
    assert.equal(arrivalsOf({ arrivals }).list, [])
})

streams('says in a word or two when parts came', () => {
  const [first, second] = [[9, 1_000] as const, [12, 2_500] as const]
  assert.is(arrivalWords({ list: [first], step: 1 }), '1, after 1.0 ms')
  assert.is(arrivalWords({ list: [first, second], step: 1 }), '2, after 1.0 ms to 2.5 ms')
})

streams('counts the parts that each arrival stands for', () => {
  const arrivals = Array.from({ length: 900 }, (_part, at) => [at + 1, at])
  assert.is(partCount(arrivalsOf({ arrivals })), '900')
  assert.is(partCount(arrivalsOf({ arrivals, arrivalStep: 4 })), 'about 3600')
  for (const arrivalStep of [0, -4, '4', null])
    assert.is(partCount(arrivalsOf({ arrivals, arrivalStep })), '900')
})

streams('says in a sentence how events came', () => {
  const words = (...ends: (readonly [number, number])[]): string =>
    streamWords(timedEvents(TICKS, ends))
  assert.is(words(), '3 events; when they came is not known.')
  assert.is(
    words([9, 1_000], [18, 3_000], [35, 9_000]),
    '3 events in 8.0 ms, the first after 1.0 ms; the longest pause was 6.0 ms, before number 3.',
  )
  assert.is(words([35, 9_000]), '3 events in 0 µs, the first after 9.0 ms.')
  assert.is(streamWords(timedEvents(TICKS.subarray(0, 9), [[9, 1_000]])), '1 event, after 1.0 ms.')
})

streams('keeps a bounded number of events, and says how many more there were', () => {
  const many = Buffer.from('data: a\n\n'.repeat(10_003))
  const { events, left } = timedEvents(many, [])
  assert.is(events.length, 10_000)
  assert.is(left, 3)
})

/** One event a millisecond. */
function told(...data: object[]): TimedEvents {
  const parts = data.map((value) => `data: ${JSON.stringify(value)}\n\n`)
  let bytes = 0
  const arrivals = parts.map((part, at): [number, number] => {
    bytes += Buffer.byteLength(part)
    return [bytes, (at + 1) * 1_000]
  })
  return timedEvents(Buffer.from(parts.join('')), arrivals)
}

streams('reads what a model says in every dialect', () => {
  const dialects = [
    [{ choices: [{ delta: { role: 'assistant', content: '' } }] }],
    [{ choices: [{ delta: { content: 'Hi' } }] }, { choices: [{ delta: { content: ' you' } }] }],
    [{ choices: [{ text: 'Hi' }] }, { choices: [{ text: ' you' }] }],
    [
      { type: 'message_start', message: {} },
      { type: 'content_block_delta', delta: { type: 'text_delta', text: 'Hi you' } },
    ],
    [{ type: 'response.output_text.delta', delta: 'Hi you' }],
    [{ candidates: [{ content: { parts: [{ text: 'Hi' }, { text: ' you' }] } }] }],
    [{ choices: [{ delta: { tool_calls: [{ function: { arguments: 'Hi you' } }] } }] }],
  ]
  const texts = dialects.map((data) => talkOf(told(...data).events)?.text ?? null)
  assert.equal(texts, [null, ...Array<string>(6).fill('Hi you')])
})

streams('what no model said is no talk', () => {
  for (const value of [{}, { choices: 3 }, { choices: [null] }, { type: 'delta' }, { delta: 'x' }])
    assert.is(talkOf(told(value).events), null)
  assert.is(talkOf(timedEvents(Buffer.from('data: [DONE]\n\ndata: {x\n\n'), []).events), null)
})

streams('says how long the first token took, and how fast the others came', () => {
  const say = (content: string): object => ({ choices: [{ delta: { content } }] })
  const { events } = told(say(''), say('a'), say('b'), say('c'), {})
  const talk = talkOf(events)!
  assert.equal([talk.first, talk.last], [2_000, 4_000])
  assert.is(
    talkWords(talk, 3),
    'First token after 2.0 ms, 3 tokens in 2.0 ms: 1000 tokens per second.',
  )
  assert.is(talkWords(talk, null), 'First token after 2.0 ms, the last after 4.0 ms.')
  const untimed = talkOf(
    timedEvents(Buffer.from(`data: ${JSON.stringify(say('a'))}\n\n`), []).events,
  )!
  assert.is(talkWords(untimed, 3), '3 tokens.')
  assert.is(talkWords(untimed, null), '')
})

streams('takes tokens from what the gateway counted', () => {
  const usage = (value: unknown): number | null =>
    outputTokensOf([stepOf(JSON.stringify({ message: { type: 'llmUsage', usage: value } }))])
  assert.is(usage({ output: 14 }), 14)
  assert.is(usage({ output: 14, outputTokens: 15 }), 15)
  assert.is(usage(null), null)
  assert.is(outputTokensOf([]), null)
})

streams.run()
