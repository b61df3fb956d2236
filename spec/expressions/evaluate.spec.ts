// The results of expressions: a value or a code, never an exception.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compileExpression } from '../../lib/expressions/compile.ts'
import type { Claims, ExchangeFacts } from '../../lib/core/facts.ts'
import { parseCelJson } from '../../lib/expressions/json-values.ts'
import { ExpressionView } from '../../lib/expressions/exchange-view.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'

const exchange = exchangeOf(requestOf('GET / HTTP/1.1', 'Host: a'))

const CLAIMS = `{
  "sub": "u1", "empty": "", "n": 4, "big": 9007199254740993, "half": 0.5, "on": true, "none": null,
  "roles": ["mcp-user", "dev"], "mixed": [1, "a", null], "nothing": [],
  "realm_access": { "roles": ["mcp-user"] }
}`

function viewOf(claims: string | null = CLAIMS, facts: ExchangeFacts = {}): ExpressionView {
  const jwt = claims === null ? undefined : (parseCelJson(claims) as Claims)
  return new ExpressionView(exchange, { ...facts, jwt })
}

function outcome(source: string, view = viewOf()): unknown {
  const result = compileExpression(source, 'log').evaluate(view)
  return 'fault' in result ? `fault ${result.fault}` : result.value
}

const evaluating = suite('cel evaluate')

evaluating('tests membership the way the specification writes it', () => {
  assert.is(outcome('"mcp-user" in jwt.realm_access.roles'), true)
  assert.is(outcome('"admin" in jwt.roles'), false)
  assert.is(outcome('"a" in jwt.mixed && 1 in jwt.mixed'), true)
  assert.is(outcome('"a" in jwt.nothing'), false)
})

evaluating('keeps integers integers', () => {
  assert.is(outcome('jwt.n % 2 == 0'), true)
  assert.is(outcome('jwt.n + 1'), 5n)
  assert.is(outcome('jwt.big'), 9007199254740993n)
  assert.is(outcome('jwt.big == 9007199254740992'), false)
  assert.is(outcome('jwt.n == 4.0 && jwt.half < 1 && jwt.n > jwt.half'), true)
  assert.is(outcome('type(jwt.n) == int && type(jwt.half) == double'), true)
})

evaluating('compares values of different types without failing', () => {
  assert.is(outcome('jwt.sub == jwt.n'), false)
  assert.is(outcome('jwt.none == null && jwt.sub != null'), true)
  assert.is(outcome('jwt.roles == ["mcp-user", "dev"]'), true)
  assert.is(outcome('jwt.realm_access == {"roles": ["mcp-user"]}'), true)
})

evaluating('returns a code if there is no value', () => {
  const table: [source: string, code: string][] = [
    ['jwt.absent', 'no_such_key'],
    ['jwt.absent.deeper', 'no_such_key'],
    ['jwt.sub.deeper', 'no_such_key'],
    ['jwt["absent"] == "a"', 'no_such_key'],
    ['"a" in jwt.sub', 'no_such_overload'],
    ['jwt.roles[7]', 'index_out_of_bounds'],
    ['jwt.sub + jwt.n', 'no_such_overload'],
    ['jwt.n.startsWith("a")', 'no_such_overload'],
    ['jwt.sub ? 1 : 2', 'no_such_overload'],
    ['jwt.sub && true', 'no_such_overload'],
    ['jwt.sub.all(c, true)', 'no_such_overload'],
    ['jwt.n / 0', 'arithmetic'],
    ['jwt.n % 0', 'arithmetic'],
    ['jwt.big * jwt.big', 'arithmetic'],
    ['int(18446744073709551615u)', 'arithmetic'],
    ['int(jwt.sub)', 'conversion'],
    ['timestamp(jwt.sub)', 'conversion'],
    ['duration(jwt.sub)', 'conversion'],
    ['bool(jwt.sub)', 'conversion'],
    ['timestamp("2024-01-01T00:00:00Z").getHours("No/Where")', 'out_of_range'],
    ['response.code', 'no_such_key'],
    ['env.podName', 'no_such_key'],
  ]
  for (const [source, code] of table) assert.is(outcome(source), `fault ${code}`, source)
})

evaluating('is true or false despite a fault if the other side decides', () => {
  assert.is(outcome('jwt.absent || true'), true)
  assert.is(outcome('true || jwt.absent'), true)
  assert.is(outcome('jwt.absent && false'), false)
  assert.is(outcome('has(jwt.absent) && jwt.absent == "a"'), false)
  assert.is(outcome('jwt.roles.exists(r, jwt.absent || r == "dev")'), true)
})

evaluating('has a fault, not an empty map, without a token', () => {
  const withoutToken = viewOf(null)
  assert.is(outcome('jwt.sub', withoutToken), 'fault no_such_key')
  assert.is(outcome('has(jwt.sub)', withoutToken), false)
  assert.is(outcome('default(jwt.sub, "anonymous")', withoutToken), 'anonymous')
  for (const source of [
    '"a" in jwt',
    '!("a" in jwt)',
    'size(jwt) == 0',
    'jwt == {}',
    'jwt.all(k, true)',
  ])
    assert.is(outcome(source, withoutToken), 'fault no_such_key', source)
})

evaluating('holds for true only', () => {
  const holds = (source: string): boolean => compileExpression(source, 'rule').holds(viewOf())
  assert.ok(holds('"mcp-user" in jwt.realm_access.roles'))
  assert.ok(holds('jwt.on'))
  for (const source of [
    'jwt.sub',
    'jwt.n',
    'jwt.none',
    'jwt.absent',
    'jwt.sub == "u2"',
    '!jwt.sub',
  ])
    assert.not(holds(source), source)
})

evaluating('returns a key for values with one text', () => {
  const key = (source: string, view = viewOf()): string | null =>
    compileExpression(source, 'requestLimitKey').evaluateKey(view)
  assert.is(key('jwt.sub'), 'u1')
  assert.is(key('jwt.sub + ":" + request.path'), 'u1:/')
  assert.is(key('jwt.n'), '4')
  assert.is(key('jwt.half'), '0.5')
  assert.is(key('jwt.on'), 'true')
  assert.is(key('7u'), '7')
  for (const source of ['jwt.empty', 'jwt.absent', 'jwt.none', 'jwt.roles', 'jwt.realm_access'])
    assert.is(key(source), null, source)
  assert.is(key('jwt.sub', viewOf(null)), null)
  assert.is(key('jwt.sub', viewOf(`{"sub":"${'a'.repeat(1024)}"}`))?.length, 1024)
  assert.is(key('jwt.sub', viewOf(`{"sub":"${'a'.repeat(1025)}"}`)), null)
})

evaluating('has no llm values before the body is read (§8)', () => {
  const source = 'llm.requestModel'
  assert.equal(compileExpression(source, 'requestLimitKey').evaluate(viewOf()), {
    fault: 'no_such_key',
  })
  assert.is(compileExpression(source, 'requestLimitKey').evaluateKey(viewOf()), null)
  const read = viewOf(CLAIMS, { llm: { requestModel: 'gpt-5', inputTokens: 12 } })
  assert.is(compileExpression(source, 'tokenLimitKey').evaluateKey(read), 'gpt-5')
  assert.is(outcome('llm.inputTokens + 1', read), 13n)
})

evaluating('evaluates each view independently', () => {
  const rule = compileExpression('jwt.roles.exists(r, r == jwt.sub)', 'rule')
  const yes = viewOf('{"roles":["a","b"],"sub":"b"}')
  const no = viewOf('{"roles":["a","b"],"sub":"c"}')
  const answers = [yes, no, viewOf('{}'), viewOf(null), yes, no].map((view) => rule.holds(view))
  assert.equal(answers, [true, false, false, false, true, false])
})

evaluating('restores the stack trace limit', () => {
  const before = Error.stackTraceLimit
  outcome('jwt.absent')
  outcome('jwt.sub')
  assert.is(Error.stackTraceLimit, before)
})

evaluating.run()
