// What stands in the inputs of a form, and the arguments that it means. Inputs hold drafts: a number is what somebody has
// typed so far.

import type { Field, Shape } from './form-model.ts'
import { MAX_ITEMS } from './form-model.ts'
import { membersOf, textOf } from './messages.ts'
import type { Members } from './messages.ts'

/** Of text, numbers and JSON the text; of a flag or a choice the position among its choices, '' for none of them. */
export type Draft = string | readonly Draft[] | Drafts

export interface Drafts {
  readonly [name: string]: Draft
}

/** Where, and what is wrong there. */
export interface Fault {
  readonly path: string
  readonly words: string
}

export interface Meant {
  readonly value: Members
  readonly faults: readonly Fault[]
}

const FLAGS = [false, true]

/** What the form begins with. */
export function presetsOf(fields: readonly Field[]): Drafts {
  const presets = fields.map((field) => [field.name, presetOf(field)] as const)
  return Object.fromEntries(presets)
}

function presetOf({ shape, preset, isRequired }: Field): Draft {
  const draft = preset === undefined ? null : draftOf(shape, preset)
  if (draft !== null) return draft
  if (shape.kind === 'group') return presetsOf(shape.fields)
  if (shape.kind === 'list') return []
  if (!isRequired) return ''
  if (shape.kind === 'flag') return '0'
  return shape.kind === 'choice' ? '0' : ''
}

/** The draft of one more item of a list. */
export function emptyItem({ shape }: Field): Draft {
  return shape.kind === 'flag' || shape.kind === 'choice' ? '0' : ''
}

/** What the inputs mean; what cannot be meant is a fault, and left out. */
export function meantBy(fields: readonly Field[], drafts: Drafts): Meant {
  const faults: Fault[] = []
  const value = valuesOf(fields, drafts, { path: '', faults })
  return { value, faults }
}

interface At {
  readonly path: string
  readonly faults: Fault[]
}

function valuesOf(fields: readonly Field[], drafts: Drafts, { path, faults }: At): Members {
  const found: [string, unknown][] = []
  for (const { name, shape, isRequired } of fields) {
    const at = { path: path === '' ? name : `${path}.${name}`, faults: [] }
    const value = valueOf(shape, drafts[name] ?? '', at)
    // What nobody has begun to fill in lacks nothing.
    if (!isRequired && isNothing(value, shape)) continue
    faults.push(...at.faults)
    if (value !== undefined) found.push([name, value])
    else if (isRequired && at.faults.length === 0)
      faults.push({ path: at.path, words: 'is required' })
  }
  return Object.fromEntries(found)
}

/** Lists and groups that nobody has filled in are not sent, unless they must be. */
function isNothing(value: unknown, { kind }: Shape): boolean {
  if (kind === 'list') return Array.isArray(value) && value.length === 0
  return kind === 'group' && Object.keys(membersOf(value) ?? {}).length === 0
}

/** Undefined for what is left open. */
function valueOf(shape: Shape, draft: Draft, at: At): unknown {
  switch (shape.kind) {
    case 'text':
      return textIn(shape, textOf(draft), at)
    case 'number':
      return numberIn(shape, textOf(draft), at)
    case 'flag':
      return draft === '' ? undefined : FLAGS[Number(draft)]
    case 'choice':
      return draft === '' ? undefined : shape.choices[Number(draft)]?.value
    case 'json':
      return jsonIn(textOf(draft), at)
    case 'list':
      return itemsOf(draft).map((one, index) =>
        itemOf(shape.item, one, { ...at, path: `${at.path}[${index}]` }),
      )
    case 'group':
      return valuesOf(shape.fields, (membersOf(draft) ?? {}) as Drafts, at)
  }
}

/** An item that is there is sent, be it an empty text. */
function itemOf({ shape }: Field, draft: Draft, at: At): unknown {
  const value = valueOf(shape, draft, at)
  if (value !== undefined) return value
  if (shape.kind === 'text') return ''
  if (!at.faults.some(({ path }) => path === at.path))
    at.faults.push({ path: at.path, words: 'is empty' })
  return null
}

function textIn(
  { minLength, maxLength, pattern }: Extract<Shape, { kind: 'text' }>,
  text: string,
  { path, faults }: At,
): string | undefined {
  if (text === '') return undefined
  const length = Array.from(text).length
  if (length < minLength) faults.push({ path, words: `has fewer than ${minLength} letters` })
  if (length > maxLength) faults.push({ path, words: `has more than ${maxLength} letters` })
  if (pattern !== '' && isUnlike(text, pattern))
    faults.push({ path, words: `is not like ${pattern}` })
  return text
}

/** A short text only: the pattern is a stranger's, and may take for ever on a long one. */
const MAX_TRIED = 64

function isUnlike(text: string, pattern: string): boolean {
  if (text.length > MAX_TRIED || /[*+}].*[*+{]/.test(pattern)) return false
  try {
    return !new RegExp(pattern, 'u').test(text)
  } catch {
    return false
  }
}

function numberIn(
  { isWhole, min, max }: Extract<Shape, { kind: 'number' }>,
  text: string,
  { path, faults }: At,
): number | undefined {
  if (text.trim() === '') return undefined
  const value = Number(text)
  if (!Number.isFinite(value)) return void faults.push({ path, words: 'is no number' })
  if (isWhole && !Number.isInteger(value)) faults.push({ path, words: 'is no whole number' })
  else if (value < min) faults.push({ path, words: `is less than ${min}` })
  else if (value > max) faults.push({ path, words: `is more than ${max}` })
  return value
}

function jsonIn(text: string, { path, faults }: At): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return void faults.push({ path, words: 'is no JSON' })
  }
}

/** The drafts that mean these arguments; null where the form has no place for them. */
export function draftsOf(fields: readonly Field[], value: Members): Drafts | null {
  const known = new Set(fields.map(({ name }) => name))
  if (Object.keys(value).some((name) => !known.has(name))) return null
  const drafts: [string, Draft][] = []
  for (const { name, shape } of fields) {
    const draft = Object.hasOwn(value, name) ? draftOf(shape, value[name]) : nothingOf(shape)
    if (draft === null) return null
    drafts.push([name, draft])
  }
  return Object.fromEntries(drafts)
}

function nothingOf(shape: Shape): Draft {
  if (shape.kind === 'group') return draftsOf(shape.fields, {}) ?? {}
  return shape.kind === 'list' ? [] : ''
}

function draftOf(shape: Shape, value: unknown): Draft | null {
  switch (shape.kind) {
    case 'text':
      return typeof value === 'string' ? value : null
    case 'number':
      return typeof value === 'number' ? String(value) : null
    case 'flag':
      return typeof value === 'boolean' ? String(FLAGS.indexOf(value)) : null
    case 'choice': {
      const text = JSON.stringify(value)
      const at = shape.choices.findIndex((choice) => JSON.stringify(choice.value) === text)
      return at < 0 ? null : String(at)
    }
    case 'json':
      return JSON.stringify(value, null, 2)
    case 'list': {
      if (!Array.isArray(value) || value.length > MAX_ITEMS) return null
      const items = value.map((one) => draftOf(shape.item.shape, one))
      return items.includes(null) ? null : (items as Draft[])
    }
    case 'group': {
      const members = membersOf(value)
      return members === null ? null : draftsOf(shape.fields, members)
    }
  }
}

function itemsOf(draft: Draft): readonly Draft[] {
  return Array.isArray(draft) ? (draft as readonly Draft[]) : []
}
