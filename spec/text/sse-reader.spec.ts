// Event streams: bytes on the left, the calls of the owner on the right, at every split.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { EventReader } from '../../lib/text/sse-reader.ts'
import { fc } from '../support/fast-check.ts'
import { splits } from '../support/splits.ts'

type OwnerCall = [name: string, data: string, id: string | null] | number | 'too long'

/** The calls for these chunks, each of which is overwritten after it was read. */
function read(chunks: readonly Buffer[], maxBytes = 1000): OwnerCall[] {
  const calls: OwnerCall[] = []
  const kept: [Buffer, string][] = []
  const reader = new EventReader(
    {
      event: (name, data, id) => {
        calls.push([name, data.toString('latin1'), id])
        kept.push([data, data.toString('latin1')])
      },
      retry: (ms) => calls.push(ms),
      tooLong: () => calls.push('too long'),
    },
    maxBytes,
  )
  for (const chunk of chunks) {
    const passing = Buffer.concat([Buffer.from('\n\n'), chunk, Buffer.from('\n\n')])
    reader.write(passing, 2, passing.length - 2)
    passing.fill('data: overwritten\n\n')
  }
  for (const [data, text] of kept) assert.is(data.toString('latin1'), text, 'data was kept')
  return calls
}

function holds(wire: string, calls: OwnerCall[], maxBytes?: number): void {
  for (const chunks of splits(Buffer.from(wire, 'latin1')))
    assert.equal(read(chunks, maxBytes), calls, JSON.stringify([wire, chunks[0]?.length]))
}

/** The same with every mix of line ends; `wire` is written with LF. */
function holdsInAllLineEnds(wire: string, calls: OwnerCall[]): void {
  for (const end of ['\n', '\r\n', '\r']) holds(wire.replaceAll('\n', end), calls)
  const mixes = ['\r\n', '\n', '\r', '\r\n', '\r', '\n']
  // An LF after a CR would be one line end, where two are meant.
  let last = ''
  let next = 0
  const mixed = wire.replace(/\n/g, (_lf, at: number) => {
    const isAfterCr = last === '\r' && wire[at - 1] === '\n'
    if (isAfterCr && mixes[next % mixes.length] === '\n') next++
    return (last = mixes[next++ % mixes.length]!)
  })
  holds(mixed, calls)
}

const events = suite('event reader')

const STREAMS: [wire: string, calls: OwnerCall[]][] = [
  ['data: a\n\n', [['', 'a', null]]],
  ['data:a\n\n', [['', 'a', null]]],
  ['data:  a \n\n', [['', ' a ', null]]],
  ['data: a: b\n\n', [['', 'a: b', null]]],
  ['data: {"jsonrpc":"2.0"}\n\n', [['', '{"jsonrpc":"2.0"}', null]]],
  ['data: a\ndata: b\ndata\ndata:\ndata: c\n\n', [['', 'a\nb\n\n\nc', null]]],
  ['data\n\n', [['', '', null]]],
  ['data:\n\n', [['', '', null]]],
  ['data: \n\n', [['', '', null]]],
  ['data\ndata\n\n', [['', '\n', null]]],
  [
    'data: a\n\ndata: b\n\n',
    [
      ['', 'a', null],
      ['', 'b', null],
    ],
  ],
  ['\n\n\ndata: a\n\n\n\n', [['', 'a', null]]],
  ['event: add\ndata: a\n\n', [['add', 'a', null]]],
  ['data: a\nevent: add\n\n', [['add', 'a', null]]],
  ['event: one\nevent: two\ndata: a\n\n', [['two', 'a', null]]],
  ['event: one\nevent\ndata: a\n\n', [['', 'a', null]]],
  [
    'event: add\ndata: a\n\ndata: b\n\n',
    [
      ['add', 'a', null],
      ['', 'b', null],
    ],
  ],
  ['id: 1\ndata: a\n\n', [['', 'a', '1']]],
  ['data: a\nid: 1\n\n', [['', 'a', '1']]],
  [
    'id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\nid: 2 \ndata: d\n\n',
    [
      ['', 'a', '1'],
      ['', 'b', '1'],
      ['', 'c', ''],
      ['', 'd', '2 '],
    ],
  ],
  [': a comment\n:\n: data: no\ndata: a\n: in between\n\n:last\n', [['', 'a', null]]],
]

events('reads events with every kind of line end, at every split', () => {
  for (const [wire, calls] of STREAMS) holdsInAllLineEnds(wire, calls)
})

events('does not report an event without data, but keeps its id and drops its name', () => {
  holdsInAllLineEnds('event: add\nid: 7\n\ndata: a\n\n', [['', 'a', '7']])
  holdsInAllLineEnds('event: add\n\n: only\n\n\n', [])
})

events('drops an incomplete event', () => {
  for (const wire of ['data: a', 'data: a\n', 'data: a\r', 'data: a\r\n', 'd', ': a\nid: 1\n'])
    holds(wire, [])
  holds('data: a\n\ndata: b\nevent: c\n', [['', 'a', null]])
})

events('reports an event as soon as its empty line begins', () => {
  holds('data: a\n\n', [['', 'a', null]])
  holds('data: a\r\r', [['', 'a', null]])
  holds('data: a\r\n\r', [['', 'a', null]])
  holds('data: a\r\n\r\n\ndata: b\r\n\r\n', [
    ['', 'a', null],
    ['', 'b', null],
  ])
})

events('ignores unknown fields', () => {
  const lines = [
    'dat: x',
    'datas: x',
    'Data: x',
    ' data: x',
    'data : x',
    'events: x',
    'x',
    'ids: 5',
  ]
  lines.push(
    '\0data: x',
    '\0\0\0id: 5',
    `${'long'.repeat(50)}: x`,
    'da\xc3\xa4: x',
    'retr: 5',
    'i: 5',
  )
  for (const line of lines) {
    holdsInAllLineEnds(`${line}\n\n`, [])
    holdsInAllLineEnds(`${line}\ndata: a\n${line}\n\n`, [['', 'a', null]])
  }
})

events('ignores an id that contains NUL', () => {
  holds('id: 1\nid: 2\0\nid:\0\ndata: a\n\n', [['', 'a', '1']])
  holds('id: \0\ndata: a\n\n', [['', 'a', null]])
})

events('reports a retry of digits only, at once and without an event', () => {
  holdsInAllLineEnds('retry: 1500\n', [1500])
  holdsInAllLineEnds('retry:0\ndata: a\nretry: 007\n\n', [0, 7, ['', 'a', null]])
  holds(`retry: ${'9'.repeat(400)}\n`, [Number.MAX_SAFE_INTEGER])
  for (const value of ['', ' ', '-1', '+1', '1.5', '1e3', '0x1', '5 ', '  5', '5s', 'soon', '\xb2'])
    holds(`retry: ${value}\ndata: a\n\n`, [['', 'a', null]])
  holds('retry\n', [])
})

events('skips a byte order mark, if it is complete and at the start', () => {
  holdsInAllLineEnds('\xef\xbb\xbfdata: a\n\n', [['', 'a', null]])
  holdsInAllLineEnds('\xef\xbb\xbf: a\n\xef\xbb\xbfdata: a\n\n', [])
  holdsInAllLineEnds('\xef\xbb\xbf\xef\xbb\xbfdata: a\ndata: b\n\n', [['', 'b', null]])
  holdsInAllLineEnds('\xef\xbbdata: a\ndata: b\n\n', [['', 'b', null]])
  holdsInAllLineEnds('\xef\n\xbb\xbfdata: a\ndata: b\n\n', [['', 'b', null]])
  holdsInAllLineEnds('\xef\xbb\n\ndata: b\n\n', [['', 'b', null]])
  holdsInAllLineEnds('data: \xef\xbb\xbf\n\n', [['', '\xef\xbb\xbf', null]])
})

events('keeps the bytes of data, and reads names and ids as UTF-8', () => {
  const codes = Array.from({ length: 256 }, (_x, byte) => byte)
  const other = String.fromCharCode(...codes.filter((byte) => byte !== 10 && byte !== 13))
  holds(`data: ${other}\n\n`, [['', other, null]])
  const utf8 = Buffer.from('größer 日本').toString('latin1')
  holds(`event: ${utf8}\nid: ${utf8}\ndata: ${utf8}\n\n`, [['größer 日本', utf8, 'größer 日本']])
  holds('event: \xff\nid: \xff\ndata: \xff\n\n', [['\ufffd', '\xff', '\ufffd']])
})

events('stops for good when the data of an event is over the bound', () => {
  holds('data: 12345\n\n', [['', '12345', null]], 5)
  holds('data: 123456\n\ndata: a\n\nretry: 5\n', ['too long'], 5)
  holds('data: 12\ndata: 34\n\n', [['', '12\n34', null]], 5)
  holds('data: 12\ndata: 345\n\ndata: a\n\n', ['too long'], 5)
  holds('data\ndata\ndata\n\n', [['', '\n\n', null]], 2)
  holds('data\ndata\ndata\ndata\n\ndata\n\n', ['too long'], 2)
  holds('data: 1\n\ndata: 123456', [['', '1', null], 'too long'], 5)
})

events('bounds each event separately, and holds nothing of what it ignores', () => {
  const wire = `data: 12345\n\n:${'c'.repeat(20)}\n${'x'.repeat(20)}: ${'y'.repeat(20)}\nid: 12345\n`
  const calls: OwnerCall = ['', '12345', null]
  holds(`${wire}event: 12345\ndata: 12345\n\n`, [calls, ['12345', '12345', '12345']], 5)
})

events('stops when another field is over the bound', () => {
  for (const field of ['event', 'id', 'retry'])
    holds(`${field}: 123456\ndata: a\n\n`, ['too long'], 5)
})

events('joins an event of very many pieces in linear time', () => {
  const length = 2_000_000
  const started = process.cpuUsage()
  let data: Buffer = Buffer.alloc(0)
  const unexpected = (): void => assert.unreachable()
  const reader = new EventReader(
    { event: (_name, bytes) => void (data = bytes), retry: unexpected, tooLong: unexpected },
    length,
  )
  const letter = Buffer.from('x')
  const write = (bytes: Buffer): void => reader.write(bytes, 0, bytes.length)
  write(Buffer.from('data: '))
  for (let i = 0; i < length; i++) write(letter)
  write(Buffer.from('\n\n'))
  assert.is(data.length, length)
  assert.ok(data.every((byte) => byte === letter[0]))
  const { user, system } = process.cpuUsage(started)
  // Copying everything before each piece would be 2 TB.
  assert.ok(user + system < 10_000_000, `${user + system} us`)
})

function utf8(text: string): string {
  return Buffer.from(text, 'latin1').toString()
}

/** The algorithm of the standard, over the whole text at once. */
function modelOf(text: string): OwnerCall[] {
  const calls: OwnerCall[] = []
  let [name, data, id]: [string, string[], string | null] = ['', [], null]
  const lines = text.replace(/^\xef\xbb\xbf/, '').split(/\r\n|\n|\r/)
  for (const line of lines.slice(0, -1)) {
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!
    if (line === '') {
      if (data.length > 0) calls.push([name, data.join('\n'), id])
      name = ''
      data = []
    } else if (field === 'data') data.push(value)
    else if (field === 'event') name = utf8(value)
    else if (field === 'id' && !value.includes('\0')) id = utf8(value)
    else if (field === 'retry' && /^[0-9]+$/.test(value))
      calls.push(Math.min(Number(value), Number.MAX_SAFE_INTEGER))
  }
  return calls
}

const PIECE = fc.constantFrom(
  ...['data', 'event', 'id', 'retry', ':', ': ', ' ', '\n', '\r', '\r\n', '\n\n', '\xef\xbb\xbf'],
  ...['data: ', 'data:x\n', 'event: e\n', 'id: 1\r\n', 'retry: 10\r', 'a', '12', '\0', ':c\n'],
)

events('finds what the standard finds in any stream, at any split', () => {
  fc.assert(
    fc.property(fc.array(PIECE, { maxLength: 25 }), fc.array(fc.nat(60)), (pieces, cuts) => {
      const text = pieces.join('')
      const wire = Buffer.from(text, 'latin1')
      const positions = [
        0,
        ...cuts.filter((at) => at < wire.length).sort((a, b) => a - b),
        wire.length,
      ]
      const chunks = positions.slice(1).map((at, i) => wire.subarray(positions[i], at))
      assert.equal(read(chunks), modelOf(text), JSON.stringify(text))
    }),
    { numRuns: 5000 },
  )
})

events.run()
