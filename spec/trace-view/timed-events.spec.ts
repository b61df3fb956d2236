// Events of a streamed body: where they end, when they arrived, and the text that a model generated.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  arrivalsOf,
  arrivalWords,
  EventStreamReader,
  partCount,
  streamWords,
  timedEvents,
} from '../../lib/trace-view/timed-events.ts'
import type { StreamEvent, TimedEvents } from '../../lib/trace-view/timed-events.ts'
import { outputTokensOf, modelOutputOf, tokenRateText } from '../../lib/trace-view/model-output.ts'
import { stepOf } from '../../lib/trace-view/trace-event.ts'
import { splits } from '../support/splits.ts'

const MOST = 1_000

function eventsIn(chunks: readonly Uint8Array[], most = MOST): StreamEvent[] {
  const events: StreamEvent[] = []
  const reader = new EventStreamReader((event) => events.push(event), most)
  for (const chunk of chunks) reader.write(chunk)
  reader.end()
  return events
}

const brief = ({ kind, name, id, data, end }: StreamEvent): unknown[] => [kind, name, id, data, end]

const streams = suite('timed events')

streams('finds events, comments and an incomplete event, wherever the bytes are split', () => {
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

streams('finds no incomplete event in a complete stream', () => {
  assert.equal(eventsIn([Buffer.from('data: a\n\n')]).map(brief), [['event', '', null, 'a', 9]])
  assert.equal(eventsIn([Buffer.from('')]), [])
})

streams('refuses an event above the limit, in one line or in many', () => {
  const long = Buffer.from(`data: ${'x'.repeat(20)}`)
  assert.throws(() => eventsIn([long], 25), /too long/)
  assert.is(eventsIn([long], 26).length, 1)
  const lines = Buffer.from('data: xxxx\n'.repeat(6) + '\n')
  assert.throws(() => eventsIn([lines], 29), /too long/)
  assert.is(eventsIn([lines], 30).length, 1)
})

const TICKS = Buffer.from('data: a\n\ndata: b\n\n: ping\n\ndata: c\n\n')

streams('takes the arrival of the last byte as the arrival of the event', () => {
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

streams('leaves the time of an event open if no arrival covers it', () => {
  const { events } = timedEvents(TICKS, [[9, 100]])
  assert.equal(
    events.map(({ at }) => at),
    [100, null, null, null],
  )
})

streams('ignores invalid arrivals', () => {
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

streams('describes when the chunks arrived', () => {
  const [first, second] = [[9, 1_000] as const, [12, 2_500] as const]
  assert.is(arrivalWords({ list: [first], step: 1 }), '1, after 1.0 ms')
  assert.is(arrivalWords({ list: [first, second], step: 1 }), '2, after 1.0 ms to 2.5 ms')
})

streams('counts the chunks that each arrival stands for', () => {
  const arrivals = Array.from({ length: 900 }, (_part, at) => [at + 1, at])
  assert.is(partCount(arrivalsOf({ arrivals })), '900')
  assert.is(partCount(arrivalsOf({ arrivals, arrivalStep: 4 })), 'about 3600')
  for (const arrivalStep of [0, -4, '4', null])
    assert.is(partCount(arrivalsOf({ arrivals, arrivalStep })), '900')
})

streams('describes the timing of a stream in a sentence', () => {
  const words = (...ends: (readonly [number, number])[]): string =>
    streamWords(timedEvents(TICKS, ends))
  assert.is(words(), '3 events; arrival times are unknown.')
  assert.is(
    words([9, 1_000], [18, 3_000], [35, 9_000]),
    '3 events in 8.0 ms, the first after 1.0 ms; the longest pause was 6.0 ms, before event 3.',
  )
  assert.is(words([35, 9_000]), '3 events in 0 µs, the first after 9.0 ms.')
  assert.is(streamWords(timedEvents(TICKS.subarray(0, 9), [[9, 1_000]])), '1 event, after 1.0 ms.')
})

streams('keeps a limited number of events, and counts the others', () => {
  const many = Buffer.from('data: a\n\n'.repeat(10_003))
  const { events, left } = timedEvents(many, [])
  assert.is(events.length, 10_000)
  assert.is(left, 3)
})

/** One event per millisecond. */
function streamOf(...data: object[]): TimedEvents {
  const parts = data.map((value) => `data: ${JSON.stringify(value)}\n\n`)
  let bytes = 0
  const arrivals = parts.map((part, at): [number, number] => {
    bytes += Buffer.byteLength(part)
    return [bytes, (at + 1) * 1_000]
  })
  return timedEvents(Buffer.from(parts.join('')), arrivals)
}

streams('reads the output of a model in the format of every provider', () => {
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
  const texts = dialects.map((data) => modelOutputOf(streamOf(...data).events)?.text ?? null)
  assert.equal(texts, [null, ...Array<string>(6).fill('Hi you')])
})

streams('finds no model output in other events', () => {
  for (const value of [{}, { choices: 3 }, { choices: [null] }, { type: 'delta' }, { delta: 'x' }])
    assert.is(modelOutputOf(streamOf(value).events), null)
  assert.is(
    modelOutputOf(timedEvents(Buffer.from('data: [DONE]\n\ndata: {x\n\n'), []).events),
    null,
  )
})

streams('states the time to the first token and the token rate', () => {
  const say = (content: string): object => ({ choices: [{ delta: { content } }] })
  const { events } = streamOf(say(''), say('a'), say('b'), say('c'), {})
  const output = modelOutputOf(events)!
  assert.equal([output.first, output.last], [2_000, 4_000])
  assert.is(
    tokenRateText(output, 3),
    'First token after 2.0 ms, 3 tokens in 2.0 ms: 1000 tokens per second.',
  )
  assert.is(tokenRateText(output, null), 'First token after 2.0 ms, the last after 4.0 ms.')
  const untimed = modelOutputOf(
    timedEvents(Buffer.from(`data: ${JSON.stringify(say('a'))}\n\n`), []).events,
  )!
  assert.is(tokenRateText(untimed, 3), '3 tokens.')
  assert.is(tokenRateText(untimed, null), '')
})

streams('takes the tokens that the gateway counted', () => {
  const usage = (value: unknown): number | null =>
    outputTokensOf([stepOf(JSON.stringify({ message: { type: 'llmUsage', usage: value } }))])
  assert.is(usage({ output: 14 }), 14)
  assert.is(usage({ output: 14, outputTokens: 15 }), 15)
  assert.is(usage(null), null)
  assert.is(outputTokensOf([]), null)
})

streams.run()
