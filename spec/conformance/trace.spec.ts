import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compareTrace } from '../../conformance/trace.ts'

const traces = suite('conformance traces')

function event(type: string, eventEnd: number, more: object = {}): string {
  return JSON.stringify({
    eventStart: null,
    eventEnd,
    severity: 'info',
    message: { type, ...more },
  })
}

const STARTED = event('requestStarted', 0)
const FINISHED = event('requestFinished', 9, { status: 200 })

traces('match when every line matches, with other types in between', () => {
  const data = [STARTED, event('policy', 1), event('cel', 2, { expr: 'a' }), FINISHED]
  assert.equal(compareTrace('{"type":"requestStarted"}\n{"type":"cel","expr":"<any>"}', data), [])
  assert.equal(
    compareTrace(
      '{"eventStart":null,"eventEnd":<number>,"severity":"info","message":{"type":"cel","<any>":<any>}}',
      data,
    ),
    [],
  )
})

traces('do not match when an event of a listed type is missing, repeated or different', () => {
  const line = '{"type":"cel","expr":"a"}'
  const a = event('cel', 1, { expr: 'a' })
  const b = event('cel', 2, { expr: 'b' })
  for (const between of [[], [a, b], [b]])
    assert.is(compareTrace(line, [STARTED, ...between, FINISHED]).length, 1)
  assert.is(compareTrace(`${line}\n{"type":"cel","expr":"b"}`, [STARTED, b, a, FINISHED]).length, 2)
})

traces('must start, end once and not go back in time', () => {
  assert.is(compareTrace('', [STARTED, FINISHED]).length, 0)
  assert.is(compareTrace('', [FINISHED]).length, 1)
  assert.is(compareTrace('', [STARTED]).length, 1)
  assert.is(compareTrace('', [STARTED, FINISHED, FINISHED]).length, 1)
  assert.is(compareTrace('', [STARTED, event('cel', 10), FINISHED]).length, 1)
})

traces.run()
