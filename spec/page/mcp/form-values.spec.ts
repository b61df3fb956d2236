// From inputs to arguments, and back.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formOf } from '../../../lib/page/mcp/form-model.ts'
import type { Field } from '../../../lib/page/mcp/form-model.ts'
import {
  draftsOf,
  emptyItem,
  readDrafts,
  initialDrafts,
} from '../../../lib/page/mcp/form-values.ts'
import type { Drafts } from '../../../lib/page/mcp/form-values.ts'

const values = suite('page/form-values')

function fieldsOf(properties: object, required: string[] = []): readonly Field[] {
  return formOf({ type: 'object', properties, required }).fields
}

/** The value of one input; a fault as its text. */
function meant(property: object, draft: Drafts[string], required: string[] = []): unknown {
  const { value, faults } = readDrafts(fieldsOf({ it: property }, required), { it: draft })
  const [fault] = faults
  return fault === undefined ? value['it'] : `${fault.path} ${fault.words}`
}

const TEXT = { type: 'string' }
const WHOLE = { type: 'integer', minimum: 1, maximum: 9 }

values('text is itself', () => {
  assert.is(meant(TEXT, ' a\nb '), ' a\nb ')
  assert.is(meant(TEXT, '12'), '12')
  assert.is(meant(TEXT, ''), undefined)
  assert.is(meant(TEXT, '', ['it']), 'it is required')
  assert.is(meant({ ...TEXT, minLength: 3 }, 'ab'), 'it has fewer than 3 characters')
  assert.is(meant({ ...TEXT, maxLength: 2 }, '😀😀'), '😀😀')
  assert.is(meant({ ...TEXT, maxLength: 2 }, 'abc'), 'it has more than 2 characters')
})

values('a pattern of the schema is applied if it is safe to run', () => {
  assert.is(meant({ ...TEXT, pattern: '^a' }, 'b'), 'it does not match ^a')
  assert.is(meant({ ...TEXT, pattern: '^a' }, 'ab'), 'ab')
  assert.is(meant({ ...TEXT, pattern: '(' }, 'b'), 'b')
  const slow = '(a+)+$'
  assert.is(meant({ ...TEXT, pattern: slow }, `${'a'.repeat(60)}b`), `${'a'.repeat(60)}b`)
})

values('numbers are numbers, within their bounds', () => {
  assert.is(meant({ type: 'number' }, '1e3'), 1000)
  assert.is(meant({ type: 'number' }, '-0.5'), -0.5)
  assert.is(meant({ type: 'number' }, ' '), undefined)
  assert.is(meant({ type: 'number' }, 'x'), 'it is not a number')
  assert.is(meant({ type: 'number' }, 'Infinity'), 'it is not a number')
  assert.is(meant(WHOLE, '1.5'), 'it is not a whole number')
  assert.is(meant(WHOLE, '0'), 'it is less than 1')
  assert.is(meant(WHOLE, '10'), 'it is more than 9')
  assert.is(meant(WHOLE, '', ['it']), 'it is required')
})

values('flags and choices', () => {
  assert.is(meant({ type: 'boolean' }, ''), undefined)
  assert.is(meant({ type: 'boolean' }, '0'), false)
  assert.is(meant({ type: 'boolean' }, '1'), true)
  assert.is(meant({ enum: ['a', 7] }, '1'), 7)
  assert.is(meant({ enum: ['a', null] }, '1', ['it']), null)
  assert.is(meant({ enum: ['a'] }, '9'), undefined)
})

values('JSON is parsed', () => {
  assert.equal(meant({}, '{"a":[1]}'), { a: [1] })
  assert.is(meant({}, ''), undefined)
  assert.is(meant({}, '{'), 'it is not valid JSON')
})

values('lists are sent when there is something in them, or must be', () => {
  const list = { type: 'array', items: { type: 'integer' } }
  assert.equal(meant(list, ['1', '2']), [1, 2])
  assert.is(meant(list, []), undefined)
  assert.equal(meant(list, [], ['it']), [])
  assert.is(meant(list, ['1', '']), 'it[1] is empty')
  assert.is(meant(list, ['x']), 'it[0] is not a number')
  assert.equal(meant({ type: 'array', items: TEXT }, ['', 'a']), ['', 'a'])
})

values('an empty optional group is not checked; a group with input must be complete', () => {
  const person = { type: 'object', properties: { name: TEXT, mail: TEXT }, required: ['name'] }
  assert.is(meant(person, { name: '', mail: '' }), undefined)
  assert.is(meant(person, {}), undefined)
  assert.is(meant(person, { name: '', mail: 'a@b' }), 'it.name is required')
  assert.equal(meant(person, { name: 'Ada', mail: '' }), { name: 'Ada' })
  assert.is(meant(person, {}, ['it']), 'it.name is required')
})

values('defaults are the initial drafts, and are sent as such', () => {
  const fields = fieldsOf(
    {
      text: { type: 'string', default: 'x' },
      count: { type: 'integer', default: 3 },
      is: { type: 'boolean', default: false },
      must: { type: 'boolean' },
      one: { enum: ['a', 'b'], default: 'b' },
      labels: { type: 'array', items: TEXT, default: ['web'] },
      deep: { type: 'object', properties: { a: { type: 'number', default: 0.5 } } },
      any: { default: { a: 1 } },
      odd: { type: 'integer', default: 'three' },
    },
    ['must'],
  )
  const drafts = initialDrafts(fields)
  assert.equal(drafts, {
    text: 'x',
    count: '3',
    is: '0',
    must: '0',
    one: '1',
    labels: ['web'],
    deep: { a: '0.5' },
    any: '{\n  "a": 1\n}',
    odd: '',
  })
  assert.equal(readDrafts(fields, drafts), {
    value: {
      text: 'x',
      count: 3,
      is: false,
      must: false,
      one: 'b',
      labels: ['web'],
      deep: { a: 0.5 },
      any: { a: 1 },
    },
    faults: [],
  })
})

values('arguments survive the way into the form and back', () => {
  const fields = fieldsOf({
    text: TEXT,
    count: { type: 'number' },
    is: { type: 'boolean' },
    one: { enum: ['a', { b: 1 }] },
    list: { type: 'array', items: { type: 'boolean' } },
    deep: {
      type: 'object',
      properties: { a: TEXT, b: { type: 'object', properties: { c: TEXT } } },
    },
    any: {},
  })
  const given = {
    text: 'x',
    count: 0,
    is: true,
    one: { b: 1 },
    list: [true, false],
    deep: { b: { c: 'd' } },
    any: [1, { a: null }],
  }
  const drafts = draftsOf(fields, given)
  assert.ok(drafts !== null)
  assert.equal(readDrafts(fields, drafts), { value: given, faults: [] })
  assert.equal(readDrafts(fields, draftsOf(fields, {})!), { value: {}, faults: [] })
})

values('what the form has no place for stays out of it', () => {
  const fields = fieldsOf({ text: TEXT, list: { type: 'array', items: TEXT } })
  for (const odd of [{ other: 1 }, { text: 7 }, { text: null }, { list: 'x' }, { list: [1] }])
    assert.is(draftsOf(fields, odd), null, JSON.stringify(odd))
  assert.is(draftsOf(fields, { list: Array.from({ length: 101 }, () => 'x') }), null)
})

values('names of inherited properties are ordinary names', () => {
  const properties = JSON.parse(
    '{"__proto__":{"type":"string"},"toString":{"type":"string"}}',
  ) as object
  const fields = fieldsOf(properties, ['toString'])
  const drafts = Object.fromEntries([
    ['__proto__', 'a'],
    ['toString', 'b'],
  ])
  const { value, faults } = readDrafts(fields, drafts)
  assert.equal(faults, [])
  assert.equal(Object.entries(value), [
    ['__proto__', 'a'],
    ['toString', 'b'],
  ])
})

values('a new item of a list can be sent', () => {
  const [field] = fieldsOf({ it: { type: 'array', items: { enum: ['a', 'b'] } } })
  const item = field?.shape.kind === 'list' ? field.shape.item : null
  assert.is(emptyItem(item!), '0')
})

values.run()
