// The label and the summary of each event in the list.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { timeText } from '../../lib/trace-view/amounts.ts'
import { labelOf, summaryOf } from '../../lib/trace-view/event-summary.ts'
import { stepOf } from '../../lib/trace-view/trace-event.ts'
import { SAMPLE_LINES } from '../support/ctl/sample-trace.ts'

function said(message: object, others: object = {}): string {
  const { event } = stepOf(JSON.stringify({ eventStart: null, eventEnd: 1, message, ...others }))
  return `${labelOf(event)}: ${summaryOf(event)}`
}

const summary = suite('summary')

summary('uses the labels of the specification', () => {
  const labels = SAMPLE_LINES.map((line) => labelOf(stepOf(line).event))
  assert.equal(labels, [
    'Request Start',
    'Snapshot',
    'Policies',
    'Snapshot',
    'Route',
    'Authz',
    'Snapshot',
    'Backend Start',
    'Body Snapshot',
    'Backend Result',
    'Snapshot',
    'Body Snapshot',
    'Request Done',
  ])
})

summary('summarises each event in one line', () => {
  assert.equal(
    SAMPLE_LINES.map((line) => summaryOf(stepOf(line).event)),
    [
      'request accepted',
      'initial request: POST http://api.example.com/v1/items?q=1',
      'gateway: none',
      'gateway policies: POST http://api.example.com/v1/items?q=1',
      'gateway/default/default/api, 2 evaluated',
      'allow: require jwt.sub == "alice" ✓',
      'route policies: POST http://api.example.com/v1/items?q=1',
      '127.0.0.1:8080',
      'final request: 33 bytes',
      '404 in 14.0 ms',
      'raw response: 404',
      'response: 56 bytes',
      '404 after 15.0 ms',
    ],
  )
})

summary('explains decisions', () => {
  const policy = (result: object): string => said({ type: 'policy', kind: 'cors', result })
  assert.is(policy({ type: 'skip', reason: 'no origin' }), 'Policy: cors skipped: no origin')
  assert.is(
    policy({ type: 'apply', details: 'preflight', snapshot: null }),
    'Policy: cors: preflight',
  )
  assert.is(
    policy({ type: 'apply', details: 'passed', snapshot: {} }),
    'Policy: cors: passed, changed the request',
  )
  const limit = { type: 'rateLimit', rule: 'r', counts: 'tokens', decision: 'deny', limit: 9 }
  assert.is(
    said({ ...limit, bucket: 'alice', remaining: 0, reset: 3, error: null }),
    'Rate Limit: deny: r for alice, 0 of 9 tokens left',
  )
  assert.is(said({ ...limit, bucket: null, error: 'gone' }), 'Rate Limit: deny: r, gone')
  const route = { type: 'routeSelection', selectedRoute: null, evaluatedRoutes: ['a'] }
  assert.is(said(route), 'Route: no route matched, 1 evaluated')
  const failed = { type: 'backendCallResult', status: null, error: 'cannot connect' }
  assert.is(said(failed, { severity: 'error' }), 'Backend Result: failed: cannot connect')
  const left = { type: 'backendCallResult', status: null, error: 'the request ended first' }
  assert.is(
    said(left, { severity: 'info', eventStart: 0, eventEnd: 2_000 }),
    'Backend Result: no response in 2.0 ms: the request ended first',
  )
  assert.is(said({ type: 'cel', expr: 'a', result: { error: 'b' } }), 'CEL: a: b')
  assert.is(said({ type: 'eventsDropped', count: 3 }), 'Events Dropped: 3 events dropped')
  assert.is(
    said({ type: 'mcpMessage', method: 'tools/list', target: 'x' }),
    'MCP Message: tools/list → x',
  )
})

summary('starts with the scope of the event', () => {
  const scope = ['mcp', 'files']
  assert.is(
    said({ type: 'backendCallStart', target: 'a:1' }, { scope }),
    'Backend Start: mcp > files: a:1',
  )
})

summary('lists the fields of an unknown event', () => {
  assert.is(said({ type: 'newThing', a: 1, b: ['c'] }), 'newThing: a=1 b=["c"]')
})

summary('accepts text that is not an event', () => {
  for (const line of [
    '',
    'nonsense',
    '1',
    'null',
    '[]',
    '{"message":3}',
    '{"message":{"type":7}}',
  ]) {
    const { event } = stepOf(line)
    assert.type(labelOf(event), 'string')
    assert.type(summaryOf(event), 'string')
  }
})

summary('accepts fields of the wrong type', () => {
  for (const { type } of SAMPLE_LINES.map((line) => stepOf(line).event.message))
    for (const value of [null, 1, 'x', [], {}, [null]]) {
      const fields = [
        'stage',
        'requestState',
        'rules',
        'evaluatedRoutes',
        'effectivePolicy',
        'body',
      ]
      const message = { type, ...Object.fromEntries(fields.map((name) => [name, value])) }
      assert.type(said(message), 'string')
    }
})

summary('is never longer than 120 characters', () => {
  const { event } = stepOf(JSON.stringify({ message: { type: 'x', a: 'y'.repeat(500) } }))
  assert.is(summaryOf(event).length, 120)
  assert.match(summaryOf(event), /…$/)
})

summary('treats the name of a built-in property as an unknown type', () => {
  for (const type of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
    assert.is(said({ type, x: 1 }), `${type}: x=1`)
})

summary('formats times', () => {
  assert.equal([0, 999, 1_000, 15_049, 999_949, 2_345_678].map(timeText), [
    '0 µs',
    '999 µs',
    '1.0 ms',
    '15.0 ms',
    '999.9 ms',
    '2.35 s',
  ])
})

summary('an event of spec.md §6 has the severity of its outcome in a list', () => {
  const shown = (message: object): string =>
    stepOf(JSON.stringify({ eventStart: null, eventEnd: 1, severity: 'info', message })).event
      .severity
  for (const type of ['backendCallResult', 'requestFinished']) {
    assert.is(shown({ type, status: 200, error: null }), 'info')
    // The same for all 4xx, with and without an error text.
    for (const status of [400, 401, 403, 404, 429, 499])
      for (const error of [null, 'route not found'])
        assert.is(shown({ type, status, error }), 'warn')
    assert.is(shown({ type, status: 503, error: null }), 'error')
    assert.is(shown({ type, status: 200, error: 'backend_reset' }), 'error')
    assert.is(shown({ type, status: null, error: 'cannot connect' }), 'error')
    assert.is(shown({ type, status: null, error: 'the request ended first' }), 'info')
  }
  assert.is(shown({ type: 'routeSelection', selectedRoute: null, evaluatedRoutes: [] }), 'error')
  assert.is(shown({ type: 'routeSelection', selectedRoute: 'a', evaluatedRoutes: [] }), 'info')
})

summary.run()
