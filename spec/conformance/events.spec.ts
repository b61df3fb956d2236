import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { areEvents, eventsFit, parseEvents, parseExpectedEvents } from '../../conformance/events.ts'
import type { Kept } from '../../conformance/placeholders.ts'

const plain = (text: string): unknown => parseEvents(text).map((event) => Object.fromEntries(event))

const fit = (expected: string, actual: string, kept?: Kept): boolean =>
  eventsFit(parseExpectedEvents(expected), parseEvents(actual), kept)

const events = suite('events')

events('are complete after an empty line, with any line end', () => {
  const one = { event: 'message', data: '1' }
  for (const end of ['\n', '\r\n', '\r'])
    assert.equal(plain(`event: message${end}data: 1${end}${end}data: 2${end}`), [one])
  assert.equal(plain('event: message\ndata: 1\n'), [])
})

events('join their data, and comments are skipped', () => {
  assert.equal(plain(': keep-alive\n\ndata:a\n: b\ndata: c\nid\n\n'), [{ data: 'a\nc', id: '' }])
})

events('are compared field by field, and their data as JSON', () => {
  const actual = 'event: message\nid: 0-1\ndata: {"a":1,"b":[2]}\n\n'
  const kept: Kept = new Map()
  assert.ok(fit('event: message\r\ndata: {"b":[2],"a":1}\r\nid: <event>', actual, kept))
  assert.is(kept.get('event 1'), '0-1')
  assert.not(fit('event: message\r\ndata: {"a":1,"b":[2]}', actual))
  assert.not(fit('event: message\r\nid: 0-1\r\ndata: {"a":1}', actual))
})

events('must be as many as expected', () => {
  assert.ok(fit('data: 1\n\ndata: 2', 'data: 1\n\ndata: 2\n\n'))
  assert.not(fit('data: 1', 'data: 1\n\ndata: 2\n\n'))
  assert.ok(fit('', ''))
})

events('differ from the bytes of chunks', () => {
  assert.ok(areEvents('event: message\r\ndata: 1'))
  assert.not(areEvents('9\r\ndata: 1\n\n\r\n'))
})

events.run()
