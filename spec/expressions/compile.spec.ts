// Why an expression is refused when a configuration is loaded, and the text of the refusal.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compileExpression, compileWithNames } from '../../lib/expressions/compile.ts'
import { CelError } from '../../lib/expressions/expression-errors.ts'
import type { ExpressionLocation } from '../../lib/expressions/context-names.ts'
import { EXPRESSION_LOCATIONS } from '../../lib/expressions/context-names.ts'

/** The refusal of an expression as `code: message`. */
function refusal(source: string, location: ExpressionLocation = 'log'): string {
  try {
    compileExpression(source, location)
  } catch (error) {
    assert.instance(error, CelError)
    const { code, message } = error as CelError
    return `${code}: ${message}`
  }
  return 'accepted'
}

const compiling = suite('cel compile')

compiling('reports what is wrong and where', () => {
  const table: [source: string, message: string][] = [
    ['', 'syntax: unexpected token: EOF at 1:1'],
    ['1 +', 'syntax: unexpected token: EOF at 1:4'],
    ['"open', 'syntax: unterminated string at 1:1'],
    ['jwt.`a`', 'syntax: unexpected character: ` at 1:5'],
    ['jwtt.sub == "a"', 'unknown_name: unknown name jwtt, did you mean jwt? at 1:1'],
    [
      'true &&\n  reqest.path == "/"',
      'unknown_name: unknown name reqest, did you mean request? at 2:3',
    ],
    ['request.methd', 'unknown_field: unknown field methd, did you mean method? at 1:9'],
    ['request.constructor', 'unknown_field: unknown field constructor at 1:9'],
    ['mcp.tool.nam', 'unknown_field: unknown field nam, did you mean name? at 1:10'],
    ['has(request.methd)', 'unknown_field: unknown field methd, did you mean method? at 1:13'],
    ['has(mcp.tol.name)', 'unknown_field: unknown field tol, did you mean tool? at 1:9'],
    ['request.method == 1', 'type: no such overload: string == int at 1:1'],
    ['jwt == null', 'type: no such overload: map<string, dyn> == null at 1:1'],
    ['jwt.sub.shout()', "type: found no matching overload for 'dyn.shout()' at 1:1"],
    ['shout(1)', "type: found no matching overload for 'shout(int)' at 1:1"],
    ['request', 'result_type: Request has no value of its own, use one of its fields at 1:1'],
    ['b"{}".json()', 'unsupported: unknown method json, use json(…) at 1:1'],
    ['cel.bind(x, 1, x)', 'unknown_name: unknown name cel at 1:1'],
  ]
  for (const [source, message] of table) assert.is(refusal(source), message, source)
})

compiling('knows which names an expression reads', () => {
  const reads = (source: string): boolean => compileExpression(source, 'tokenLimitKey').reads('llm')
  for (const source of ['llm.requestModel', 'has(llm.streaming) ? "a" : "b"', '"a" + llm.provider'])
    assert.ok(reads(source), source)
  for (const source of ['jwt.sub', 'request.headers["llm"]', '"llm"', 'jwt.llm'])
    assert.not(reads(source), source)
})

compiling('lists the known names if none is similar', () => {
  assert.is(
    refusal('response.code == 200', 'rule'),
    'unknown_name: unknown name response; known here: ' +
      'request, source, jwt, apiKey, basicAuth, env, mcp, llm, backend, proxy at 1:1',
  )
})

compiling('accepts the names of each location', () => {
  const all = ['request.path', 'source.address', 'jwt.sub', 'apiKey.user_id', 'basicAuth.username']
  const names = [...all, 'env.podName', 'mcp.tool.name', 'llm.requestModel', 'backend.name']
  const accepted = (location: ExpressionLocation): string =>
    [...names, 'response.code', 'proxy.route.name']
      .filter((source) => refusal(`${source} == ${source}`, location) === 'accepted')
      .map((source) => source.split('.')[0])
      .join(' ')
  const request = 'request source jwt apiKey basicAuth env'
  assert.is(accepted('rule'), `${request} mcp llm backend proxy`)
  // spec.md §8: a limit key that reads a value outside its context uses the shared bucket.
  const keys = ['requestLimitKey', 'tokenLimitKey'] as const
  for (const location of [...keys, 'transformation', 'log', 'trace'] as const)
    assert.is(accepted(location), `${request} mcp llm backend response proxy`)
  assert.is(Object.keys(EXPRESSION_LOCATIONS).length, 6)
})

compiling('requires a bool for a rule and a value with a text for a key', () => {
  for (const source of ['"a" in jwt.roles', 'jwt.admin', 'true', 'has(jwt.sub) && jwt.n > 1'])
    assert.is(refusal(source, 'rule'), 'accepted', source)
  for (const source of ['1', '"true"', 'request.path', '[true]', 'null', 'jwt', 'jwt.n + 1'])
    assert.match(
      refusal(source, 'rule'),
      /^result_type: the expression must return bool, this returns \w+ at 1:1$/,
    )
  for (const source of ['jwt.sub', 'request.path', '1', '1u', '1.5', 'true', 'jwt.a + ":" + jwt.b'])
    assert.is(refusal(source, 'requestLimitKey'), 'accepted', source)
  for (const source of ['[1]', '{"a": 1}', 'b"a"', 'null', 'duration("1s")', 'jwt', 'string'])
    assert.match(
      refusal(source, 'tokenLimitKey'),
      /^result_type: the expression must return a string or a number/,
    )
})

compiling('bounds the size of an expression', () => {
  const table: [source: string, code: string][] = [
    [`"${'a'.repeat(4094)}"`, 'accepted'],
    [`"${'a'.repeat(4095)}"`, 'too_long'],
    [Array(200).fill('true').join('||'), 'accepted'],
    [Array(300).fill('true').join('||'), 'too_deep'],
    [`${'!'.repeat(200)}true`, 'accepted'],
    [`${'!'.repeat(300)}true`, 'too_deep'],
    [`${'-'.repeat(300)}1`, 'too_deep'],
    [`${'!'.repeat(4000)}true`, 'too_large'],
    [`${'('.repeat(2000)}1${')'.repeat(2000)}`, 'too_deep'],
    [`${'['.repeat(2000)}1${']'.repeat(2000)}`, 'too_deep'],
    [`jwt${'.a'.repeat(300)}`, 'too_deep'],
    [`[${'1,'.repeat(600)}]`, 'too_large'],
    [`{${'1:1,'.repeat(600)}}`, 'too_large'],
    [`size(${'1,'.repeat(20)}1)`, 'too_large'],
  ]
  for (const [source, code] of table)
    assert.is(refusal(source).split(':')[0], code, source.slice(0, 20))
})

compiling('bounds nested loops and the number of loops', () => {
  const two = 'jwt.a.all(x, jwt.b.exists(y, x == y))'
  assert.is(refusal(two, 'rule'), 'accepted')
  const three = `jwt.c.all(z, ${two})`
  assert.is(refusal(three, 'rule'), 'nested_comprehension: more than 2 nested loops at 1:27')
  assert.is(refusal('jwt.a.filter(x, true).map(x, x).filter(x, true).size()'), 'accepted')
  const many = `jwt.a${'.map(x, x + x)'.repeat(9)}`
  assert.match(refusal(many), /^too_large: more than 8 loops/)
})

compiling('refuses regexes that are not RE2 syntax or not literal', () => {
  assert.is(refusal('jwt.sub.matches("^[a-z]+$")', 'rule'), 'accepted')
  assert.is(refusal('matches(jwt.sub, r"^\\w+$")', 'rule'), 'accepted')
  assert.is(refusal('jwt.sub.matches("(a+)+$")', 'rule'), 'accepted')
  assert.is(
    refusal('jwt.sub.matches("(?=a)")', 'rule'),
    'invalid_regex: invalid regex: look-around such as (?=…) is not in RE2 syntax; match the text itself, or use a second condition at 1:17',
  )
  for (const source of ['jwt.sub.matches(jwt.pattern)', 'matches(jwt.sub, "a" + "b")'])
    assert.match(
      refusal(source, 'rule'),
      /^invalid_regex: the pattern of matches\(\) must be a string literal/,
    )
  assert.match(refusal('jwt.a.exists(x, x.matches("(x)\\\\1"))', 'rule'), /^invalid_regex/)
})

compiling('refuses what the library cannot check instead of crashing', () => {
  assert.is(refusal('[].all(e, e > 0)'), 'unsupported: expression cannot be checked at 1:1')
  assert.is(refusal('has({"a": 1}.a)'), 'type: has() invalid argument at 1:5')
  assert.is(
    refusal('jwt.a.map(1, 2)'),
    'syntax: map(var, transform) invalid predicate iteration variable at 1:11',
  )
})

compiling('compiles with other names, without a location', () => {
  const sum = compileWithNames('a + b', { a: 'int', b: 'int' })
  assert.equal(
    sum.evaluate(
      new Map([
        ['a', 1n],
        ['b', 2n],
      ]),
    ),
    { value: 3n },
  )
  assert.throws(() => compileWithNames('c', { a: 'int' }), /unknown name c/)
})

compiling.run()
