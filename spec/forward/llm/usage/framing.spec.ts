// The same streams in every framing that clients accept: the usage found in them does not change.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_WATCHED_EVENT_BYTES } from '../../../../lib/forward/llm/usage/watch-events.ts'
import { computeLlmCost } from '../../../../lib/forward/llm/usage/usage-settlement.ts'
import { PROMPT_GUESS, bytesOf } from '../../../support/llm/fixture.ts'
import type { Fixture } from '../../../support/llm/fixture.ts'
import { FIXTURES } from '../../../support/llm/fixtures.ts'
import { watched } from '../../../support/llm/watched.ts'
import { places } from '../../../support/splits.ts'

/** Converts a stream with LF and without its last blank line to another framing. */
type Rewrite = (stream: string) => string

const each = (stream: string, rewrite: (event: string, index: number) => string): string =>
  stream
    .split('\n\n')
    .map((event, index) => rewrite(event, index))
    .join('\n\n')

const withEnds =
  (end: string): Rewrite =>
  (stream) =>
    `${stream}\n\n`.replaceAll('\n', end)

const FRAMINGS: Readonly<Record<string, Rewrite>> = {
  LF: withEnds('\n'),
  CRLF: withEnds('\r\n'),
  CR: withEnds('\r'),
  'CRLF and LF in turns': (stream) => {
    let at = 0
    return `${stream}\n\n`.replace(/\n/g, () => (at++ % 2 === 0 ? '\r\n' : '\n'))
  },
  'a byte order mark': (stream) => `\ufeff${stream}\n\n`,
  'a byte order mark and CRLF': (stream) => withEnds('\r\n')(`\ufeff${stream}`),
  'no space after the colon': (stream) => `${stream}\n\n`.replace(/^(data|event): /gm, '$1:'),
  'comments between events': (stream) => each(stream, (event) => `: keep-alive\n\n${event}`),
  'comments between lines': (stream) => each(stream, (event) => `:\n: data: {}\n${event}\n: x`),
  'a comment in front': (stream) => `: ROUTER PROCESSING\n\n: ROUTER PROCESSING\n\n${stream}\n\n`,
  'comments after the end': (stream) => `${stream}\n\n: bye\n\n:`,
  'ids and retries': (stream) =>
    each(stream, (event, index) => `id: ${index}\nretry: 3000\n${event}`) + '\n\n',
  'ids after the data': (stream) => each(stream, (event, at) => `${event}\nid: ${at}`) + '\n\n',
  'names after the data': (stream) =>
    each(stream, (event) => event.replace(/^(event: .*)\n(data: .*)$/, '$2\n$1')) + '\n\n',
  'unknown fields': (stream) => each(stream, (event) => `x-trace: "usage":{}\n${event}`) + '\n\n',
  'data over several lines': (stream) =>
    `${stream}\n\n`.replace(/^data: (\{.*\})$/gm, (_line, json: string) =>
      JSON.stringify(JSON.parse(json), null, 1).replace(/^/gm, 'data: '),
    ),
  'data over several lines with CRLF': (stream) =>
    withEnds('\r\n')(
      stream.replace(/^data: (\{.*\})$/gm, (_line, json: string) =>
        JSON.stringify(JSON.parse(json), null, 1).replace(/^/gm, 'data: '),
      ),
    ),
  'spaces in the JSON': (stream) =>
    `${stream}\n\n`.replace(/^data: (\{.*\})$/gm, (_line, json: string) => {
      const spaced = json.replace(/"(\w+)":/g, '"$1" :\t')
      return `data:  ${spaced} `
    }),
  'text in escapes': (stream) =>
    `${stream}\n\n`.replace(/[\u0080-\uffff]/g, (letter) => {
      return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
    }),
  'empty lines in front': (stream) => `\n\n\n${stream}\n\n`,
  'three empty lines between events': (stream) => `${stream.replaceAll('\n\n', '\n\n\n\n')}\n\n`,
  'events without data': (stream) => each(stream, (event) => `event: ping\n\n${event}`) + '\n\n',
  'no last empty line': (stream) => `${stream}\n`,
  'no last line end': (stream) => stream,
  'no last line end, with CR': (stream) => stream.replaceAll('\n', '\r'),
  'half an event after the end': (stream) => `${stream}\n\ndata: {"usage":{"prompt_tokens":3,`,
}

const FILES = ['chat-stream.sse', 'text-stream.sse', 'messages-stream.sse', 'responses-stream.sse']

/** Splits of each stream. */
const MOST_CUTS = 60

function* chunksOf(text: string): Generator<Buffer[]> {
  const bytes = Buffer.from(text)
  yield [bytes]
  yield Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1))
  yield text.split(/(?<=\n\n|\r\n\r\n|\r\r)/).map((event) => Buffer.from(event))
  for (const at of places(bytes.length, MOST_CUTS))
    yield [bytes.subarray(0, at), bytes.subarray(at)]
}

function holds({ format, usage, cost, facts }: Fixture, chunks: Buffer[], where: string): void {
  const seen = watched(format, 'text/event-stream; charset=utf-8', chunks)
  const at = `${where}, cut at ${chunks[0]?.length}`
  assert.equal(seen.usage, usage, at)
  assert.equal([seen.ending, seen.model], ['seen', facts.responseModel], at)
  assert.equal(computeLlmCost(seen, PROMPT_GUESS), cost, at)
}

const framing = suite('framing of watched streams')

for (const [name, rewrite] of Object.entries(FRAMINGS))
  framing(`finds the same with ${name}`, () => {
    for (const fixture of FIXTURES.filter(({ file }) => FILES.includes(file))) {
      const stream = bytesOf(fixture.file).toString().trimEnd()
      const written = rewrite(stream)
      for (const chunks of chunksOf(written)) holds(fixture, chunks, `${fixture.file} ${name}`)
    }
  })

framing('reads past an event of 5 MiB and finds the usage after it', () => {
  const text = 'x'.repeat(5 * 1024 * 1024)
  assert.ok(text.length > MAX_WATCHED_EVENT_BYTES)
  for (const fixture of FIXTURES.filter(({ file }) => FILES.includes(file))) {
    const events = bytesOf(fixture.file).toString().split('\n\n')
    const giant = `data: {"delta":{"text":"${text}","x":{"usage":{"prompt_tokens":1,"input_tokens":1}}}}`
    const wire = Buffer.from([events[0], giant, ...events.slice(1)].join('\n\n'))
    for (const size of [wire.length, 65_536, 1_460]) {
      const chunks = []
      for (let at = 0; at < wire.length; at += size) chunks.push(wire.subarray(at, at + size))
      holds(fixture, chunks, `${fixture.file} in pieces of ${size}`)
    }
  }
})

framing('recognises the last event by its name even if it is too long to be read', () => {
  const chunks = [
    'event: response.created\ndata: {"type":"response.created","response":{"model":"m"}}\n\n',
    `event: response.completed\ndata: {"a":"${'x'.repeat(MAX_WATCHED_EVENT_BYTES)}`,
    '","usage":{}}\n\n',
  ]
  const seen = watched('responses', 'text/event-stream', chunks)
  assert.equal([seen.usage, seen.ending, seen.model], [null, 'seen', 'm'])
})

framing.run()
