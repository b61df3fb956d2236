// What a field may hold, in few words.

import type { Shape } from './form-model.ts'
import { textOf } from './messages.ts'
import type { Members } from './messages.ts'

export function hintOf(schema: Members, shape: Shape): string {
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
        shape.pattern === '' ? '' : `like ${shape.pattern}`,
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
