// Forms from JSON Schemas as servers write them, and from what no schema should be.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formOf } from '../../../lib/page/mcp/form-model.ts'
import type { Field } from '../../../lib/page/mcp/form-model.ts'

const model = suite('page/form-model')

/** The field of a schema with one property. */
function fieldOf(property: unknown, rest: object = {}): Field {
  const { fields } = formOf({ type: 'object', properties: { it: property }, ...rest })
  assert.is(fields.length, 1)
  return fields[0]!
}

function kindOf(property: unknown, rest: object = {}): string {
  return fieldOf(property, rest).shape.kind
}

model('each simple type has its own input', () => {
  assert.is(kindOf({ type: 'string' }), 'text')
  assert.is(kindOf({ type: 'number' }), 'number')
  assert.is(kindOf({ type: 'integer' }), 'number')
  assert.is(kindOf({ type: 'boolean' }), 'flag')
  assert.is(kindOf({ enum: ['a', 1, null] }), 'choice')
  assert.is(kindOf({ const: 'x' }), 'choice')
  assert.is(kindOf({ type: 'array', items: { type: 'string' } }), 'list')
  assert.is(kindOf({ type: 'object', properties: { a: { type: 'string' } } }), 'group')
})

model('other types are entered as JSON', () => {
  for (const odd of [
    {},
    true,
    null,
    { type: 'object' },
    { type: 'object', additionalProperties: { type: 'string' } },
    { type: 'array' },
    { type: 'array', items: { type: 'object', properties: { a: { type: 'string' } } } },
    { type: 'array', items: { type: 'array', items: { type: 'string' } } },
    { type: ['string', 'number'] },
    { anyOf: [{ type: 'string' }, { type: 'number' }] },
    { type: 'strange' },
  ])
    assert.is(kindOf(odd), 'json', JSON.stringify(odd))
})

model('a type that may be null as well is that type', () => {
  assert.is(kindOf({ type: ['string', 'null'] }), 'text')
  assert.is(kindOf({ anyOf: [{ type: 'integer' }, { type: 'null' }], default: null }), 'number')
  assert.is(
    fieldOf({ anyOf: [{ type: 'integer' }, { type: 'null' }], default: null }).preset,
    undefined,
  )
})

model('references within the schema are followed, and no others', () => {
  const $defs = {
    Person: { type: 'object', title: 'Person', properties: { name: { type: 'string' } } },
    'a/b~c': { type: 'boolean' },
    loop: { $ref: '#/$defs/loop' },
  }
  const field = fieldOf({ $ref: '#/$defs/Person', title: 'Reporter' }, { $defs })
  assert.is(field.shape.kind, 'group')
  assert.is(field.title, 'Reporter')
  assert.is(kindOf({ allOf: [{ $ref: '#/$defs/Person' }] }, { $defs }), 'group')
  assert.is(kindOf({ $ref: '#/$defs/a~1b~0c' }, { $defs }), 'flag')
  for (const $ref of [
    '#/$defs/loop',
    '#/$defs/missing',
    'http://evil.example/s',
    '#/$defs/toString',
    '#',
  ])
    assert.ok(['json', 'group'].includes(kindOf({ $ref }, { $defs })), $ref)
})

model('a schema that holds itself has an end', () => {
  const tree = {
    type: 'object',
    properties: { name: { type: 'string' }, next: { $ref: '#' } },
  }
  let depth = 0
  let fields = formOf(tree).fields
  for (;;) {
    const next = fields.find(({ name }) => name === 'next')
    if (next?.shape.kind !== 'group') break
    fields = next.shape.fields
    depth++
  }
  assert.is(depth, 4)
})

model('choices have names where the schema gives them', () => {
  const labels = (property: unknown): string[] => {
    const { shape } = fieldOf(property)
    return shape.kind === 'choice' ? shape.choices.map(({ label }) => label) : []
  }
  assert.equal(labels({ enum: ['a', 2, true] }), ['a', '2', 'true'])
  assert.equal(labels({ enum: ['a', 'b'], enumNames: ['Ah', 'Be'] }), ['Ah', 'Be'])
  const oneOf = [{ const: 1, title: 'Bug' }, { const: 2 }]
  assert.equal(labels({ oneOf }), ['Bug', '2'])
  assert.equal(labels({ enum: [{ a: 1 }] }), ['{"a":1}'])
})

model('long texts have many lines', () => {
  const lines = (name: string, property: object): string => {
    const [field] = formOf({ properties: { [name]: { type: 'string', ...property } } }).fields
    return field?.shape.kind === 'text' ? field.shape.lines : ''
  }
  assert.is(lines('name', {}), 'one')
  assert.is(lines('body', {}), 'many')
  assert.is(lines('name', { format: 'textarea' }), 'many')
  assert.is(lines('name', { maxLength: 5000 }), 'many')
  assert.is(lines('name', { default: 'a\nb' }), 'many')
  assert.is(lines('url', { format: 'uri', maxLength: 2000 }), 'one')
})

model('a hint says which values are allowed', () => {
  const hints = [
    [{ type: 'string' }, 'text'],
    [{ type: 'string', format: 'email', maxLength: 9 }, 'text, email, at most 9 letters'],
    [{ type: 'string', pattern: '^a' }, 'text, matching ^a'],
    [{ type: 'integer', minimum: 1, maximum: 5 }, 'whole number, 1 to 5'],
    [
      { type: 'number', exclusiveMinimum: 0, multipleOf: 0.5 },
      'number, above 0, a multiple of 0.5',
    ],
    [
      { type: 'array', items: { type: 'number' }, minItems: 1 },
      'list of numbers, at least 1 of them',
    ],
    [{ type: 'boolean' }, 'true or false'],
    [{ enum: ['a'] }, ''],
  ] as const
  for (const [property, hint] of hints) assert.is(fieldOf(property).hint, hint)
})

model('required, described, titled, preset', () => {
  const property = {
    type: 'string',
    title: 'It',
    description: 'What',
    default: 'x',
    examples: ['e'],
  }
  const field = fieldOf(property, { required: ['it'] })
  assert.equal(
    [field.isRequired, field.title, field.description, field.preset, field.placeholder],
    [true, 'It', 'What', 'x', 'e'],
  )
  assert.is(fieldOf(property).isRequired, false)
})

model('says where a form is not enough, and where there is nothing to say', () => {
  assert.is(formOf({ type: 'object' }).use, 'nothing')
  assert.is(formOf({ type: 'object', properties: {}, additionalProperties: false }).use, 'nothing')
  assert.is(formOf({ type: 'object', additionalProperties: true }).use, 'json')
  assert.is(formOf({ anyOf: [{ type: 'object' }, { type: 'array' }] }).use, 'json')
  const properties = Object.fromEntries(
    Array.from({ length: 101 }, (_, at) => [`p${at}`, { type: 'string' }]),
  )
  assert.is(formOf({ type: 'object', properties }).use, 'json')
})

model('an invalid schema has no form', () => {
  for (const odd of [
    undefined,
    null,
    7,
    'x',
    [],
    { properties: 7 },
    { properties: [] },
    { required: 7 },
  ])
    assert.equal(formOf(odd).fields, [])
  const hostile = JSON.parse(
    '{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
  )
  assert.equal(
    formOf(hostile).fields.map(({ name }) => name),
    ['__proto__', 'constructor'],
  )
})

model.run()
