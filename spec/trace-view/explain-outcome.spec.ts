// The sentence above a trace that explains why the request ended as it did.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { explain, sentenceOf } from '../../lib/trace-view/explain-outcome.ts'
import { stepOf } from '../../lib/trace-view/trace-event.ts'
import type { Step } from '../../lib/trace-view/trace-event.ts'
import { SAMPLE_LINES } from '../support/ctl/sample-trace.ts'

type Fields = Readonly<Record<string, unknown>>

function step(eventEnd: number, message: Fields, eventStart: number | null = null): Step {
  return stepOf(JSON.stringify({ eventStart, eventEnd, severity: 'info', message }))
}

const REQUEST = step(1, {
  type: 'requestSnapshot',
  stage: 'initial request',
  requestState: { request: { method: 'GET', uri: 'http://a/b' } },
})
const ROUTE = step(2, {
  type: 'routeSelection',
  selectedRoute: 'gateway/default/default/reports',
  evaluatedRoutes: ['x'],
})
const done = (status: number | null, error: string | null = null, eventEnd = 1_200): Step =>
  step(eventEnd, { type: 'requestFinished', status, error })
const answered = (kind: string, status: number): Step =>
  step(5, { type: 'policy', kind, result: { type: 'apply', details: `answered ${status}` } })
const body = (text: string): Step =>
  step(6, { type: 'bodySnapshot', stage: 'response', body: Buffer.from(text).toString('base64') })

const failed = (error: string, severity: string): Step =>
  stepOf(
    JSON.stringify({
      ...{ eventStart: 1, eventEnd: 3, severity },
      message: { type: 'backendCallResult', status: null, error },
    }),
  )

function said(...steps: Step[]): string {
  return sentenceOf(explain(steps)!)
}

const explaining = suite('explain')

explaining('explains nothing while the request runs', () => {
  assert.is(explain([]), null)
  assert.is(explain([REQUEST, ROUTE]), null)
})

explaining('names the rule that was not true, and why', () => {
  const rules = [
    { name: 'request.method == "GET"', mode: 'require', matched: true },
    { name: 'apiKey.team == "finance"', mode: 'require', matched: false },
  ]
  const cel = step(3, { type: 'cel', expr: rules[1]!.name, result: { error: 'no_such_key' } })
  const denied = step(4, { type: 'authorizationResult', rules, result: 'deny' })
  const steps = [REQUEST, ROUTE, cel, denied, answered('authorization', 403), done(403)]
  assert.is(
    said(...steps),
    '403 after 1.2 ms: denied by authorization on route reports: ' +
      'apiKey.team == "finance" is not true (it reads a field that does not exist)',
  )
  const { step: at, tone, notes } = explain(steps)!
  assert.is(at, 3)
  assert.is(tone, 'warn')
  assert.equal(notes, ['1 CEL expression failed'])
})

explaining('distinguishes a rule that denies from rules that do not allow', () => {
  const refusal = (...rules: Fields[]): string =>
    said(step(4, { type: 'authorizationResult', rules, result: 'deny' }), done(403))
  const [allow, deny] = [
    { mode: 'allow', matched: false },
    { mode: 'deny', matched: true },
  ]
  const place = '403 after 1.2 ms: denied by authorization on the gateway: '
  assert.is(refusal({ ...allow, name: 'a' }), `${place}a is not true`)
  assert.is(
    refusal({ ...allow, name: 'a' }, { ...allow, name: 'b' }),
    `${place}none of the 2 allow rules is true`,
  )
  assert.is(
    refusal({ ...allow, matched: true, name: 'a' }, { ...deny, name: 'b' }),
    `${place}deny rule b is true`,
  )
  assert.is(refusal({ ...deny, matched: false, name: 'b' }), `${place}no rule allows it`)
  assert.is(refusal(), `${place}no rule allows it`)
})

explaining('states what a limit has left, and when it resets', () => {
  const limit = {
    ...{ type: 'rateLimit', rule: 'daily', counts: 'tokens', decision: 'deny', bucket: null },
    ...{ limit: 100, remaining: 0, reset: 12, error: null },
  }
  const refusal = (more: Fields): string => said(ROUTE, step(3, { ...limit, ...more }), done(429))
  assert.is(refusal({}), '429 after 1.2 ms: limit daily has 0 of 100 tokens left, resets in 12 s')
  assert.is(
    refusal({ bucket: 'blue', reset: 3_595 }),
    '429 after 1.2 ms: limit daily for blue has 0 of 100 tokens left, resets in 59 min 55 s',
  )
  assert.is(
    refusal({ limit: null, remaining: null, reset: null }),
    '429 after 1.2 ms: limit daily is exhausted',
  )
  assert.is(
    refusal({ error: 'connection refused' }),
    '429 after 1.2 ms: limit daily could not be checked: connection refused',
  )
})

explaining('ignores a limit that allowed the request', () => {
  const allowed = step(3, { type: 'rateLimit', rule: 'daily', decision: 'allow' })
  const result = step(1_000, { type: 'backendCallResult', status: 429, error: null }, 100)
  const call = step(100, { type: 'backendCallStart', target: '127.0.0.1:9' })
  assert.is(
    said(ROUTE, allowed, call, result, done(429)),
    '429 after 1.2 ms: sent by backend 127.0.0.1:9',
  )
})

explaining('states that no route matches the request', () => {
  const none = step(2, { type: 'routeSelection', selectedRoute: null, evaluatedRoutes: ['a', 'b'] })
  assert.is(
    said(REQUEST, none, done(404, 'route not found')),
    '404 after 1.2 ms: no route matches GET http://a/b (2 routes evaluated)',
  )
})

explaining('quotes the response of a policy, and only the message of JSON', () => {
  const refusal = (text: string): string =>
    said(ROUTE, answered('apiKey', 401), body(text), done(401))
  const start = '401 after 1.2 ms: rejected by apiKey on route reports'
  assert.is(refusal('no key\n'), `${start}: “no key”`)
  assert.is(refusal('{"error":{"message":"no key"}}'), `${start}: “no key”`)
  assert.is(refusal('{"error":"no key"}'), `${start}: “no key”`)
  for (const unsaid of ['', '{"error":7}', '{"er', '\0', 'x'.repeat(300)])
    assert.is(refusal(unsaid), start)
})

explaining('names the policy that responded without a backend', () => {
  assert.is(
    said(ROUTE, answered('directResponse', 200), done(200)),
    '200 after 1.2 ms: sent by directResponse on route reports',
  )
})

explaining('names the backend that failed, and the number of attempts', () => {
  const call = step(100, { type: 'backendCallStart', target: '127.0.0.1:9' })
  const error = 'upstream call failed: connection refused'
  const result = step(200, { type: 'backendCallResult', status: null, error }, 100)
  const once = [ROUTE, call, result, done(503, error)]
  assert.is(said(...once), '503 after 1.2 ms: backend 127.0.0.1:9: connection refused')
  assert.is(
    said(ROUTE, call, result, call, result, done(503, error)),
    '503 after 1.2 ms: backend 127.0.0.1:9: connection refused, after 2 attempts',
  )
  assert.is(explain(once)!.tone, 'bad')
})

explaining('explains an aborted request', () => {
  assert.is(
    said(ROUTE, done(200, 'client_closed')),
    '200 after 1.2 ms: the client closed the connection before the response was complete',
  )
  assert.is(said(ROUTE, done(null, 'odd')), 'No response after 1.2 ms: odd')
  assert.is(explain([done(200, 'backend_reset')])!.tone, 'bad')
})

explaining('states where the time of a successful request went', () => {
  const call = step(1_000, { type: 'backendCallStart', target: '127.0.0.1:9' })
  const result = step(333_000, { type: 'backendCallResult', status: 200, error: null }, 1_000)
  const answer = step(334_000, { type: 'responseSnapshot', stage: 'final response' })
  assert.is(
    said(ROUTE, call, result, answer, done(200, null, 340_000)),
    '200 after 340.0 ms, of which 332.0 ms waiting for 127.0.0.1:9',
  )
  assert.is(
    said(ROUTE, call, result, answer, done(200, null, 1_334_000)),
    '200 after 1.33 s, of which 332.0 ms waiting for 127.0.0.1:9 and 1.00 s sending the response',
  )
  const policy = step(900_000, { type: 'policy', kind: 'basicAuth', result: {} }, 10)
  assert.is(
    said(ROUTE, policy, done(200, null, 1_000_000)),
    '200 after 1.00 s, of which 900.0 ms in policy basicAuth and 100.0 ms in the gateway',
  )
})

explaining('counts the remaining time as time of the gateway', () => {
  const call = step(3_000, { type: 'backendCallStart', target: 'mock' })
  const result = step(3_800, { type: 'backendCallResult', status: 200, error: null }, 3_000)
  const answer = step(6_600, { type: 'responseSnapshot', stage: 'final response' })
  assert.is(
    said(ROUTE, call, result, answer, done(200, null, 7_800)),
    '200 after 7.8 ms, of which 800 µs waiting for mock, 1.2 ms sending the response' +
      ' and 5.8 ms in the gateway',
  )
  assert.is(
    said(ROUTE, call, result, done(200, null, 100_000)),
    '200 after 100.0 ms, of which 800 µs waiting for mock and 99.2 ms in the gateway',
  )
})

explaining('counts calls that run in parallel once', () => {
  const call = (target: string): Step => step(0, { type: 'backendCallStart', target })
  const result = (from: number, to: number): Step =>
    step(to, { type: 'backendCallResult', status: 200, error: null }, from)
  assert.is(
    said(call('a'), call('b'), result(0, 600), result(300, 900), done(200, null, 1_000)),
    '200 after 1.0 ms, of which 900 µs waiting for a, b and 100 µs in the gateway',
  )
})

explaining('lists further facts worth a look', () => {
  const steps = [
    step(1, { type: 'llmRequestDetected', requestModel: 'small', streaming: true }),
    step(2, { type: 'llmRouteResolved', provider: 'mock', routeType: 'completions' }),
    failed('gone', 'error'),
    failed('the request ended first', 'info'),
    step(4, { type: 'llmUsage', usage: { input: 16, output: 14 } }),
    step(5, { type: 'authorizationResult', rules: [], result: 'deny' }),
    step(6, { type: 'eventsDropped', count: 3 }),
    step(7, { type: 'mcpMessage', method: 'tools/list', target: 'a' }),
    step(8, { type: 'mcpMessage', method: 'tools/list', target: 'b' }),
    done(200),
  ]
  assert.equal(explain(steps)!.notes, [
    'model small (mock): 16 tokens in, 14 out',
    'tools/list to a, b',
    '1 authorization check denied',
    '1 earlier attempt failed',
    'some events are missing: they came faster than they could be sent',
  ])
})

explaining('accepts fields of the wrong type', () => {
  const types = [
    ...['requestSnapshot', 'routeSelection', 'policy', 'authorizationResult', 'cel', 'rateLimit'],
    ...['bodySnapshot', 'backendCallStart', 'backendCallResult', 'llmUsage', 'mcpMessage'],
  ]
  for (const value of [null, 1, 'x', [], {}, [null], [[]]])
    for (const type of types) {
      const names = ['rules', 'result', 'body', 'usage', 'requestState', 'selectedRoute', 'error']
      const fields = Object.fromEntries(names.map((name) => [name, value]))
      const odd = step(3, { type, decision: 'deny', stage: 'response', ...fields })
      for (const status of [200, 403, null])
        assert.type(said(ROUTE, odd, answered('x', 403), done(status)), 'string')
    }
})

explaining('explains a complete trace', () => {
  const steps = SAMPLE_LINES.map(stepOf)
  assert.is(said(...steps), '404 after 15.0 ms: sent by backend 127.0.0.1:8080')
})

explaining.run()
