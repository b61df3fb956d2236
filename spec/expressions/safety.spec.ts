// Claims and headers are untrusted: no value in them escapes, and none makes an expression run long.

import { inspect } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  MAX_CEL_LIST,
  MAX_LOOP_ELEMENTS,
  MAX_CEL_TEXT,
  MAX_URI_LENGTH,
  MAX_WATCH_EVALUATION_WORK,
  MAX_EVALUATION_WORK,
  TEXT_PER_UNIT,
} from '../../lib/expressions/meter.ts'
import { compileExpression } from '../../lib/expressions/compile.ts'
import { createEnvironment } from '../../lib/expressions/environment.ts'
import { jsonToCel, celToJson } from '../../lib/expressions/json-values.ts'
import type { Evaluator } from '../../lib/expressions/cel-library.ts'
import { ExpressionView } from '../../lib/expressions/exchange-view.ts'
import { MAX_REGEX_SUBJECT } from '../../lib/expressions/regex.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'
import { fc } from '../support/fast-check.ts'
import type { Claims } from '../../lib/core/facts.ts'

const exchange = exchangeOf(requestOf('GET / HTTP/1.1', 'Host: a', 'X-Secret: s3cr3t'))

function viewOf(claims: object): ExpressionView {
  return new ExpressionView(exchange, { jwt: jsonToCel(claims) as Claims })
}

function outcome(source: string, claims: object = {}): unknown {
  const result = compileExpression(source, 'log').evaluate(viewOf(claims))
  return 'fault' in result ? `fault ${result.fault}` : result.value
}

const safety = suite('cel safety')

safety('reaches no prototype', () => {
  const claims = { sub: 'a', list: [1], map: { a: 1 } }
  for (const root of ['jwt', 'jwt.sub', 'jwt.map', 'request.headers', '{"a": 1}'])
    for (const name of [
      'constructor',
      '__proto__',
      'prototype',
      'toString',
      'hasOwnProperty',
      'get',
      'size',
    ])
      for (const source of [`${root}.${name}`, `${root}["${name}"]`])
        assert.is(outcome(source, claims), 'fault no_such_key', source)
  for (const source of ['has(jwt.constructor)', 'has(jwt.__proto__)', '"constructor" in jwt.map'])
    assert.is(outcome(source, claims), false, source)
  for (const name of ['constructor', '__proto__', 'toString'])
    assert.throws(() => compileExpression(`request.${name}`, 'log'), /unknown field/)
})

safety('reads claims named like parts of a prototype', () => {
  const claims = JSON.parse(
    '{"constructor":"c","__proto__":{"admin":true},"a":{"constructor":1,"b":2},"get":"g","length":3}',
  ) as object
  assert.is(outcome('jwt.constructor', claims), 'c')
  assert.is(outcome('jwt.admin', claims), 'fault no_such_key')
  assert.is(outcome('has(jwt.admin)', claims), false)
  assert.is(outcome('jwt.a.b == 2 && jwt.a.constructor == 1', claims), true)
  assert.is(outcome('jwt.get + string(jwt.length)', claims), 'g3')
  assert.is(outcome('"__proto__" in jwt && jwt["__proto__"].admin', claims), true)
  assert.is(({} as { admin?: boolean }).admin, undefined)
})

safety('shows no secret in an error, nor in an inspected expression or view', () => {
  const secret = 's3cr3t'
  const claims = { sub: secret, n: secret, list: [secret, { [secret]: secret }], [secret]: secret }
  const outputs: unknown[] = []
  for (const source of [
    'jwt.sub + 1',
    'jwt.sub.absent',
    'jwt[jwt.sub].absent',
    'int(jwt.sub)',
    'bool(jwt.sub)',
    'duration(jwt.sub)',
    'timestamp(jwt.sub)',
    'jwt.list[0].absent',
    'jwt.list.all(x, x.absent)',
    'jwt.list.map(x, x + 1)',
    'jwt.sub ? 1 : 2',
    'jwt.sub && jwt.n',
    'json(jwt.sub)',
    'url.decode(jwt.sub + "%")',
    'request.headers["x-secret"].absent',
    'request.headers["x-secret"] + 1',
    'int(request.headers["x-secret"])',
    'cidr(jwt.sub).containsIP(jwt.sub)',
    'jwt.sub.charAt(99)',
    'default(jwt.sub + 1, 1)',
    'coalesce(jwt.sub + 1)',
    'jsonField(jwt.sub, "a")',
    'jwt.merge(jwt.sub)',
    'max(jwt.sub, 1)',
    'jwt.sub.query("a")',
    'request.headers.cookie("x")',
  ])
    try {
      const expression = compileExpression(source, 'log')
      const view = viewOf(claims)
      const result = expression.evaluate(view)
      assert.ok('fault' in result, source)
      outputs.push(result, expression, view, view.request, view.request.headers, view.mcp)
    } catch (error) {
      outputs.push(error, (error as Error).stack)
    }
  const text = outputs.map((one) => inspect(one, { depth: 20, showHidden: true })).join('\n')
  assert.ok(text.length > 1000)
  assert.not(text.includes(secret))
})

safety('counts the elements of loops, and stops at the limit', () => {
  const list = Array.from({ length: MAX_LOOP_ELEMENTS }, (_, i) => i)
  assert.is(outcome('jwt.a.all(x, x >= 0)', { a: list }), true)
  assert.is(outcome('jwt.a.all(x, x >= 0)', { a: [...list, 1] }), 'fault too_many_steps')
  const few = list.slice(0, 100)
  for (const loop of [
    'all(y, true)',
    'exists(y, false)',
    'map(y, y)',
    'filter(y, true)',
    'exists_one(y, true)',
  ])
    for (const outer of ['all', 'exists', 'map', 'filter', 'exists_one'])
      assert.is(
        outcome(
          `jwt.a.${outer}(x, dyn(jwt.a.${loop}) == 1 || x ${outer === 'exists' ? '!=' : '=='} x)`,
          { a: few },
        ),
        'fault too_many_steps',
        `${outer} ${loop}`,
      )
  assert.is(outcome('jwt.a.all(x, x >= 0) || true', { a: [...list, 1] }), 'fault too_many_steps')
  assert.is(outcome('jwt.a.exists(x, jwt.a.exists(y, x + y == 3))', { a: few }), true)
})

safety('applies no regex to a long text', () => {
  const source = 'jwt.a.matches("^a*$")'
  assert.is(outcome(source, { a: 'a'.repeat(MAX_REGEX_SUBJECT) }), true)
  assert.is(outcome(source, { a: 'a'.repeat(MAX_REGEX_SUBJECT + 1) }), 'fault too_large')
  assert.is(outcome(source, { a: 1 }), 'fault no_such_overload')
})

safety('charges a regex for its text times its size', () => {
  const list = Array.from({ length: 64 }, () => 'a'.repeat(MAX_REGEX_SUBJECT))
  assert.is(outcome('jwt.a.exists(x, x.matches("(a|a)*b"))', { a: list }), false)
  const large = 'jwt.a.exists(x, x.matches("a{300}b"))'
  assert.is(outcome(large, { a: list.slice(0, 4) }), false)
  assert.is(outcome(large, { a: list }), 'fault too_many_steps')
  const short = Array.from({ length: MAX_LOOP_ELEMENTS }, () => 'a'.repeat(23))
  assert.is(outcome('jwt.a.exists(x, x.matches("b+$"))', { a: short }), false)
  assert.is(outcome(large, { a: short }), 'fault too_many_steps')
})

safety('charges each replaced match, because it can read to the end of the text', () => {
  const source = 'jwt.a.regexReplace("(a+)b|a", "c").size()'
  assert.is(outcome(source, { a: 'a'.repeat(300) }), 300n)
  assert.is(outcome(source, { a: 'a'.repeat(MAX_REGEX_SUBJECT) }), 'fault too_many_steps')
  const rare = `${'x'.repeat(99)}a`.repeat(40)
  assert.is(outcome(source, { a: rare }), 4000n)
})

safety('bounds the length of texts that functions build', () => {
  const text = 'a'.repeat(300)
  const list = Array.from({ length: 300 }, () => 'a')
  assert.is(outcome('jwt.a.replace("a", jwt.b).size()', { a: text, b: 'bb' }), 600n)
  assert.is(outcome('jwt.a.replace("a", jwt.a)', { a: text }), 'fault too_large')
  assert.is(outcome('jwt.a.replace("", jwt.a)', { a: text }), 'fault too_large')
  assert.is(outcome('jwt.l.join(jwt.a)', { a: text, l: list }), 'fault too_large')
  assert.is(outcome('jwt.l.join(",").size()', { l: list }), 599n)
  assert.is(outcome('toJson(jwt.a)', { a: 'a'.repeat(MAX_CEL_TEXT) }), 'fault too_large')
  assert.is(outcome('url.encode(jwt.a)', { a: 'ü'.repeat(MAX_CEL_TEXT / 8) }), 'fault too_large')
  assert.is(outcome('jwt.a.regexReplace("a", jwt.b).size()', { a: text, b: 'bb' }), 600n)
  assert.is(outcome('jwt.a.regexReplace("a", jwt.a)', { a: text }), 'fault too_large')
  const nothing = { a: text, b: '$1'.repeat(5000) }
  assert.is(outcome('jwt.a.regexReplace("", jwt.b)', nothing), 'fault too_large')
  const long = 'a'.repeat(MAX_REGEX_SUBJECT + 1)
  assert.is(outcome('jwt.a.regexReplace("b", "")', { a: long }), 'fault too_large')
  assert.is(outcome('jwt.a.query("a")', { a: `?${'&'.repeat(MAX_URI_LENGTH)}` }), 'fault too_large')
  assert.is(outcome('"/".setQuery("a", jwt.a)', { a: 'ü'.repeat(2000) }), 'fault too_large')
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`a${i}`, i]))
  const more = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`b${i}`, i]))
  assert.is(outcome('jwt.a.merge(jwt.a).size()', { a: many }), 300n)
  assert.is(outcome('jwt.a.merge(jwt.b)', { a: many, b: more }), 'fault too_large')
})

const TEN_TIMES = '.map(x, x + x + x + x + x + x + x + x + x + x)'

safety('bounds values that are added to themselves', () => {
  const half = 'a'.repeat(MAX_CEL_TEXT / 2)
  assert.is(outcome('(jwt.a + jwt.a).size()', { a: half }), BigInt(MAX_CEL_TEXT))
  assert.is(outcome('jwt.a + jwt.a + "b"', { a: half }), 'fault too_large')
  assert.is(outcome('bytes(jwt.a) + bytes(jwt.a) + b"b"', { a: half }), 'fault too_large')
  const list = Array.from({ length: MAX_CEL_LIST / 2 }, () => 1)
  assert.is(outcome('(jwt.a + jwt.a).size()', { a: list }), BigInt(MAX_CEL_LIST))
  assert.is(outcome('jwt.a + jwt.a + [1]', { a: list }), 'fault too_large')
  for (const seed of [
    `"${'0'.repeat(100)}"`,
    `b"${'0'.repeat(100)}"`,
    '[1, 1, 1, 1, 1, 1, 1, 1, 1]',
  ])
    assert.match(
      String(outcome(`[${seed}]${TEN_TIMES.repeat(6)}`)),
      /^fault too_(large|many_steps)$/,
    )
})

safety('charges for everything that is built, even from small parts', () => {
  const claims = {
    a: Array.from({ length: MAX_LOOP_ELEMENTS }, () => 'a'),
    t: 'a'.repeat(MAX_CEL_TEXT - 1),
  }
  assert.ok((MAX_LOOP_ELEMENTS * MAX_CEL_TEXT) / TEXT_PER_UNIT > MAX_EVALUATION_WORK)
  for (const built of ['jwt.t + x', 'jwt.t.replace("b", x)', 'jwt.t.lowerAscii()', 'bytes(jwt.t)'])
    assert.is(outcome(`jwt.a.map(x, ${built})`, claims), 'fault too_many_steps', built)
  for (const read of [
    'jwt.t.contains(x + "b")',
    'jwt.t == jwt.t',
    'x in jwt.a',
    'size(jwt.t) == 1',
  ])
    assert.is(outcome(`jwt.a.exists_one(x, ${read})`, claims), 'fault too_many_steps', read)
})

safety('counts every node of a loop', () => {
  const claims = { a: Array.from({ length: MAX_LOOP_ELEMENTS }, () => 1) }
  const sum = Array.from({ length: 100 }, () => 'x').join(' + ')
  assert.is(outcome(`jwt.a.exists(x, ${sum} == 1)`, claims), 'fault too_many_steps')
})

safety('charges for a list as often as other lists contain it', () => {
  const nested = `[[1]]${'.map(x, [x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x])'.repeat(4)}`
  assert.is(outcome(`${nested} == ${nested}`), 'fault too_many_steps')
  assert.is(outcome(`${nested}[0] in ${nested}`), 'fault too_many_steps')
  assert.is(outcome(`${nested}.contains(${nested}[0])`), 'fault too_many_steps')
  assert.is(outcome(`[1].exists(x, toJson(${nested}) == "")`), 'fault too_many_steps')
  let shared: unknown = 1n
  for (let i = 0; i < 30; i++) shared = [shared, shared]
  assert.throws(() => celToJson(shared), /too_large/)
})

safety('bounds the cost of the filters of trace watchers', () => {
  const list = `[${Array.from({ length: 60 }, () => 1).join()}]`
  const costly = `${list}.exists(a, ${list}.exists(b, a + b == 3))`
  assert.is(outcome(costly), false)
  assert.throws(() => compileExpression(costly, 'trace'), /exceeds the work limit/)
  const loop = 'request.headers["x-list"].split(",").exists(x, x == "b")'
  const holds = (items: number): boolean => {
    const line = `X-List: ${'a,'.repeat(items)}b`
    const view = new ExpressionView(exchangeOf(requestOf('GET / HTTP/1.1', 'Host: a', line)))
    return compileExpression(loop, 'trace').holds(view)
  }
  assert.is(holds(100), true)
  assert.is(holds(MAX_WATCH_EVALUATION_WORK), false)
})

safety('passes no long duration to the library, whose pattern takes cubic time', () => {
  assert.is(outcome('duration(jwt.a)', { a: '9'.repeat(30_000) }), 'fault conversion')
  assert.is(outcome('jwt.l.exists(x, duration(x) > duration("1s"))', { l: ['2s'] }), true)
})

safety('reports claims that nest too deeply', () => {
  let deep: unknown = 1
  for (let i = 0; i < 5000; i++) deep = [deep]
  assert.throws(() => jsonToCel(deep), /too_deep/)
  const text = `${'['.repeat(5000)}${']'.repeat(5000)}`
  assert.is(outcome('json(jwt.a)', { a: text }), 'fault too_deep')
})

safety('stores no type for each shape of untrusted values', () => {
  createEnvironment({})
    .registerFunction('me(): bool', function (this: Evaluator) {
      assert.is(this.debugTypeDeep([[[1n]]]), this.debugType([]))
      assert.is(this.debugTypeDeep(new Map([['a', [1n]]])), this.debugType(new Map()))
      return true
    })
    .evaluate('me()')
})

const EXPRESSIONS = [
  'jwt.a == jwt.b',
  'jwt.a in jwt.b',
  'jwt.a < jwt.b',
  'jwt.a + jwt.b',
  'jwt.a[jwt.b]',
  'jwt.a.all(x, x == jwt.b)',
  'jwt.a.map(x, x).filter(x, x != null)',
  'jwt.a.matches("^(a|b)+$")',
  'jwt.a.split(jwt.b).join(",")',
  'jwt.a.replace(jwt.b, "x", 2)',
  'jwt.a.substring(1, 2).charAt(0)',
  'toJson(jwt) == toJson(jwt.a)',
  'json(jwt.a) == jwt.b',
  'string(jwt.a) + string(jwt.b)',
  'default(jwt.a.b.c, jwt.b)',
  'base64.decode(jwt.a) == bytes(jwt.b)',
  'duration(jwt.a) > duration("1s") || timestamp(jwt.b) < timestamp(0)',
  'cidr(jwt.a).containsIP(jwt.b)',
  'jwt.a.contains(jwt.b)',
  '-jwt.a % jwt.b',
  'size(jwt.a) == size(jwt.b)',
  'jsonField(jwt.a, "a") == jwt.b',
  'jwt.a.regexReplace("^(a|b)", jwt.b)',
  'jwt.a.query("a") + jwt.a.addQuery("a", jwt.b) + jwt.a.setQuery(jwt.b, "a")',
  'jwt.a.merge(jwt.b).merge(jwt)',
  'max(jwt.a) + min(jwt.a, jwt.b)',
  'jwt.a.cookie("a") == jwt.b || jwt.a.join() == jwt.a.split()',
].map((source) => compileExpression(source, 'log'))

safety('returns a value or a known code for any claims', () => {
  const claims = fc.record({ a: fc.jsonValue({ maxDepth: 3 }), b: fc.jsonValue({ maxDepth: 3 }) })
  const codes = new Set<string>()
  fc.assert(
    fc.property(claims, (json) => {
      for (const expression of EXPRESSIONS) {
        const view = viewOf(json as object)
        const result = expression.evaluate(view)
        if ('fault' in result) codes.add(result.fault)
        assert.type(expression.holds(view), 'boolean')
        const key = expression.evaluateKey(view)
        assert.ok(key === null || key.length > 0)
      }
    }),
    { numRuns: 150 },
  )
  assert.not(codes.has('failed'), [...codes].join())
})

safety.run()
