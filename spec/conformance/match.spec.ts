import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { differences, parseExpected } from '../../conformance/match.ts'
import { readMessage } from '../../conformance/message.ts'

function compare(expected: string, actual: string): string[] {
  const message = readMessage(actual, { role: 'response', hasEnded: true })
  assert.ok(message)
  return differences(parseExpected(expected), message)
}

const HEAD = 'HTTP/1.1 200 OK\r\n'

const match = suite('match')

match('ignores the order and case of headers, and Date', () => {
  const actual = `${HEAD}B: 2\r\nDate: x\r\nA: 1\r\n\r\n`
  assert.equal(compare(`${HEAD}a: 1\r\nb: <number>\r\n\r\n`, actual), [])
})

match('reports missing, wrong and unexpected headers', () => {
  const actual = `${HEAD}a: 1\r\nb: 2\r\n\r\nbody`
  assert.equal(compare(`HTTP/1.1 404 Not Found\r\na: 2\r\nc: 3\r\n\r\nother`, actual), [
    'start line "HTTP/1.1 200 OK", expected "HTTP/1.1 404 Not Found"',
    'missing header a: 2, found "1"',
    'missing header c: 3',
    'unexpected header a: 1',
    'unexpected header b: 2',
    'body "body", expected "other"',
  ])
  assert.equal(compare(`${HEAD}<any>\r\n\r\nbody`, actual), [])
})

match('counts repeated headers', () => {
  assert.equal(compare(`${HEAD}a: 1\r\na: 1\r\n\r\n`, `${HEAD}a: 1\r\n\r\n`).length, 1)
})

match('compares chunked bodies by content and trailers', () => {
  const head = `${HEAD}transfer-encoding: chunked\r\n\r\n`
  const actual = `${head}2\r\nhe\r\n3\r\nllo\r\n0\r\nt: 1\r\n\r\n`
  assert.equal(compare(`${head}5\r\nhello\r\n0\r\nt: <number>\r\n\r\n`, actual), [])
  assert.is(compare(`${head}5\r\nhello\r\n0\r\n\r\n`, actual).length, 1)
  assert.is(compare(`${head}5\r\nhallo\r\n0\r\nt: 1\r\n\r\n`, actual).length, 1)
})

match('compares JSON by its values', () => {
  const head = `${HEAD}content-type: application/json\r\n\r\n`
  const actual = `${head}{"id": 1, "error": {"code": -3}}`
  assert.equal(compare(`${head}{"error":{"code":-3},"id":<number>}`, actual), [])
  assert.is(compare(`${head}{"error":{"code":-4},"id":1}`, actual).length, 1)
  assert.is(compare(`${head}{"id":1}`, actual).length, 1)
})

match('compares event streams by their events, with any framing', () => {
  const head = `${HEAD}<any>\r\n\r\n`
  const stream = (chunks: string) =>
    `${HEAD}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`
  const actual = stream('8\r\ndata: {"\r\n7\r\na":1}\n\n\r\n')
  assert.equal(compare(`${head}data: { "a": <number> }`, actual), [])
  assert.is(compare(`${head}data: {"a":2}`, actual).length, 1)
  assert.is(compare(`${head}event: message\r\ndata: {"a":1}`, actual).length, 1)
})

match('keeps the value of a header', () => {
  const kept = new Map<string, string>()
  const message = readMessage(`${HEAD}a: s-1\r\n\r\n`, { role: 'response', hasEnded: true })
  assert.ok(message)
  assert.equal(differences(parseExpected(`${HEAD}a: <session 2>\r\n\r\n`), message, kept), [])
  assert.equal([...kept], [['session 2', 's-1']])
})

match('finds the end of messages', () => {
  const read = (text: string, method?: string, hasEnded = false): unknown => {
    const message = readMessage(text, { role: 'response', method, hasEnded })
    return message === null ? null : [message.content, message.isComplete, message.length]
  }
  assert.is(read('HTTP/1.1 200 OK\r\n'), null)
  assert.equal(read(`${HEAD}content-length: 2\r\n\r\nokHTTP`), ['ok', true, 40])
  assert.equal(read(`${HEAD}content-length: 2\r\n\r\no`), ['o', false, 39])
  assert.equal(read(`${HEAD}content-length: 2\r\n\r\nHTTP`, 'HEAD'), ['', true, 38])
  assert.equal(read('HTTP/1.1 100 Continue\r\n\r\nHTTP'), ['', true, 25])
  assert.equal(read(`${HEAD}\r\nok`), ['ok', false, 21])
  assert.equal(read(`${HEAD}\r\nok`, 'GET', true), ['ok', true, 21])
  const chunks = `${HEAD}transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`
  assert.equal(read(chunks), ['ok', true, chunks.length])
  for (let to = chunks.length - 12; to < chunks.length; to++)
    assert.is((read(chunks.substring(0, to)) as unknown[])[1], false)
})

match.run()
