import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { READ_BUFFER_BYTES } from '../../lib/core/bounds.ts'
import * as memory from '../../lib/http/llhttp.ts'

const { llhttp, readBuffer, requestParser, responseParser, resetRecordedSpans, recordedSpans } =
  memory

/** Runs llhttp over the text in the read buffer; returns its result and position. */
function execute(parser: number, text: string): { result: number; at: number; fault: string } {
  readBuffer.write(text, 0, 'latin1')
  const from = readBuffer.byteOffset
  const result = llhttp.llhttp_execute(parser, from, text.length)
  const at = llhttp.llhttp_get_error_pos(parser) - from
  const fault = result === 0 ? '' : memory.llhttpErrorOf(parser)
  llhttp.llhttp_reset(parser)
  return { result, at, fault }
}

function spansOf(): string[] {
  const found: string[] = []
  for (let i = 4; i < recordedSpans[3]! >> 2; i += 2) {
    const from = recordedSpans[i]! - readBuffer.byteOffset
    found.push(readBuffer.latin1Slice(from, from + recordedSpans[i + 1]!))
  }
  return found
}

const expectations = suite('llhttp as undici ships it')

expectations.after.each(() => resetRecordedSpans())

expectations('exports the functions that the gateway calls', () => {
  for (const name of [
    'malloc',
    'llhttp_alloc',
    'llhttp_execute',
    'llhttp_reset',
    'llhttp_get_error_pos',
    'llhttp_get_error_reason',
  ])
    assert.type(Reflect.get(llhttp, name), 'function', name)
  assert.ok(llhttp.memory.buffer instanceof ArrayBuffer)
})

expectations('has separate buffers in one memory that no parse grows', () => {
  const { scratchBuffer } = memory
  for (let i = 0; i < 1000; i++) execute(requestParser, 'GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  for (const buffer of [readBuffer, scratchBuffer]) {
    assert.is(buffer.length, READ_BUFFER_BYTES)
    assert.ok(memory.isSharedBuffer(buffer))
    assert.is(buffer.buffer, llhttp.memory.buffer)
  }
  assert.ok(Math.abs(readBuffer.byteOffset - scratchBuffer.byteOffset) >= READ_BUFFER_BYTES)
  assert.not(memory.isSharedBuffer(Buffer.alloc(8)))
})

expectations('pauses with 21 right after the head of a request', () => {
  const head = 'POST /x HTTP/1.1\r\nhost: a\r\nx:\r\ncontent-length: 4\r\n\r\n'
  const { result, at } = execute(requestParser, `${head}body`)
  assert.is(result, memory.LLHTTP_PAUSED)
  assert.is(result, 21)
  assert.is(at, head.length)
  assert.equal(spansOf(), ['/x', 'host', 'a', 'x', '', 'content-length', '4'])
})

expectations('pauses right after the head without a body, chunked, and before an upgrade', () => {
  for (const fields of [
    '',
    'transfer-encoding: chunked\r\n',
    'connection: upgrade\r\nupgrade: x\r\n',
  ]) {
    const head = `GET / HTTP/1.1\r\nhost: a\r\n${fields}\r\n`
    assert.equal(execute(requestParser, `${head}rest`), {
      result: 21,
      at: head.length,
      fault: 'Paused by on_headers_complete',
    })
  }
})

expectations('pauses right after the head of a response', () => {
  for (const head of [
    'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n',
    'HTTP/1.1 204 No Content\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
  ]) {
    const { result, at } = execute(responseParser, `${head}body`)
    assert.equal([result, at], [21, head.length])
    assert.is(recordedSpans[0], Number(head.substring(9, 12)))
  }
})

expectations('records status, upgrade and keep-alive with the head', () => {
  execute(requestParser, 'GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  assert.equal([recordedSpans[0], recordedSpans[1], recordedSpans[2]], [0, 1, 1])
  execute(requestParser, 'GET / HTTP/1.1\r\nconnection: close\r\n\r\n')
  assert.equal([recordedSpans[1], recordedSpans[2]], [0, 0])
  execute(requestParser, 'GET / HTTP/1.0\r\n\r\n')
  assert.is(recordedSpans[2], 0)
})

expectations('returns 0 while the head is incomplete, at every length', () => {
  const head = 'GET / HTTP/1.1\r\nhost: a\r\nx: 1\r\n\r\n'
  for (let to = 0; to < head.length; to++) {
    assert.is(execute(requestParser, head.substring(0, to)).result, 0, `${to} bytes`)
    resetRecordedSpans()
  }
})

expectations('reports bad methods, versions and lengths by code', () => {
  const faults: [string, number, string][] = [
    ['BREW / HTTP/1.1\r\n', memory.LLHTTP_INVALID_METHOD, 'Invalid method encountered'],
    ['MKCOLA / HTTP/1.1\r\n', memory.LLHTTP_INVALID_METHOD, 'Expected space after method'],
    ['GET / HTTP/1.2\r\n', memory.LLHTTP_INVALID_VERSION, 'Invalid HTTP version'],
    ['GET / HTTP/2\r\n', memory.LLHTTP_INVALID_VERSION, 'Expected dot'],
    ['PUT / HTTP/1.1\r\ncontent-length: x\r\n\r\n', 11, 'Invalid character in Content-Length'],
  ]
  assert.equal([memory.LLHTTP_INVALID_METHOD, memory.LLHTTP_INVALID_VERSION], [6, 9])
  for (const [text, code, fault] of faults) {
    const actual = execute(requestParser, text)
    assert.equal([actual.result, actual.fault], [code, fault], text)
  }
  const two = 'PUT / HTTP/1.1\r\ncontent-length: 1\r\n'
  assert.is(execute(requestParser, `${two}content-length: 1\r\n\r\n`).result, 4)
  assert.is(execute(requestParser, `${two}transfer-encoding: chunked\r\n\r\n`).result, 15)
  for (const code of [4, 11, 15]) assert.ok(memory.LLHTTP_INVALID_FRAMING.has(code))
})

expectations('stops with 24 when the recorder is full', () => {
  const text = `GET / HTTP/1.1\r\n${'a:b\r\n'.repeat(4200)}\r\n`
  assert.is(execute(requestParser, text).result, memory.RECORDER_FULL)
  assert.is(memory.RECORDER_FULL, 24)
})

expectations('accepts versions that the gateway refuses itself', () => {
  for (const version of ['HTTP/0.9', 'HTTP/2.0']) {
    readBuffer.write(`GET / ${version}\r\n\r\n`, 'latin1')
    assert.is(llhttp.llhttp_execute(requestParser, readBuffer.byteOffset, 18), 21)
    llhttp.llhttp_reset(requestParser)
  }
})

expectations.run()
