// The details pane: an event, the request at that point, what changed, and bodies made readable.

import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { showBody } from '../../../lib/ctl/screen/body.ts'
import { detailsOf } from '../../../lib/ctl/screen/details.ts'
import { diffLines } from '../../../lib/trace-view/snapshots.ts'
import { stepOf } from '../../../lib/trace-view/trace-event.ts'
import { SAMPLE_LINES } from '../../support/ctl/sample-trace.ts'

const STEPS = SAMPLE_LINES.map(stepOf)
const NO_FACTS = { type: '', encoding: '' }

const details = suite('details')

details('an event is shown as YAML or JSON', () => {
  assert.equal(detailsOf(STEPS, 7, 'event', 'yaml'), [
    'eventStart: null',
    'eventEnd: 420',
    'severity: info',
    'message:',
    '  type: backendCallStart',
    '  target: 127.0.0.1:8080',
  ])
  assert.equal(
    detailsOf(STEPS, 7, 'event', 'json').join('\n'),
    JSON.stringify(JSON.parse(SAMPLE_LINES[7]!), null, 2),
  )
})

details('a body stands decoded below its event', () => {
  const lines = detailsOf(STEPS, 8, 'event', 'yaml')
  assert.ok(lines.some((line) => line.startsWith('  body: eyJ')))
  assert.equal(lines.slice(lines.indexOf('# body, decoded: JSON')), [
    '# body, decoded: JSON',
    '{',
    '  "name": "thing",',
    '  "tags": [',
    '    "a",',
    '    "b"',
    '  ]',
    '}',
  ])
})

details('when the parts of a body came is told in a line', () => {
  const arrivals = Array.from({ length: 500 }, (_part, at) => [at + 1, at * 1_000])
  const message = { type: 'bodySnapshot', stage: 'response', body: '', arrivals }
  for (const [told, words] of [
    [message, /arrivals"?: "?500, after 0 µs to 499\.0 ms/],
    [{ ...message, arrivalStep: 4 }, /arrivals"?: "?about 2000, after 0 µs to 499\.0 ms/],
  ] as const) {
    const step = stepOf(JSON.stringify({ eventStart: null, eventEnd: 1, message: told }))
    for (const format of ['yaml', 'json'] as const) {
      const lines = detailsOf([step], 0, 'event', format)
      assert.ok(lines.length < 15)
      assert.match(lines.join('\n'), words)
    }
  }
})

details('the snapshot of a body is the body, known by the head before it', () => {
  assert.equal(detailsOf(STEPS, 11, 'snapshot', 'yaml').slice(0, 3), [
    '# body, decoded: events',
    'event: note',
    'data:',
  ])
})

details('any other step shows the last snapshot up to it', () => {
  const lines = detailsOf(STEPS, 4, 'snapshot', 'yaml')
  assert.equal(lines.slice(0, 3), ['# gateway policies (step 4)', 'request:', '  method: POST'])
  assert.equal(detailsOf(STEPS, 0, 'snapshot', 'yaml'), ['There is no snapshot up to this step.'])
})

details('the diff is what changed since the snapshot before', () => {
  assert.equal(detailsOf(STEPS, 6, 'diff', 'yaml'), [
    '# gateway policies (step 4) → route policies (step 7)',
    '+ request.headers.x-user: "alice"',
  ])
  assert.equal(detailsOf(STEPS, 3, 'diff', 'yaml'), [
    '# initial request (step 2) → gateway policies (step 4)',
    'no changes',
  ])
  assert.match(detailsOf(STEPS, 1, 'diff', 'yaml')[0]!, /the first snapshot/)
})

details('a policy that changed the request is a snapshot as well', () => {
  const policy = {
    message: {
      type: 'policy',
      kind: 'urlRewrite',
      result: { type: 'apply', details: '', snapshot: { request: { path: '/y' } } },
    },
  }
  const steps = [...STEPS.slice(0, 2), stepOf(JSON.stringify(policy))]
  assert.is(
    detailsOf(steps, 2, 'diff', 'yaml')[0],
    '# initial request (step 2) → urlRewrite (step 3)',
  )
})

details('a diff names leaves by their path', () => {
  const before = { a: { b: 1, c: [1, 2], gone: 'x' }, 'x.y': {} }
  const after = { a: { b: 2, c: [1, 3, 4] }, 'x.y': { z: null } }
  assert.equal(diffLines(before, after), [
    '- a.b: 1',
    '+ a.b: 2',
    '- a.c[1]: 2',
    '+ a.c[1]: 3',
    '- a.gone: "x"',
    '- "x.y": {}',
    '+ a.c[2]: 4',
    '+ "x.y".z: null',
  ])
  assert.equal(diffLines(before, before), [])
})

details('what is not there has no details', () => {
  assert.equal(detailsOf([], 0, 'event', 'yaml'), [])
  assert.equal(detailsOf([stepOf('nonsense')], 0, 'event', 'yaml'), ['nonsense'])
})

details('texts without end are cut, also in the middle of JSON', () => {
  const long = stepOf(JSON.stringify({ message: { type: 'x', a: 'y'.repeat(10_000) } }))
  for (const format of ['yaml', 'json'] as const) {
    const lines = detailsOf([long], 0, 'event', format)
    assert.ok(lines.every((line) => line.length < 4_200))
    assert.match(lines.join('\n'), /… 6000 characters more/)
  }
  const many = JSON.stringify({ message: { type: 'x', a: Array(60_000).fill(1) } })
  assert.is(detailsOf([stepOf(many)], 0, 'event', 'yaml').length, 50_001)
})

details('events of a stream are laid out one by one', () => {
  const bytes = Buffer.from('event: a\r\ndata: {"b":[1]}\r\n\r\ndata: [DONE]\n\n: ping\n')
  const { kind, lines } = showBody(bytes, {
    type: 'text/event-stream; charset=utf-8',
    encoding: '',
  })
  assert.is(kind, 'events')
  assert.equal(lines, [
    ...['event: a', 'data:', '  {', '    "b": [', '      1', '    ]', '  }', ''],
    ...['data: [DONE]', '', ': ping', ''],
  ])
  assert.is(showBody(bytes, NO_FACTS).kind, 'events')
})

details('packed bodies are unpacked, also those that were cut', () => {
  const plain = Buffer.from(JSON.stringify({ a: 1 }))
  for (const [encoding, bytes] of [
    ['gzip', gzipSync(plain)],
    ['deflate', deflateSync(plain)],
    ['br', brotliCompressSync(plain)],
  ] as const) {
    const { kind, lines } = showBody(bytes, { type: 'application/json', encoding })
    assert.is(kind, `JSON, ${encoding}`)
    assert.equal(lines, ['{', '  "a": 1', '}'])
  }
  const text = 'many words '.repeat(1_000)
  const cut = gzipSync(Buffer.from(text)).subarray(0, 40)
  const { kind } = showBody(cut, { type: 'text/plain', encoding: 'gzip' })
  assert.is(kind, 'text, gzip')
})

details('what is no text is shown as bytes', () => {
  const { kind, lines } = showBody(Buffer.from([0, 1, 0x41, 0xff]), NO_FACTS)
  assert.is(kind, 'binary')
  assert.is(lines[0], '00000000  00 01 41 ff                                      ..A.')
  const packed = showBody(Buffer.from('x'), { type: '', encoding: 'gzip' })
  assert.is(packed.kind, 'binary, gzip')
  const large = showBody(Buffer.alloc(10_000), NO_FACTS)
  assert.is(large.lines.at(-1), '… 5904 more bytes')
})

details('a character cut in two at the end is still text', () => {
  assert.is(showBody(Buffer.from('日本').subarray(0, 5), NO_FACTS).kind, 'text')
})

details.run()
