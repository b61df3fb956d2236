// The sentence above a trace: why the request ended as it did.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { explain, sentenceOf } from '../../../lib/base/trace-reading/explain.ts'
import { stepOf } from '../../../lib/base/trace-reading/step.ts'
import type { Step } from '../../../lib/base/trace-reading/step.ts'
import { SAMPLE_LINES } from '../../support/ctl/sample-trace.ts'

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

explaining('says nothing of a request that is not over', () => {
  assert.is(explain([]), null)
  assert.is(explain([REQUEST, ROUTE]), null)
})

explaining('names the rule that did not hold, and why', () => {
  const rules = [
    { name: 'request.method == "GET"', mode: 'require', matched: true },
    { name: 'apiKey.team == "finance"', mode: 'require', matched: false },
  ]
  const cel = step(3, { type: 'cel', expr: rules[1]!.name, result: { error: 'no_such_key' } })
  const denied = step(4, { type: 'authorizationResult', rules, result: 'deny' })
  const steps = [REQUEST, ROUTE, cel, denied, answered('authorization', 403), done(403)]
  assert.is(
    said(...steps),
    '403 after 1.2 ms: refused by authorization at route reports: ' +
      'apiKey.team == "finance" does not hold (a name in it does not exist here)',
  )
  const { step: at, tone, notes } = explain(steps)!
  assert.is(at, 3)
  assert.is(tone, 'warn')
  assert.equal(notes, ['1 expression had no value'])
})

explaining('tells rules that deny from rules of which none allows', () => {
  const refusal = (...rules: Fields[]): string =>
    said(step(4, { type: 'authorizationResult', rules, result: 'deny' }), done(403))
  const [allow, deny] = [
    { mode: 'allow', matched: false },
    { mode: 'deny', matched: true },
  ]
  const place = '403 after 1.2 ms: refused by authorization at the gateway: '
  assert.is(refusal({ ...allow, name: 'a' }), `${place}a does not hold`)
  assert.is(
    refusal({ ...allow, name: 'a' }, { ...allow, name: 'b' }),
    `${place}none of 2 rules that allow holds`,
  )
  assert.is(
    refusal({ ...allow, matched: true, name: 'a' }, { ...deny, name: 'b' }),
    `${place}b holds, and it denies`,
  )
  assert.is(refusal({ ...deny, matched: false, name: 'b' }), `${place}no rule allows it`)
  assert.is(refusal(), `${place}no rule allows it`)
})

explaining('tells what a limit has left, and when there is more', () => {
  const limit = {
    ...{ type: 'rateLimit', rule: 'daily', counts: 'tokens', decision: 'deny', bucket: null },
    ...{ limit: 100, remaining: 0, reset: 12, error: null },
  }
  const refusal = (more: Fields): string => said(ROUTE, step(3, { ...limit, ...more }), done(429))
  assert.is(refusal({}), '429 after 1.2 ms: limit daily has 0 of 100 tokens left, more in 12 s')
  assert.is(
    refusal({ bucket: 'blue', reset: 3_595 }),
    '429 after 1.2 ms: limit daily for blue has 0 of 100 tokens left, more in 59 min 55 s',
  )
  assert.is(
    refusal({ limit: null, remaining: null, reset: null }),
    '429 after 1.2 ms: limit daily is used up',
  )
  assert.is(
    refusal({ error: 'connection refused' }),
    '429 after 1.2 ms: limit daily could not be asked: connection refused',
  )
})

explaining('a limit that was asked and allowed is no reason', () => {
  const allowed = step(3, { type: 'rateLimit', rule: 'daily', decision: 'allow' })
  const result = step(1_000, { type: 'backendCallResult', status: 429, error: null }, 100)
  const call = step(100, { type: 'backendCallStart', target: '127.0.0.1:9' })
  assert.is(
    said(ROUTE, allowed, call, result, done(429)),
    '429 after 1.2 ms: this is what 127.0.0.1:9 answered',
  )
})

explaining('says that no route is for the request', () => {
  const none = step(2, { type: 'routeSelection', selectedRoute: null, evaluatedRoutes: ['a', 'b'] })
  assert.is(
    said(REQUEST, none, done(404, 'route not found')),
    '404 after 1.2 ms: no route is for GET http://a/b; 2 were looked at',
  )
})

explaining('quotes what a policy answered, and of JSON its message', () => {
  const refusal = (text: string): string =>
    said(ROUTE, answered('apiKey', 401), body(text), done(401))
  const start = '401 after 1.2 ms: refused by apiKey at route reports'
  assert.is(refusal('no key\n'), `${start}: “no key”`)
  assert.is(refusal('{"error":{"message":"no key"}}'), `${start}: “no key”`)
  assert.is(refusal('{"error":"no key"}'), `${start}: “no key”`)
  for (const unsaid of ['', '{"error":7}', '{"er', '\0', 'x'.repeat(300)])
    assert.is(refusal(unsaid), start)
})

explaining('says who answered when no backend was asked', () => {
  assert.is(
    said(ROUTE, answered('directResponse', 200), done(200)),
    '200 after 1.2 ms: answered by directResponse at route reports',
  )
})

explaining('names the backend that failed, and how often it was tried', () => {
  const call = step(100, { type: 'backendCallStart', target: '127.0.0.1:9' })
  const error = 'upstream call failed: connection refused'
  const result = step(200, { type: 'backendCallResult', status: null, error }, 100)
  const once = [ROUTE, call, result, done(503, error)]
  assert.is(said(...once), '503 after 1.2 ms: backend 127.0.0.1:9: connection refused')
  assert.is(
    said(ROUTE, call, result, call, result, done(503, error)),
    '503 after 1.2 ms: backend 127.0.0.1:9: connection refused, after 2 tries',
  )
  assert.is(explain(once)!.tone, 'bad')
})

explaining('says what became of an exchange that was cut', () => {
  assert.is(
    said(ROUTE, done(200, 'client_closed')),
    '200 after 1.2 ms: the client left before it was over',
  )
  assert.is(said(ROUTE, done(null, 'odd')), 'No answer after 1.2 ms: odd')
  assert.is(explain([done(200, 'backend_reset')])!.tone, 'bad')
})

explaining('tells where the time of a good request went', () => {
  const call = step(1_000, { type: 'backendCallStart', target: '127.0.0.1:9' })
  const result = step(333_000, { type: 'backendCallResult', status: 200, error: null }, 1_000)
  const answer = step(334_000, { type: 'responseSnapshot', stage: 'final response' })
  assert.is(
    said(ROUTE, call, result, answer, done(200, null, 340_000)),
    '200 after 340.0 ms, of which 332.0 ms waiting for 127.0.0.1:9',
  )
  assert.is(
    said(ROUTE, call, result, answer, done(200, null, 1_334_000)),
    '200 after 1.33 s, of which 332.0 ms waiting for 127.0.0.1:9 and 1.00 s passing the answer on',
  )
  const asked = step(900_000, { type: 'policy', kind: 'basicAuth', result: {} }, 10)
  assert.is(
    said(ROUTE, asked, done(200, null, 1_000_000)),
    '200 after 1.00 s, of which 900.0 ms in policy basicAuth and 100.0 ms in the gateway',
  )
})

explaining('what nobody else spent was spent in the gateway', () => {
  const call = step(3_000, { type: 'backendCallStart', target: 'mock' })
  const result = step(3_800, { type: 'backendCallResult', status: 200, error: null }, 3_000)
  const answer = step(6_600, { type: 'responseSnapshot', stage: 'final response' })
  assert.is(
    said(ROUTE, call, result, answer, done(200, null, 7_800)),
    '200 after 7.8 ms, of which 800 µs waiting for mock, 1.2 ms passing the answer on' +
      ' and 5.8 ms in the gateway',
  )
  assert.is(
    said(ROUTE, call, result, done(200, null, 100_000)),
    '200 after 100.0 ms, of which 800 µs waiting for mock and 99.2 ms in the gateway',
  )
})

explaining('calls at the same time count once', () => {
  const call = (target: string): Step => step(0, { type: 'backendCallStart', target })
  const result = (from: number, to: number): Step =>
    step(to, { type: 'backendCallResult', status: 200, error: null }, from)
  assert.is(
    said(call('a'), call('b'), result(0, 600), result(300, 900), done(200, null, 1_000)),
    '200 after 1.0 ms, of which 900 µs waiting for a, b and 100 µs in the gateway',
  )
})

explaining('says what else is worth a look', () => {
  const steps = [
    step(1, { type: 'llmRequestDetected', requestModel: 'small', streaming: true }),
    step(2, { type: 'llmRouteResolved', provider: 'mock', routeType: 'completions' }),
    failed('gone', 'error'),
    failed('the request was over first', 'info'),
    step(4, { type: 'llmUsage', usage: { input: 16, output: 14 } }),
    step(5, { type: 'authorizationResult', rules: [], result: 'deny' }),
    step(6, { type: 'eventsDropped', count: 3 }),
    step(7, { type: 'mcpMessage', method: 'tools/list', target: 'a' }),
    step(8, { type: 'mcpMessage', method: 'tools/list', target: 'b' }),
    done(200),
  ]
  assert.equal(explain(steps)!.notes, [
    'model small of mock: 16 tokens in, 14 out',
    'tools/list for a, b',
    '1 rule check said no',
    '1 try failed before',
    'some events are missing: they came too fast',
  ])
})

explaining('fields of a wrong kind do no harm', () => {
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

explaining('a whole trace', () => {
  const steps = SAMPLE_LINES.map(stepOf)
  assert.is(said(...steps), '404 after 15.0 ms: this is what 127.0.0.1:8080 answered')
})

explaining.run()
