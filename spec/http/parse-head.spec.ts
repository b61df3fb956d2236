import { METHODS } from 'node:http'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { GatewayError } from '../../lib/core/errors.ts'
import type { RequestHead, ResponseHead } from '../../lib/core/head.ts'
import { parseHttp2RequestHead } from '../../lib/http/http2-head.ts'
import { readBuffer, scratchBuffer } from '../../lib/http/llhttp.ts'
import { parseRequestHead, parseResponseHead } from '../../lib/http/parse-head.ts'
import { fc } from '../support/fast-check.ts'
import { splits } from '../support/splits.ts'
import { REQUEST_FIELDS } from './vectors-request-fields.ts'
import { REQUEST_LINES } from './vectors-request.ts'
import { RESPONSES } from './vectors-response.ts'

const REQUESTS = [...REQUEST_LINES, ...REQUEST_FIELDS]
const LIMITS = { maxHeadBytes: 32_768, maxHeaders: 128 }
/** What a reused buffer contains after the bytes just read must not matter. */
const STALE = '\n HTTP/1.1\r\nhost: stale\r\n\r\n'

type Parse<T> = (bytes: Buffer, from: number, to: number, limits: typeof LIMITS) => T | null

/** Parses as a connection does: everything that has arrived, again, until the head is complete or refused. */
function arrive<T>(parse: Parse<T>, chunks: Buffer[], memory: Buffer): T | GatewayError | null {
  memory.fill(0, 0, 4096)
  let to = 3
  for (const chunk of chunks) {
    to += chunk.copy(memory, to)
    memory.write(STALE, to, 'latin1')
    try {
      const head = parse(memory, 3, to, LIMITS)
      if (head !== null) return head
    } catch (error) {
      if (error instanceof GatewayError) return error
      throw error
    }
  }
  return null
}

function describeHead(head: RequestHead | ResponseHead): Record<string, unknown> {
  const { version, length, chunked, keepAlive, upgrade } = head
  const common = { version, length, chunked, keepAlive, upgrade, fields: head.fieldsText() }
  if ('status' in head) {
    const { status, reason, keepAliveHint } = head
    return { ...common, status, reason, keepAliveHint }
  }
  return { ...common, method: head.method, target: head.target, authority: head.receivedAuthority }
}

const MEMORIES: [string, Buffer][] = [
  ['the read buffer', readBuffer],
  ['a part of the read buffer', readBuffer.subarray(1000)],
  ['the scratch buffer', scratchBuffer],
  ['a buffer of its own', Buffer.alloc(8192)],
]

const parser = suite('parse head')

for (const [where, memory] of MEMORIES) {
  parser(`parses every request vector alike at every split, in ${where}`, () => {
    for (const { what, bytes, expect } of REQUESTS)
      for (const chunks of splits(Buffer.from(bytes, 'latin1'))) {
        const name = `${what}, ${chunks.length} chunks, first ${chunks[0]?.length}`
        const result = arrive(parseRequestHead, chunks, memory)
        assert.ok(result !== null, name)
        if (result instanceof GatewayError)
          assert.equal([result.code, result.status], expect, `${name}: ${result.message}`)
        else {
          const all = describeHead(result)
          assert.not(Array.isArray(expect), `${name} should be refused`)
          assert.equal(all, Object.assign({ ...all }, expect), name)
        }
      }
  })

  parser(`parses every response vector alike at every split, in ${where}`, () => {
    for (const { what, bytes, expect } of RESPONSES)
      for (const chunks of splits(Buffer.from(bytes, 'latin1'))) {
        const name = `${what}, ${chunks.length} chunks, first ${chunks[0]?.length}`
        const result = arrive(parseResponseHead, chunks, memory)
        assert.ok(result !== null, name)
        if (result instanceof GatewayError) {
          assert.is(expect, 'refused', `${name}: ${result.message}`)
          assert.equal([result.code, result.status], ['BACKEND_INVALID', 503], name)
          assert.match(result.message, /^upstream call failed: invalid response: ./, name)
        } else {
          const all = describeHead(result)
          assert.is.not(expect, 'refused', name)
          assert.equal(all, { ...all, ...(expect as object) }, name)
        }
      }
  })
}

parser('reports where the body starts', () => {
  const head = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n'
  const bytes = Buffer.from(`xx${head}body`, 'latin1')
  assert.is(parseRequestHead(bytes, 2, bytes.length, LIMITS)?.end, 2 + head.length)
  const response = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n'
  bytes.fill(0)
  bytes.write(`${response}body`, 5, 'latin1')
  const end = 5 + response.length
  assert.is(parseResponseHead(bytes, 5, end + 4, LIMITS)?.end, end)
})

parser('accepts a head up to the limit and refuses one byte more with 431', () => {
  const head = (length: number): Buffer => {
    const start = 'GET / HTTP/1.1\r\nhost: a\r\nx: '
    return Buffer.from(`${start}${'y'.repeat(length - start.length - 4)}\r\n\r\n`, 'latin1')
  }
  const limits = { maxHeadBytes: 1000, maxHeaders: 128 }
  assert.ok(parseRequestHead(head(1000), 0, 1000, limits))
  const tooLarge = (to: number): void =>
    assert.throws(
      () => parseRequestHead(head(1001), 0, to, limits),
      (error: GatewayError) =>
        error.code === 'HEAD_TOO_LARGE' &&
        error.status === 431 &&
        error.message.includes('1000 bytes (frontendPolicies.http.maxHeadBytes)'),
    )
  tooLarge(1001)
  tooLarge(1000)
  assert.is(parseRequestHead(head(1001), 0, 999, limits), null)
  assert.throws(
    () =>
      parseResponseHead(Buffer.from(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1000)}`), 0, 1020, limits),
    (error: GatewayError) => error.code === 'BACKEND_INVALID',
  )
})

parser('does not count bytes of the body as head', () => {
  const bytes = Buffer.from(`POST / HTTP/1.1\r\nhost: a\r\n\r\n${'b'.repeat(5000)}`, 'latin1')
  assert.ok(parseRequestHead(bytes, 0, bytes.length, { maxHeadBytes: 100, maxHeaders: 128 }))
})

parser('counts fields, and empty lines before the request', () => {
  const fields = (count: number): Buffer =>
    Buffer.from(`GET / HTTP/1.1\r\nhost: a\r\n${'x: 1\r\n'.repeat(count - 1)}\r\n`, 'latin1')
  const parse = (bytes: Buffer, maxHeaders = 128): RequestHead | null =>
    parseRequestHead(bytes, 0, bytes.length, { maxHeadBytes: 32_768, maxHeaders })
  const isTooLarge = (error: GatewayError): boolean => error.status === 431
  assert.ok(parse(fields(128)))
  assert.throws(() => parse(fields(129)), isTooLarge)
  // More than the recorder can hold.
  assert.throws(() => parse(fields(4200), 65_536), isTooLarge)
  assert.is(parse(Buffer.from('\r\n'.repeat(1000))), null)
  assert.throws(() => parse(Buffer.from('\r\n'.repeat(16_384))), isTooLarge)
})

parser('parses the next head correctly after a refused one', () => {
  const good = Buffer.from('GET /ok HTTP/1.1\r\nhost: a\r\n\r\n')
  for (const { bytes } of REQUESTS) {
    const buffer = Buffer.from(bytes, 'latin1')
    try {
      parseRequestHead(buffer, 0, buffer.length, LIMITS)
    } catch {
      // Checked above.
    }
    assert.is(parseRequestHead(good, 0, good.length, LIMITS)?.fieldsText(), 'host: a\r\n')
  }
})

const TOKEN = fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,12}$/)
const VALUE = fc.stringMatching(/^(?:[!-~\xa0-\xff](?:[\t -~\xa0-\xff]{0,20}[!-~\xa0-\xff])?)?$/)
const SPECIAL =
  /^(?:host|te|upgrade|connection|keep-alive|proxy-connection|content-length|transfer-encoding)$/i
const FIELD = fc.tuple(
  TOKEN.filter((name) => !SPECIAL.test(name)),
  fc.stringMatching(/^[ \t]{0,2}$/),
  VALUE,
  fc.stringMatching(/^[ \t]{0,2}$/),
)

parser('finds the fields that were written, for any valid head at any split', () => {
  fc.assert(
    fc.property(fc.array(FIELD, { maxLength: 20 }), fc.nat(), (fields, seed) => {
      const lines = fields.map(
        ([name, before, value, after]) => `${name}:${before}${value}${after}\r\n`,
      )
      const text = `GET /p HTTP/1.1\r\nhost: a\r\n${lines.join('')}\r\n`
      const bytes = Buffer.from(text, 'latin1')
      const at = seed % bytes.length
      const head = arrive(parseRequestHead, [bytes.subarray(0, at), bytes.subarray(at)], readBuffer)
      assert.ok(head !== null && !(head instanceof GatewayError), text)
      assert.equal(
        [...head.entries()],
        [['host', 'a'], ...fields.map(([name, , value]) => [name.toLowerCase(), value])],
      )
      assert.is(head.fieldsText(), `host: a\r\n${lines.join('')}`)
    }),
  )
})

parser('accepts the same methods over HTTP/1 and HTTP/2', () => {
  const codeOf = (parse: () => unknown): string => {
    try {
      return parse() === null ? 'incomplete' : 'accepted'
    } catch (error) {
      return (error as GatewayError).code
    }
  }
  for (const method of [...METHODS, 'BREW', 'get', 'Get', 'G E T', 'DESCRIBE', 'PRI', '']) {
    const bytes = Buffer.from(`${method} / HTTP/1.1\r\nhost: a\r\n\r\n`, 'latin1')
    const http1 = codeOf(() => parseRequestHead(bytes, 0, bytes.length, LIMITS))
    const raw = [':method', method, ':scheme', 'http', ':path', '/', ':authority', 'a']
    const http2 = codeOf(() => parseHttp2RequestHead(raw))
    assert.is(http2 === 'accepted', http1 === 'accepted', `${method}: ${http1}, ${http2}`)
  }
})

parser.run()
