import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_CHUNK_EXTRA_BYTES } from '../../lib/core/bounds.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { BodyFramer } from '../../lib/http/framer.ts'
import { splits } from '../support/splits.ts'

interface Read {
  content: string
  trailers: string
  /** Bytes that belong to the body. */
  length: number
  isOver: boolean
}

function read(framer: BodyFramer, chunks: Buffer[]): Read {
  let content = ''
  let length = 0
  framer.onContent = (bytes, from, to) => {
    assert.ok(to > from, 'no empty run of content')
    content += bytes.latin1Slice(from, to)
  }
  for (const chunk of chunks) {
    const end = framer.consume(chunk, 0, chunk.length)
    length += end
    if (end < chunk.length) break
  }
  return { content, trailers: framer.trailerText, length, isOver: framer.isOver }
}

function chunked(chunks: Buffer[]): Read {
  const framer = new BodyFramer()
  framer.start('chunked', -1)
  return read(framer, chunks)
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

const framer = suite('framer')

/** Chunked bodies: wire form, content, trailers. Each is followed by bytes of the next message. */
const WHOLE: [wire: string, content: string, trailers: string][] = [
  ['0\r\n\r\n', '', ''],
  ['5\r\nhello\r\n0\r\n\r\n', 'hello', ''],
  ['5\r\nhello\r\n6\r\n world\r\n000\r\n\r\n', 'hello world', ''],
  ['A\r\n0123456789\r\na\r\nabcdefghij\r\n0\r\n\r\n', '0123456789abcdefghij', ''],
  ['0000000000000002\r\nok\r\n0\r\n\r\n', 'ok', ''],
  ['2\r\n\r\n\r\n0\r\n\r\n', '\r\n', ''],
  ['7\r\n0\r\n\r\n\x00\xff\r\n0\r\n\r\n', '0\r\n\r\n\x00\xff', ''],
  ['3;name\r\nabc\r\n0\r\n\r\n', 'abc', ''],
  ['3;name=value;other\r\nabc\r\n0;last=1\r\n\r\n', 'abc', ''],
  ['3;name="a; \\"b\\" \\\\";x=y\r\nabc\r\n0\r\n\r\n', 'abc', ''],
  ['2;q=""\r\nok\r\n0\r\n\r\n', 'ok', ''],
  ['0\r\nx-sum: 9\r\n\r\n', '', 'x-sum: 9\r\n'],
  ['2\r\nok\r\n0\r\nA:1\r\nB:\t2 \r\nC:\r\n\r\n', 'ok', 'A:1\r\nB:\t2 \r\nC:\r\n'],
  ['0\r\nx: caf\xe9: au lait\r\n\r\n', '', 'x: caf\xe9: au lait\r\n'],
]

framer('finds the end, the content and the trailers of a chunked body at every split', () => {
  for (const [wire, content, trailers] of WHOLE)
    for (const chunks of splits(bytes(wire + 'GET / HTTP/1.1\r\n')))
      assert.equal(
        chunked(chunks),
        { content, trailers, length: wire.length, isOver: true },
        JSON.stringify([wire, chunks[0]?.length]),
      )
})

framer('is not over at any position before the end', () => {
  for (const [wire] of WHOLE)
    for (let to = 0; to < wire.length; to++)
      assert.is(chunked([bytes(wire.substring(0, to))]).isOver, false, wire.substring(0, to))
})

const MALFORMED: [wire: string, message: RegExp][] = [
  ['\r\n', /without a size/],
  ['x\r\n', /without a size/],
  [' 5\r\nhello\r\n', /without a size/],
  ['-1\r\n', /without a size/],
  ['+5\r\nhello\r\n', /without a size/],
  [';a=b\r\n', /without a size/],
  ['0x5\r\nhello\r\n', /malformed chunk size/],
  ['5 \r\nhello\r\n', /malformed chunk size/],
  ['5\t\r\nhello\r\n', /malformed chunk size/],
  ['5 ;a\r\nhello\r\n', /malformed chunk size/],
  ['2 erf\r\naa\r\n', /malformed chunk size/],
  ['5_0\r\nhello\r\n', /malformed chunk size/],
  ['5\nhello\r\n0\r\n\r\n', /malformed chunk size/],
  ['5\x00\r\nhello\r\n', /malformed chunk size/],
  ['1000000000001\r\n', /out of range/],
  ['fffffffffffffffff\r\n', /out of range/],
  ['00000000000000005\r\nhello\r\n', /out of range/],
  ['5\rhello\r\n', /bare CR after a chunk size/],
  ['5\r\rhello\r\n', /bare CR after a chunk size/],
  ['5\r\nhello!\r\n0\r\n\r\n', /longer than its size/],
  ['5\r\nhello\n0\r\n\r\n', /longer than its size/],
  ['5\r\nhello0\r\n\r\n', /longer than its size/],
  ['5\r\nhello\r0\r\n\r\n', /bare CR after a chunk/],
  ['3\r\nfoo\r\n\r\n', /without a size/],
  ['2;\r\nok\r\n', /extension without a name/],
  ['2;;a\r\nok\r\n', /extension without a name/],
  ['2; a\r\nok\r\n', /extension without a name/],
  ['2;=a\r\nok\r\n', /extension without a name/],
  ['2;a=\r\nok\r\n', /extension without a value/],
  ['2;a b\r\nok\r\n', /malformed chunk extension/],
  ['2;a=b=c\r\nok\r\n', /malformed chunk extension/],
  ['2;a\nok\r\n', /malformed chunk extension/],
  ['2;a=b\nok\r\n', /malformed chunk extension/],
  ['2;a="b"c\r\nok\r\n', /malformed chunk extension/],
  ['2;a="b\r\nok\r\n', /control byte in a chunk extension/],
  ['2;a="b\\\r\nok\r\n', /control byte in a chunk extension/],
  ['2;a="b\nc"\r\nok\r\n', /control byte in a chunk extension/],
  ['2;a="\x00"\r\nok\r\n', /control byte in a chunk extension/],
  ['2;a\r;b\r\nok\r\n', /bare CR after a chunk size/],
  ['0\r\n\n', /malformed trailer name/],
  ['0\r\n\r \n', /bare CR after the trailers/],
  ['0\r\nno colon\r\n\r\n', /malformed trailer name/],
  ['0\r\n: x\r\n\r\n', /malformed trailer name/],
  ['0\r\n a: x\r\n\r\n', /malformed trailer name/],
  ['0\r\na : x\r\n\r\n', /malformed trailer name/],
  ['0\r\na: x\n\r\n', /control byte in a trailer/],
  ['0\r\na: \x00\r\n\r\n', /control byte in a trailer/],
  ['0\r\na: x\x7f\r\n\r\n', /control byte in a trailer/],
  ['0\r\na: x\r \n\r\n', /bare CR in a trailer/],
  ['0\r\na: x\r\n y\r\n\r\n', /malformed trailer name/],
  ['0\r\nContent-Length: 5\r\n\r\n', /forbidden trailer/],
  ['0\r\nx: 1\r\ntransfer-encoding: chunked\r\n\r\n', /forbidden trailer/],
  ['0\r\nHost: b\r\n\r\n', /forbidden trailer/],
]

/** How many bytes were valid before the first invalid one. */
function validBytesIn(chunks: Buffer[]): number {
  const one = new BodyFramer()
  one.start('chunked', -1)
  let before = 0
  for (const chunk of chunks) {
    try {
      one.consume(chunk, 0, chunk.length)
    } catch {
      return before + one.faultAt
    }
    before += chunk.length
  }
  return before
}

framer('reports the position of the invalid byte at every split', () => {
  const long = `2;a=${'b'.repeat(MAX_CHUNK_EXTRA_BYTES)}\r\nok\r\n`
  for (const [wire] of [...MALFORMED, [long] as const]) {
    const all = bytes(wire)
    const alone = Array.from(all, (_byte, at) => all.subarray(at, at + 1))
    const valid = validBytesIn(alone)
    assert.ok(valid < all.length, wire)
    assert.is(validBytesIn([all]), valid, wire)
    if (wire !== long)
      for (const chunks of splits(all)) assert.is(validBytesIn(chunks), valid, wire)
  }
})

framer('refuses malformed chunks, extensions and trailers at every split', () => {
  for (const [wire, message] of MALFORMED)
    for (const chunks of splits(bytes(wire)))
      assert.throws(
        () => chunked(chunks),
        (error: unknown) =>
          error instanceof GatewayError &&
          error.code === 'BAD_CHUNK' &&
          error.status === 400 &&
          message.test(error.message),
        JSON.stringify([wire, chunks[0]?.length]),
      )
})

framer('bounds extensions and trailers of one body together', () => {
  const half = MAX_CHUNK_EXTRA_BYTES / 2
  const extension = `1;${'e'.repeat(half - 1)}\r\nx\r\n`
  const trailer = (length: number): string => `0\r\nt:${'v'.repeat(length - 4)}\r\n\r\n`
  assert.ok(chunked([bytes(extension + trailer(half))]).isOver)
  const over = bytes(extension + trailer(half + 1))
  assert.throws(() => chunked([over]), /above 16384 bytes/)
  assert.throws(() => chunked([over.subarray(0, 9000), over.subarray(9000)]), /above 16384 bytes/)
})

framer('counts a body of known length at every split and leaves the rest', () => {
  for (const chunks of splits(bytes('hello worldGET /'))) {
    const framed = new BodyFramer()
    framed.start('length', 11)
    assert.equal(read(framed, chunks), {
      content: 'hello world',
      trailers: '',
      length: 11,
      isOver: true,
    })
  }
})

framer('has nothing to read in a body without content', () => {
  const framed = new BodyFramer()
  for (const start of [() => framed.start('none', -1), () => framed.start('length', 0)]) {
    start()
    assert.is(framed.isOver, true)
    assert.is(framed.endsWithClose, false)
    assert.is(framed.consume(bytes('GET /'), 2, 5), 2)
  }
})

framer('never ends a body that only the end of the connection ends', () => {
  const framed = new BodyFramer()
  framed.start('close', -1)
  assert.equal(read(framed, [bytes('0\r\n\r\n'), bytes('more')]), {
    content: '0\r\n\r\nmore',
    trailers: '',
    length: 9,
    isOver: false,
  })
  assert.is(framed.endsWithClose, true)
})

framer('reads only between the indices it is given', () => {
  const framed = new BodyFramer()
  framed.start('chunked', -1)
  const buffer = bytes('xx2\r\nok\r\n0\r\n\r\nyy')
  let content = ''
  framed.onContent = (from, at, to) => (content += from.latin1Slice(at, to))
  assert.is(framed.consume(buffer, 2, 7), 7)
  assert.is(framed.consume(buffer, 7, buffer.length), buffer.length - 2)
  assert.is(content, 'ok')
})

framer('starts again after an incomplete body', () => {
  const framed = new BodyFramer()
  framed.start('chunked', -1)
  framed.consume(bytes('ff;a="b'), 0, 7)
  framed.start('chunked', -1)
  assert.equal(read(framed, [bytes('2\r\nok\r\n0\r\n\r\n')]).content, 'ok')
  framed.start('chunked', -1)
  framed.consume(bytes('0\r\nx: 1\r\n'), 0, 9)
  framed.start('chunked', -1)
  assert.equal(read(framed, [bytes('0\r\n\r\n')]).trailers, '')
})

framer.run()
