// A form from a JSON Schema, as far as forms go: what has no input of its own is written as JSON. Schemas are written by
// servers, so nothing in them is taken for granted, and a form has an end.

import { listOf, membersOf, textOf } from './messages.ts'
import type { Members } from './messages.ts'
import { hintOf } from './form-hints.ts'
import { SchemaReader } from './schema-reader.ts'

export interface Field {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly isRequired: boolean
  readonly shape: Shape
  /** What it may be, in few words. */
  readonly hint: string
  readonly placeholder: string
  /** Undefined when there is none. */
  readonly preset: unknown
}

export interface Choice {
  readonly label: string
  readonly value: unknown
}

export type Shape =
  | {
      readonly kind: 'text'
      readonly lines: 'one' | 'many'
      readonly minLength: number
      readonly maxLength: number
      readonly pattern: string
    }
  | {
      readonly kind: 'number'
      readonly isWhole: boolean
      readonly min: number
      readonly max: number
    }
  | { readonly kind: 'flag' }
  | { readonly kind: 'choice'; readonly choices: readonly Choice[] }
  | { readonly kind: 'list'; readonly item: Field; readonly max: number }
  | { readonly kind: 'group'; readonly fields: readonly Field[] }
  | { readonly kind: 'json' }

export interface Form {
  readonly fields: readonly Field[]
  /** `json`: there is more to say than the fields can. */
  readonly use: 'fields' | 'json' | 'nothing'
}

const MAX_FIELDS = 100
const MAX_CHOICES = 500
const MAX_DEPTH = 4
export const MAX_ITEMS = 100

/** Texts that are likely to have many lines. */
const LONG_NAMES = /^(?:body|code|content|css|document|html|markdown|prompt|script|sql|xml|yaml)$/i
const LONG_FORMATS = ['textarea', 'multiline', 'markdown', 'html']
const LONG_TEXT = 200

export function formOf(schema: unknown): Form {
  const reader = new SchemaReader(schema)
  const root = reader.root()
  const properties = membersOf(root['properties']) ?? {}
  const fields = fieldsOf(root, reader, 0)
  const isOpen =
    root['additionalProperties'] !== undefined && root['additionalProperties'] !== false
  if (Object.keys(properties).length > MAX_FIELDS) return { fields: [], use: 'json' }
  if (fields.length > 0) return { fields, use: 'fields' }
  const isOdd = ['anyOf', 'oneOf', 'allOf', 'patternProperties'].some(
    (one) => root[one] !== undefined,
  )
  return { fields, use: isOpen || isOdd ? 'json' : 'nothing' }
}

function fieldsOf(schema: Members, reader: SchemaReader, depth: number): Field[] {
  const required = listOf(schema['required'])
  const entries = Object.entries(membersOf(schema['properties']) ?? {}).slice(0, MAX_FIELDS)
  return entries.map(([name, written]) =>
    fieldOf(name, reader.plain(written), { reader, depth, isRequired: required.includes(name) }),
  )
}

interface Around {
  readonly reader: SchemaReader
  readonly depth: number
  readonly isRequired: boolean
}

function fieldOf(name: string, schema: Members, around: Around): Field {
  const shape = shapeOf(name, schema, around)
  const [example] = listOf(schema['examples'])
  return {
    name,
    title: textOf(schema['title']) || name,
    description: textOf(schema['description']),
    isRequired: around.isRequired,
    shape,
    hint: hintOf(schema, shape),
    placeholder: isSimple(example) ? String(example) : '',
    preset: schema['default'] ?? undefined,
  }
}

function shapeOf(name: string, schema: Members, { reader, depth }: Around): Shape {
  const choices = choicesOf(schema)
  if (choices !== null) return { kind: 'choice', choices }
  switch (typeOf(schema)) {
    case 'string':
      return textShape(name, schema)
    case 'number':
      return numberShape(schema, 'any')
    case 'integer':
      return numberShape(schema, 'whole')
    case 'boolean':
      return { kind: 'flag' }
    case 'array': {
      const item = reader.plain(schema['items'])
      const field = fieldOf('', item, { reader, depth: depth + 1, isRequired: true })
      const isPlain = ['text', 'number', 'flag', 'choice'].includes(field.shape.kind)
      const max = Math.min(numberOf(schema['maxItems'], MAX_ITEMS), MAX_ITEMS)
      return isPlain ? { kind: 'list', item: field, max } : { kind: 'json' }
    }
    case 'object': {
      const fields = depth < MAX_DEPTH ? fieldsOf(schema, reader, depth + 1) : []
      return fields.length > 0 ? { kind: 'group', fields } : { kind: 'json' }
    }
    default:
      return { kind: 'json' }
  }
}

/** The one type that is not null; '' where there are several, or none is said. */
function typeOf(schema: Members): string {
  const { type } = schema
  const types = (Array.isArray(type) ? (type as unknown[]) : [type]).filter((one) => one !== 'null')
  if (types.length === 1 && typeof types[0] === 'string') return types[0]
  return type === undefined && membersOf(schema['properties']) !== null ? 'object' : ''
}

/** `enum`, `const`, or alternatives that are constants with a title each. */
function choicesOf(schema: Members): Choice[] | null {
  const { enum: values, const: only, enumNames: names } = schema
  if (only !== undefined) return [choiceOf(only, textOf(schema['title']))]
  const found = listOf(values)
  if (found.length > 0 && found.length <= MAX_CHOICES)
    return found.map((value, at) => choiceOf(value, textOf(listOf(names)[at])))
  for (const member of ['oneOf', 'anyOf']) {
    const branches = listOf(schema[member]).map((one) => membersOf(one) ?? {})
    const areConstant = branches.every((one) => one['const'] !== undefined)
    if (branches.length > 0 && branches.length <= MAX_CHOICES && areConstant)
      return branches.map((one) => choiceOf(one['const'], textOf(one['title'])))
  }
  return null
}

function choiceOf(value: unknown, title: string): Choice {
  return { value, label: title || (isSimple(value) ? String(value) : JSON.stringify(value)) }
}

function textShape(name: string, schema: Members): Shape {
  const format = textOf(schema['format'])
  const maxLength = numberOf(schema['maxLength'], Infinity)
  const preset = textOf(schema['default'])
  const isLong =
    LONG_FORMATS.includes(format) ||
    preset.includes('\n') ||
    (format === '' && LONG_NAMES.test(name)) ||
    (Number.isFinite(maxLength) && maxLength > LONG_TEXT && format === '')
  return {
    kind: 'text',
    lines: isLong ? 'many' : 'one',
    minLength: numberOf(schema['minLength'], 0),
    maxLength,
    pattern: textOf(schema['pattern']),
  }
}

function numberShape(schema: Members, kind: 'any' | 'whole'): Shape {
  const isWhole = kind === 'whole'
  const step = isWhole ? 1 : 0
  return {
    kind: 'number',
    isWhole,
    min: Math.max(
      numberOf(schema['minimum'], -Infinity),
      numberOf(schema['exclusiveMinimum'], -Infinity) + step,
    ),
    max: Math.min(
      numberOf(schema['maximum'], Infinity),
      numberOf(schema['exclusiveMaximum'], Infinity) - step,
    ),
  }
}

function numberOf(value: unknown, other: number): number {
  return typeof value === 'number' ? value : other
}

function isSimple(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}
