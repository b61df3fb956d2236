// The details pane: an event, a snapshot, what changed, and decoded bodies.

import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildDetails, formatBody } from '../../lib/ctl/details-pane.ts'
import { diffLines } from '../../lib/trace-view/snapshots.ts'
import { stepOf } from '../../lib/trace-view/trace-event.ts'
import { SAMPLE_LINES } from '../support/ctl/sample-trace.ts'

const STEPS = SAMPLE_LINES.map(stepOf)
const NO_FACTS = { type: '', encoding: '' }

const details = suite('details pane')

details('formats an event as YAML or JSON', () => {
  assert.equal(buildDetails(STEPS, 7, 'event', 'yaml'), [
    'eventStart: null',
    'eventEnd: 420',
    'severity: info',
    'message:',
    '  type: backendCallStart',
    '  target: 127.0.0.1:8080',
  ])
  assert.equal(
    buildDetails(STEPS, 7, 'event', 'json').join('\n'),
    JSON.stringify(JSON.parse(SAMPLE_LINES[7]!), null, 2),
  )
})

details('appends the decoded body to its event', () => {
  const lines = buildDetails(STEPS, 8, 'event', 'yaml')
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

details('summarises the arrivals of a body in one line', () => {
  const arrivals = Array.from({ length: 500 }, (_part, at) => [at + 1, at * 1_000])
  const message = { type: 'bodySnapshot', stage: 'response', body: '', arrivals }
  for (const [body, expected] of [
    [message, /arrivals"?: "?500, after 0 µs to 499\.0 ms/],
    [{ ...message, arrivalStep: 4 }, /arrivals"?: "?about 2000, after 0 µs to 499\.0 ms/],
  ] as const) {
    const step = stepOf(JSON.stringify({ eventStart: null, eventEnd: 1, message: body }))
    for (const format of ['yaml', 'json'] as const) {
      const lines = buildDetails([step], 0, 'event', format)
      assert.ok(lines.length < 15)
      assert.match(lines.join('\n'), expected)
    }
  }
})

details('shows the body as its snapshot, decoded by the headers before it', () => {
  assert.equal(buildDetails(STEPS, 11, 'snapshot', 'yaml').slice(0, 3), [
    '# body, decoded: events',
    'event: note',
    'data:',
  ])
})

details('shows the last snapshot up to the step', () => {
  const lines = buildDetails(STEPS, 4, 'snapshot', 'yaml')
  assert.equal(lines.slice(0, 3), ['# gateway policies (step 4)', 'request:', '  method: POST'])
  assert.equal(buildDetails(STEPS, 0, 'snapshot', 'yaml'), [
    'There is no snapshot up to this step.',
  ])
})

details('shows what changed since the previous snapshot', () => {
  assert.equal(buildDetails(STEPS, 6, 'diff', 'yaml'), [
    '# gateway policies (step 4) → route policies (step 7)',
    '+ request.headers.x-user: "alice"',
  ])
  assert.equal(buildDetails(STEPS, 3, 'diff', 'yaml'), [
    '# initial request (step 2) → gateway policies (step 4)',
    'no changes',
  ])
  assert.match(buildDetails(STEPS, 1, 'diff', 'yaml')[0]!, /the first snapshot/)
})

details('treats a policy that changed the request as a snapshot', () => {
  const policy = {
    message: {
      type: 'policy',
      kind: 'urlRewrite',
      result: { type: 'apply', details: '', snapshot: { request: { path: '/y' } } },
    },
  }
  const steps = [...STEPS.slice(0, 2), stepOf(JSON.stringify(policy))]
  assert.is(
    buildDetails(steps, 2, 'diff', 'yaml')[0],
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

details('returns nothing for a missing step', () => {
  assert.equal(buildDetails([], 0, 'event', 'yaml'), [])
  assert.equal(buildDetails([stepOf('nonsense')], 0, 'event', 'yaml'), ['nonsense'])
})

details('cuts long values and many lines', () => {
  const long = stepOf(JSON.stringify({ message: { type: 'x', a: 'y'.repeat(10_000) } }))
  for (const format of ['yaml', 'json'] as const) {
    const lines = buildDetails([long], 0, 'event', format)
    assert.ok(lines.every((line) => line.length < 4_200))
    assert.match(lines.join('\n'), /… 6000 more characters/)
  }
  const many = JSON.stringify({ message: { type: 'x', a: Array(60_000).fill(1) } })
  assert.is(buildDetails([stepOf(many)], 0, 'event', 'yaml').length, 50_001)
})

details('formats the events of a stream', () => {
  const bytes = Buffer.from('event: a\r\ndata: {"b":[1]}\r\n\r\ndata: [DONE]\n\n: ping\n')
  const { kind, lines } = formatBody(bytes, {
    type: 'text/event-stream; charset=utf-8',
    encoding: '',
  })
  assert.is(kind, 'events')
  assert.equal(lines, [
    ...['event: a', 'data:', '  {', '    "b": [', '      1', '    ]', '  }', ''],
    ...['data: [DONE]', '', ': ping', ''],
  ])
  assert.is(formatBody(bytes, NO_FACTS).kind, 'events')
})

details('decompresses bodies, also truncated ones', () => {
  const plain = Buffer.from(JSON.stringify({ a: 1 }))
  for (const [encoding, bytes] of [
    ['gzip', gzipSync(plain)],
    ['deflate', deflateSync(plain)],
    ['br', brotliCompressSync(plain)],
  ] as const) {
    const { kind, lines } = formatBody(bytes, { type: 'application/json', encoding })
    assert.is(kind, `JSON, ${encoding}`)
    assert.equal(lines, ['{', '  "a": 1', '}'])
  }
  const text = 'many words '.repeat(1_000)
  const cut = gzipSync(Buffer.from(text)).subarray(0, 40)
  const { kind } = formatBody(cut, { type: 'text/plain', encoding: 'gzip' })
  assert.is(kind, 'text, gzip')
})

details('shows binary bodies as a hex dump', () => {
  const { kind, lines } = formatBody(Buffer.from([0, 1, 0x41, 0xff]), NO_FACTS)
  assert.is(kind, 'binary')
  assert.is(lines[0], '00000000  00 01 41 ff                                      ..A.')
  const packed = formatBody(Buffer.from('x'), { type: '', encoding: 'gzip' })
  assert.is(packed.kind, 'binary, gzip')
  const large = formatBody(Buffer.alloc(10_000), NO_FACTS)
  assert.is(large.lines.at(-1), '… 5904 more bytes')
})

details('accepts an incomplete character at the end of text', () => {
  assert.is(formatBody(Buffer.from('日本').subarray(0, 5), NO_FACTS).kind, 'text')
})

details.run()
