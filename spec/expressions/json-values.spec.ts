// Conversion between JSON and values of expressions.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { jsonToCel, parseCelJson, celToJson } from '../../lib/expressions/json-values.ts'
import { fc } from '../support/fast-check.ts'

const json = suite('cel json')

json('converts objects to maps and integers to ints', () => {
  const map = parseCelJson('{"a":[1,-2,0.5,1e3,"x",true,null],"b":{}}')
  assert.equal(
    map,
    new Map<string, unknown>([
      ['a', [1n, -2n, 0.5, 1000n, 'x', true, null]],
      ['b', new Map()],
    ]),
  )
})

json('keeps integers exact', () => {
  const texts = [
    '9007199254740993',
    '-9007199254740993',
    '9223372036854775807',
    '-9223372036854775808',
  ]
  for (const text of texts) assert.is(parseCelJson(text), BigInt(text))
  assert.equal(parseCelJson('[9223372036854775808, 1.0000000000000000, 12345678901234567890.5]'), [
    2 ** 63,
    1n,
    Number('12345678901234567890.5'),
  ])
  assert.equal(
    parseCelJson(
      '{"1234567890123456789": "\\"12345678901234567\\\\", "b": [12345678901234567, {}]}',
    ),
    new Map<string, unknown>([
      ['1234567890123456789', '"12345678901234567\\'],
      ['b', [12345678901234567n, new Map()]],
    ]),
  )
})

json('refuses text that is not JSON or nests too deeply', () => {
  for (const text of ['', '{', '[1,]', '{"a":1234567890123456', 'undefined', "{'a':1}"])
    assert.throws(() => parseCelJson(text), SyntaxError)
  const deep = (inner: string): string => `${'['.repeat(70)}${inner}${']'.repeat(70)}`
  assert.throws(() => parseCelJson(deep('1')), /too_deep/)
  assert.throws(() => parseCelJson(deep('1234567890123456789')), /too_deep/)
})

json('reads what JSON.parse reads, with and without exact integers', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.boolean(), (value, isSpaced) => {
      const text = JSON.stringify(value, null, isSpaced ? 2 : 0)
      const plain = (read: unknown): unknown => JSON.parse(celToJson(read))
      assert.equal(plain(parseCelJson(text)), JSON.parse(text))
      // The long number at the end selects the exact reader.
      const [again, long] = parseCelJson(`[${text},1234567890123456789]`) as [unknown, bigint]
      assert.equal(plain(again), JSON.parse(text))
      assert.is(long, 1234567890123456789n)
    }),
    { numRuns: 200 },
  )
})

json('writes back what it read', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const text = celToJson(jsonToCel(value))
      assert.equal(JSON.parse(text), JSON.parse(JSON.stringify(value)))
    }),
    { numRuns: 200 },
  )
})

json.run()
