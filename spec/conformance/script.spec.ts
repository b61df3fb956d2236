import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseBackendScripts } from '../../conformance/backend.ts'
import { bytesOf, millisecondsOf, parseScript } from '../../conformance/script.ts'

const bytes = (text: string): string => bytesOf(text.split('\n'))

const script = suite('script')

script('ends a head without body with its empty line', () => {
  const head = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
  assert.is(bytes('GET / HTTP/1.1\nhost: a'), head)
  assert.is(bytes('GET / HTTP/1.1\nhost: a\n'), head)
  assert.is(bytes('HTTP/1.1 200 OK'), 'HTTP/1.1 200 OK\r\n\r\n')
})

script('adds no line end to a body', () => {
  assert.is(bytes('HTTP/1.1 200 OK\na: b\n\nok'), 'HTTP/1.1 200 OK\r\na: b\r\n\r\nok')
  assert.is(bytes('5\nhello\n0\n'), '5\r\nhello\r\n0\r\n\r\n')
  assert.is(bytes('hello'), 'hello')
})

script('joins lines that end with a backslash, and unescapes bytes', () => {
  assert.is(bytes('GET / HTTP/1.1\\n\\\nhost: a\\n\\\n\\n\\'), 'GET / HTTP/1.1\nhost: a\n\n')
  assert.is(bytes('GET / HTTP/1.1\nhost: a\\'), 'GET / HTTP/1.1\r\nhost: a')
  assert.is(bytes('a\\x00\\xFF\\t\\r\\n\\\\'), 'a\x00\xff\t\r\n\\')
  assert.is(bytes('a\\\\\nb'), 'a\\\r\nb')
  assert.throws(() => bytes('a\\q'), /unknown escape/)
})

script('separates directives and bytes', () => {
  assert.equal(parseScript('HTTP/1.1 200 OK\n> sleep 50ms\nmore\n> close'), [
    { bytes: 'HTTP/1.1 200 OK\r\n\r\n' },
    { directive: 'sleep', argument: '50ms' },
    { bytes: 'more' },
    { directive: 'close', argument: '' },
  ])
  assert.equal(parseScript(''), [])
})

script('inserts the length of the body', () => {
  const request = 'POST / HTTP/1.1\ncontent-length: {{length}}\n\n{"a":<split>"\\xc3\\xa9"}'
  assert.match(parseScript(request)[0]?.bytes ?? '', /content-length: 10\r\n\r\n\{"a":/)
})

script('reads durations', () => {
  assert.equal([millisecondsOf('50ms'), millisecondsOf('2s')], [50, 2000])
  assert.throws(() => millisecondsOf('soon'))
})

script('makes a backend wait for a request first and start again', () => {
  const [steps = []] = parseBackendScripts('HTTP/1.1 204 No Content')
  assert.equal(
    steps.map((step) => Object.keys(step)),
    [['wait'], ['send'], ['again']],
  )
})

script('has one script per connection', () => {
  const kinds = parseBackendScripts('> connection\n> close\n> connection\nHTTP/1.1 200 OK').map(
    (steps) => steps.flatMap((step) => Object.keys(step)),
  )
  assert.equal(kinds, [['close'], ['wait', 'send', 'again']])
})

script.run()
