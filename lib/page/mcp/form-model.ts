// Reads a JSON Schema, or a URI template, as the fields of a form. Draws nothing.

import { listOf, membersOf, textOf } from './mcp-errors.ts'
import type { Members } from './mcp-errors.ts'

export interface Field {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly isRequired: boolean
  readonly shape: Shape
  /** The type and its constraints in a few words. */
  readonly hint: string
  readonly placeholder: string
  /** Undefined when the schema has none. */
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
  /** `json`: the schema is more complex than the fields can express. */
  readonly use: 'fields' | 'json' | 'nothing'
}

const MAX_FIELDS = 100
const MAX_CHOICES = 500
const MAX_DEPTH = 4
export const MAX_ITEMS = 100

/** Names of texts that are likely to have many lines. */
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

interface SchemaContext {
  readonly reader: SchemaReader
  readonly depth: number
  readonly isRequired: boolean
}

function fieldOf(name: string, schema: Members, around: SchemaContext): Field {
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

function shapeOf(name: string, schema: Members, { reader, depth }: SchemaContext): Shape {
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

/** The only type besides null; '' where there are several or none. */
function typeOf(schema: Members): string {
  const { type } = schema
  const types = (Array.isArray(type) ? (type as unknown[]) : [type]).filter((one) => one !== 'null')
  if (types.length === 1 && typeof types[0] === 'string') return types[0]
  return type === undefined && membersOf(schema['properties']) !== null ? 'object' : ''
}

/** Choices from `enum`, `const`, or a list of constants with titles. */
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

const MAX_REFERENCES = 16

/** Follows references within one schema. */
class SchemaReader {
  readonly #whole: unknown

  constructor(whole: unknown) {
    this.#whole = whole
  }

  root(): Members {
    return this.plain(this.#whole)
  }

  /**
   * The schema with its references resolved, and without `null` as one of two alternatives. Members next to a reference
   * override those of its target.
   */
  plain(schema: unknown): Members {
    let found = membersOf(schema) ?? {}
    for (let left = MAX_REFERENCES; left > 0; left--) {
      const next = this.#next(found)
      if (next === null) return found
      const { $ref: _ref, anyOf: _any, oneOf: _one, allOf: _all, ...siblings } = found
      found = { ...next, ...siblings }
    }
    return {}
  }

  #next(schema: Members): Members | null {
    const { $ref: reference } = schema
    if (typeof reference === 'string') return this.#at(reference)
    for (const member of ['anyOf', 'oneOf', 'allOf']) {
      const branches = listOf(schema[member]).filter((one) => membersOf(one)?.['type'] !== 'null')
      if (branches.length === 1) return membersOf(branches[0])
    }
    return null
  }

  /** Only within this schema; nothing is fetched. */
  #at(reference: string): Members {
    if (!reference.startsWith('#')) return {}
    let found: unknown = this.#whole
    for (const part of reference.slice(1).split('/').slice(1)) {
      const name = unescaped(part)
      const members = membersOf(found)
      found = members !== null && Object.hasOwn(members, name) ? members[name] : undefined
    }
    return membersOf(found) ?? {}
  }
}

function unescaped(part: string): string {
  const plain = part.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

/** Names of the variables in a URI template. */
export function variablesOf(template: string): string[] {
  const found = template.matchAll(/\{[+#./;?&]?([^{}]+)\}/g)
  const names = [...found].flatMap(([, list = '']) =>
    list.split(',').map((name) => name.replace(/\*$|:\d+$/, '')),
  )
  return [...new Set(names)]
}

/** The common part of RFC 6570: replaces each variable; `{+name}` keeps reserved characters. */
export function expandTemplate(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{([+#./;?&]?)([^{}]+)\}/g, (_hole, operator: string, list: string) => {
    const pairs = list.split(',').map((name) => {
      const bare = name.replace(/\*$|:\d+$/, '')
      return [bare, values[bare] ?? ''] as const
    })
    return expanded(operator, pairs)
  })
}

function expanded(operator: string, pairs: readonly (readonly [string, string])[]): string {
  const given = pairs.filter(([, value]) => value !== '')
  if (given.length === 0) return ''
  const keeps = operator === '+' || operator === '#'
  const written = given.map(([name, value]) => {
    const text = keeps ? encodeURI(value) : encodeURIComponent(value)
    return ';?&'.includes(operator) && operator !== '' ? `${name}=${text}` : text
  })
  const joint = { '': ',', '+': ',', '#': ',', '.': '.', '/': '/', ';': ';', '?': '&', '&': '&' }
  const lead = operator === '+' ? '' : operator
  return lead + written.join(joint[operator as keyof typeof joint])
}

function hintOf(schema: Members, shape: Shape): string {
  const format = textOf(schema['format'])
  const words = [kindOf(shape), format === 'textarea' ? '' : format, ...boundsOf(schema, shape)]
  return words.filter((one) => one !== '').join(', ')
}

function kindOf(shape: Shape): string {
  switch (shape.kind) {
    case 'text':
      return 'text'
    case 'number':
      return shape.isWhole ? 'whole number' : 'number'
    case 'flag':
      return 'true or false'
    case 'list':
      return `list of ${NAMES[shape.item.shape.kind] ?? 'values'}`
    case 'json':
      return 'JSON'
    case 'choice':
    case 'group':
      return ''
  }
}

const NAMES: Readonly<Record<string, string>> = {
  text: 'texts',
  number: 'numbers',
  choice: 'choices',
}

function boundsOf(schema: Members, shape: Shape): string[] {
  switch (shape.kind) {
    case 'number':
      return [rangeOf(schema), multipleOf(schema['multipleOf'])]
    case 'text':
      return [
        amountOf(schema['minLength'], schema['maxLength'], 'letters'),
        shape.pattern === '' ? '' : `matching ${shape.pattern}`,
      ]
    case 'list':
      return [amountOf(schema['minItems'], schema['maxItems'], 'of them')]
    default:
      return []
  }
}

function rangeOf(schema: Members): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  if (isNumber(minimum) && isNumber(maximum)) return `${minimum} to ${maximum}`
  return [
    isNumber(minimum) ? `at least ${minimum}` : '',
    isNumber(exclusiveMinimum) ? `above ${exclusiveMinimum}` : '',
    isNumber(maximum) ? `at most ${maximum}` : '',
    isNumber(exclusiveMaximum) ? `below ${exclusiveMaximum}` : '',
  ]
    .filter((one) => one !== '')
    .join(', ')
}

function amountOf(min: unknown, max: unknown, what: string): string {
  const least = isNumber(min) && min > 0 ? min : null
  if (least !== null && isNumber(max)) return `${least} to ${max} ${what}`
  if (least !== null) return `at least ${least} ${what}`
  return isNumber(max) ? `at most ${max} ${what}` : ''
}

function multipleOf(value: unknown): string {
  return isNumber(value) ? `a multiple of ${value}` : ''
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}
