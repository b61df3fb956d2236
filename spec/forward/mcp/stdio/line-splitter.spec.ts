import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bytesInFlight } from '../../../../lib/core/byte-budgets.ts'
import { LineSplitter } from '../../../../lib/forward/mcp/stdio/line-splitter.ts'
import { cpuMs } from '../../../support/cpu-time.ts'
import { splits } from '../../../support/splits.ts'

interface Read {
  lines: string[]
  /** The first bytes of lines above the bound. */
  long: string[]
}

function read(chunks: readonly Buffer[], maxBytes = 1_000): Read {
  const found: Read = { lines: [], long: [] }
  const lines = new LineSplitter(
    {
      line: (bytes) => found.lines.push(bytes.toString('utf8')),
      tooLong: (beginning) => found.long.push(beginning.toString('utf8')),
    },
    maxBytes,
  )
  for (const chunk of chunks) lines.push(chunk)
  lines.end()
  assert.is(bytesInFlight.retained, 0)
  return found
}

const lines = suite('lines')

const WHOLE: [text: string, lines: string[]][] = [
  ['', []],
  ['one', ['one']],
  ['one\n', ['one']],
  ['one\ntwo\n', ['one', 'two']],
  ['one\r\ntwo\r\n', ['one', 'two']],
  ['\n\r\n\none\n\n', ['one']],
  ['a\rb\r\r\n', ['a\rb\r']],
  ['{"text":"grün 語 🜁"}\n{"text":"é"}\n', ['{"text":"grün 語 🜁"}', '{"text":"é"}']],
  ['one\nhalf a li', ['one', 'half a li']],
]

lines('counts the bytes of an incomplete line', () => {
  const some = new LineSplitter({ line() {}, tooLong() {} }, 1_000)
  some.push(Buffer.from('one\ntwo'))
  some.push(Buffer.from('three'))
  assert.is(bytesInFlight.retained, 8)
  some.stop()
  assert.is(bytesInFlight.retained, 0)
})

lines('finds every line at every split', () => {
  for (const [text, expected] of WHOLE)
    for (const chunks of splits(Buffer.from(text))) assert.equal(read(chunks).lines, expected)
})

lines('skips a line above the bound and reports its beginning, at every split', () => {
  const text = Buffer.from('12345678\n123456789\r\n12345678\r\n1234567890123\nok\n')
  for (const chunks of splits(text))
    assert.equal(read(chunks, 8), {
      lines: ['12345678', '12345678', 'ok'],
      long: ['12345678', '12345678'],
    })
})

lines('reports a line above the bound before its end', () => {
  const found: string[] = []
  const owner = { line: () => found.push('line'), tooLong: () => found.push('too long') }
  const machine = new LineSplitter(owner, 8)
  machine.push(Buffer.from('12345'))
  machine.push(Buffer.from('67890'))
  machine.push(Buffer.from('12345'))
  assert.equal(found, ['too long'])
})

lines('delivers nothing after stop, even within a chunk', () => {
  const found: string[] = []
  const machine = new LineSplitter(
    {
      line: (bytes) => {
        found.push(bytes.toString())
        machine.stop()
      },
      tooLong: () => found.push('too long'),
    },
    8,
  )
  machine.push(Buffer.from('one\ntwo\n123456789\nthr'))
  machine.push(Buffer.from('ee\n'))
  machine.end()
  assert.equal(found, ['one'])
})

lines('joins large and small pieces in their order', () => {
  const text = Array.from({ length: 60_000 }, (_x, i) => String(i)).join(' ')
  const bytes = Buffer.from(text + '\n' + text + '\n')
  const sizes = [1, 5_000, 3, 4_095, 4_096, 16_384, 2, 70_000]
  const chunks: Buffer[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!
    chunks.push(Buffer.from(bytes.subarray(at, at + size)))
    at += size
  }
  const found = read(chunks, bytes.length)
  assert.equal(found.long, [])
  assert.ok(found.lines.length === 2 && found.lines.every((line) => line === text))
})

lines('delivers bytes that later chunks do not change', () => {
  const found: Buffer[] = []
  const machine = new LineSplitter({ line: (bytes) => found.push(bytes), tooLong: () => {} }, 1_000)
  for (const text of ['on', 'e\n', 'tw', 'o\n', 'three\n', 'fo', 'ur\n'])
    machine.push(Buffer.from(text))
  assert.equal(
    found.map((bytes) => bytes.toString()),
    ['one', 'two', 'three', 'four'],
  )
})

lines('keeps no large chunk in memory for a short line', () => {
  const found: Buffer[] = []
  const machine = new LineSplitter(
    { line: (bytes) => found.push(bytes), tooLong: () => {} },
    100_000,
  )
  const chunk = Buffer.alloc(65_536, 'x')
  chunk[10] = chunk[60_000] = 10
  machine.push(chunk)
  assert.equal(
    found.map((bytes) => [bytes.length, bytes.buffer === chunk.buffer]),
    [
      [10, false],
      [59_989, true],
    ],
  )
})

lines(
  'reads a long line byte by byte in linear time and little more memory than its length',
  () => {
    const length = 1_000_000
    const found: number[] = []
    const machine = new LineSplitter(
      { line: ({ length: n }) => found.push(n), tooLong: () => {} },
      2e6,
    )
    const byte = Buffer.from('x')
    const before = process.memoryUsage().heapUsed
    const started = cpuMs()
    for (let i = 0; i < length; i++) machine.push(byte)
    const heap = process.memoryUsage().heapUsed - before
    machine.push(Buffer.from('\n'))
    assert.equal(found, [length])
    // A buffer for each of them would be some 100 MB; joined at each, it would take minutes.
    assert.ok(heap < 50_000_000, `${heap} bytes of heap`)
    assert.ok(cpuMs() - started < 5_000)
  },
)

lines.run()
