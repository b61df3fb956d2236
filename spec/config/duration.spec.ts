import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseDuration } from '../../lib/config/duration.ts'
import { configOf, problemsOf } from '../support/config.ts'

const durations = suite('durations')

durations('are parsed to milliseconds', () => {
  const table: [string, number][] = [
    ['500ms', 500],
    ['10s', 10_000],
    ['1m', 60_000],
    ['1h30m', 5_400_000],
    ['1h1m1s1ms', 3_661_001],
    ['90m', 5_400_000],
    ['0s', 0],
  ]
  for (const [text, expected] of table) assert.is(parseDuration(text), expected, text)
})

durations('are refused in any other form', () => {
  for (const text of [
    '',
    '10',
    's',
    '-1s',
    '1.5s',
    '1d',
    '1s1m',
    '1S',
    ' 1s',
    '1s ',
    '1us',
    '5ms5ms',
  ])
    assert.is(parseDuration(text), undefined, text)
})

function refusal(value: string): string {
  const text = `config: { connectionTerminationDeadline: ${value} }\ngateways: { a: { port: 1 } }`
  return problemsOf(text).join('\n')
}

durations('name the expected form in problems', () => {
  const position = 'c.yaml:1:42: config.connectionTerminationDeadline: '
  const expected = 'expected a duration such as 500ms, 10s, 1m or 1h30m'
  assert.is(refusal('soon'), `${position}got 'soon', ${expected}`)
  assert.is(refusal('10'), `${position}got a number, ${expected}`)
  assert.is(refusal('577h'), `${position}got '577h', expected a duration of at most 24 days`)
  assert.is(refusal('576h'), '')
})

durations('may be 0 for a deadline but not for a timeout', () => {
  const gateway = '\ngateways: { a: { port: 1 } }'
  const config = configOf(`config: { connectionTerminationDeadline: 0s }${gateway}`)
  assert.is(config.process.terminationDeadline, 0)
  assert.equal(problemsOf(`config: { backend: { connectTimeout: 0s } }${gateway}`), [
    'c.yaml:1:38: config.backend.connectTimeout: got 0, expected more than 0ms',
  ])
})

durations.run()
