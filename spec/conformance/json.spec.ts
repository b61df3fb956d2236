import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Kept } from '../../conformance/placeholders.ts'
import { jsonFits } from '../../conformance/json.ts'

const json = suite('json')

json('is compared by its values', () => {
  assert.ok(jsonFits('{"a":1,"b":{"c":[1,2]}}', '{ "b": {"c": [1, 2]}, "a": 1 }'))
  assert.not(jsonFits('{"a":[1,2]}', '{"a":[2,1]}'))
  assert.not(jsonFits('{"a":1}', '{"a":"1"}'))
  assert.not(jsonFits('{"a":1}', '{"a":1,"b":2}'))
  assert.not(jsonFits('{"a":1,"b":2}', '{"a":1}'))
  assert.not(jsonFits('{"a":{}}', '{"a":[]}'))
  assert.not(jsonFits('{"a":{}}', '{"a":null}'))
  assert.not(jsonFits('{"a":1}', '{"a":1'))
})

json('has placeholders in strings and for values', () => {
  const kept: Kept = new Map()
  const expected = '{"id":<id>,"text":"v<number>","more":[<any>,<number>]}'
  assert.ok(jsonFits(expected, '{"id":"x","text":"v12","more":[{"a":[]},3]}', kept))
  assert.is(kept.get('id 1'), '"x"')
  assert.not(jsonFits(expected, '{"id":"x","text":"v","more":[{"a":[]},3]}'))
})

json('allows other members with <any>', () => {
  assert.ok(jsonFits('{"a":1,"<any>":<any>}', '{"b":2,"a":1}'))
  assert.not(jsonFits('{"a":1,"<any>":<any>}', '{"b":2}'))
})

json.run()
