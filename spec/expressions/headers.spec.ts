// Header fields in expressions: as received, joined, split, and cookies.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compileExpression } from '../../lib/expressions/compile.ts'
import { ExpressionView } from '../../lib/expressions/exchange-view.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'

const headers = suite('cel headers')

const exchange = exchangeOf(
  requestOf(
    'GET / HTTP/1.1',
    'Host: a',
    'X-One: 1',
    'x-two: a, b',
    'X-Two: c',
    'Cookie: a=1; sid=x=y; empty=',
    'cookie: b=2; sid=second',
  ),
)

function outcome(source: string): unknown {
  const result = compileExpression(source, 'log').evaluate(new ExpressionView(exchange))
  return 'fault' in result ? `fault ${result.fault}` : result.value
}

headers('are one string, also if sent twice', () => {
  assert.is(outcome('request.headers["x-one"]'), '1')
  assert.is(outcome('request.headers["X-TWO"]'), 'a, b, c')
  assert.is(outcome('request.headers["cookie"]'), 'a=1; sid=x=y; empty=; b=2; sid=second')
  assert.is(outcome('request.headers["x-three"]'), 'fault no_such_key')
})

headers('can be read as a list of lines', () => {
  assert.equal(outcome('request.headerValues["X-TWO"]'), ['a, b', 'c'])
  assert.equal(outcome('request.headerValues["x-one"]'), ['1'])
  assert.is(outcome('"c" in request.headerValues["x-two"]'), true)
  assert.is(outcome('request.headerValues["x-three"]'), 'fault no_such_key')
  assert.is(outcome('"x-one" in request.headerValues'), true)
})

headers('have a type, so that a rule for another type is refused when it is loaded', () => {
  const compile = (source: string) => () => compileExpression(source, 'log')
  assert.throws(compile('request.headers["x-one"] == 1'), /type|overload/)
  assert.throws(compile('request.headerValues["x-one"] == "1"'), /type|overload/)
})

headers(
  'can always be read as one string, so that a client cannot evade a rule by sending a field twice',
  () => {
    assert.is(outcome('request.headers.join()["X-One"]'), '1')
    assert.is(outcome('request.headers.join()["x-two"]'), 'a, b, c')
    assert.is(outcome('request.headers.join()["x-three"]'), 'fault no_such_key')
    assert.is(outcome('"x-one" in request.headers.join()'), true)
    assert.is(outcome('request.headers.join().all(name, name != "x-three")'), true)
  },
)

headers('can always be read as a list', () => {
  assert.equal(outcome('request.headers.split()["x-one"]'), ['1'])
  assert.equal(outcome('request.headers.split()["x-two"]'), ['a', 'b', 'c'])
  assert.is(outcome('"c" in request.headers.split()["x-two"]'), true)
  assert.is(outcome('request.headers.split()["x-three"]'), 'fault no_such_key')
  assert.is(outcome('size(request.headers.split()) == size(request.headers)'), true)
})

headers('contain cookies, the first of a name', () => {
  assert.is(outcome('request.headers.cookie("a")'), '1')
  assert.is(outcome('request.headers.cookie("b")'), '2')
  assert.is(outcome('request.headers.cookie("sid")'), 'x=y')
  assert.is(outcome('request.headers.cookie("empty")'), '')
  for (const name of ['c', 'A', '', '1', 'sid=x'])
    assert.is(outcome(`request.headers.cookie("${name}")`), 'fault no_such_key', name)
  assert.is(outcome('default(request.headers.cookie("none"), "d")'), 'd')
  const bare = new ExpressionView(exchangeOf(requestOf('GET / HTTP/1.1', 'Host: a')))
  assert.equal(compileExpression('request.headers.cookie("a")', 'log').evaluate(bare), {
    fault: 'no_such_key',
  })
})

headers('have functions that other maps do not have', () => {
  for (const source of ['{"a": "b"}.join()', 'jwt.split()', '{"a": "b"}.split()'])
    assert.is(outcome(source), 'fault no_such_overload', source)
})

headers.run()
