// Turns what was typed into a form into JSON values, and JSON values into what is shown. Draws nothing.

import { MAX_ITEMS } from './form-model.ts'
import type { Field, Shape } from './form-model.ts'
import { membersOf, textOf } from './mcp-errors.ts'
import type { Members } from './mcp-errors.ts'

/** For text, numbers and JSON: the text. For a flag or a choice: the index of the choice, '' for none. */
export type Draft = string | readonly Draft[] | Drafts

export interface Drafts {
  readonly [name: string]: Draft
}

/** The path of a field, and what is wrong with its value. */
export interface Fault {
  readonly path: string
  readonly words: string
}

export interface FormResult {
  readonly value: Members
  readonly faults: readonly Fault[]
}

const FLAGS = [false, true]

/** The initial drafts of a form. */
export function initialDrafts(fields: readonly Field[]): Drafts {
  const presets = fields.map((field) => [field.name, initialDraft(field)] as const)
  return Object.fromEntries(presets)
}

function initialDraft({ shape, preset, isRequired }: Field): Draft {
  const draft = preset === undefined ? null : draftOf(shape, preset)
  if (draft !== null) return draft
  if (shape.kind === 'group') return initialDrafts(shape.fields)
  if (shape.kind === 'list') return []
  if (!isRequired) return ''
  if (shape.kind === 'flag') return '0'
  return shape.kind === 'choice' ? '0' : ''
}

/** The draft of a new item of a list. */
export function emptyItem({ shape }: Field): Draft {
  return shape.kind === 'flag' || shape.kind === 'choice' ? '0' : ''
}

/** The JSON value of the drafts; an invalid input is a fault and is left out. */
export function readDrafts(fields: readonly Field[], drafts: Drafts): FormResult {
  const faults: Fault[] = []
  const value = valuesOf(fields, drafts, { path: '', faults })
  return { value, faults }
}

interface ReadContext {
  readonly path: string
  readonly faults: Fault[]
}

function valuesOf(
  fields: readonly Field[],
  drafts: Drafts,
  { path, faults }: ReadContext,
): Members {
  const found: [string, unknown][] = []
  for (const { name, shape, isRequired } of fields) {
    const at = { path: path === '' ? name : `${path}.${name}`, faults: [] }
    const value = valueOf(shape, drafts[name] ?? '', at)
    // An optional group without any input is not checked.
    if (!isRequired && isEmptyValue(value, shape)) continue
    faults.push(...at.faults)
    if (value !== undefined) found.push([name, value])
    else if (isRequired && at.faults.length === 0)
      faults.push({ path: at.path, words: 'is required' })
  }
  return Object.fromEntries(found)
}

/** Empty lists and groups are sent only if they are required. */
function isEmptyValue(value: unknown, { kind }: Shape): boolean {
  if (kind === 'list') return Array.isArray(value) && value.length === 0
  return kind === 'group' && Object.keys(membersOf(value) ?? {}).length === 0
}

/** Undefined for a field without input. */
function valueOf(shape: Shape, draft: Draft, at: ReadContext): unknown {
  switch (shape.kind) {
    case 'text':
      return readText(shape, textOf(draft), at)
    case 'number':
      return readNumber(shape, textOf(draft), at)
    case 'flag':
      return draft === '' ? undefined : FLAGS[Number(draft)]
    case 'choice':
      return draft === '' ? undefined : shape.choices[Number(draft)]?.value
    case 'json':
      return readJson(textOf(draft), at)
    case 'list':
      return itemsOf(draft).map((one, index) =>
        itemOf(shape.item, one, { ...at, path: `${at.path}[${index}]` }),
      )
    case 'group':
      return valuesOf(shape.fields, (membersOf(draft) ?? {}) as Drafts, at)
  }
}

/** Each item of a list is sent, even an empty text. */
function itemOf({ shape }: Field, draft: Draft, at: ReadContext): unknown {
  const value = valueOf(shape, draft, at)
  if (value !== undefined) return value
  if (shape.kind === 'text') return ''
  if (!at.faults.some(({ path }) => path === at.path))
    at.faults.push({ path: at.path, words: 'is empty' })
  return null
}

function readText(
  { minLength, maxLength, pattern }: Extract<Shape, { kind: 'text' }>,
  text: string,
  { path, faults }: ReadContext,
): string | undefined {
  if (text === '') return undefined
  const length = Array.from(text).length
  if (length < minLength) faults.push({ path, words: `has fewer than ${minLength} characters` })
  if (length > maxLength) faults.push({ path, words: `has more than ${maxLength} characters` })
  if (pattern !== '' && failsPattern(text, pattern))
    faults.push({ path, words: `does not match ${pattern}` })
  return text
}

/** Only for short texts: the server's pattern may take exponential time on a long one. */
const MAX_PATTERN_TEXT = 64

function failsPattern(text: string, pattern: string): boolean {
  if (text.length > MAX_PATTERN_TEXT || /[*+}].*[*+{]/.test(pattern)) return false
  try {
    return !new RegExp(pattern, 'u').test(text)
  } catch {
    return false
  }
}

function readNumber(
  { isWhole, min, max }: Extract<Shape, { kind: 'number' }>,
  text: string,
  { path, faults }: ReadContext,
): number | undefined {
  if (text.trim() === '') return undefined
  const value = Number(text)
  if (!Number.isFinite(value)) return void faults.push({ path, words: 'is not a number' })
  if (isWhole && !Number.isInteger(value)) faults.push({ path, words: 'is not a whole number' })
  else if (value < min) faults.push({ path, words: `is less than ${min}` })
  else if (value > max) faults.push({ path, words: `is more than ${max}` })
  return value
}

function readJson(text: string, { path, faults }: ReadContext): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return void faults.push({ path, words: 'is not valid JSON' })
  }
}

/** The drafts for these arguments; null where the form cannot express them. */
export function draftsOf(fields: readonly Field[], value: Members): Drafts | null {
  const known = new Set(fields.map(({ name }) => name))
  if (Object.keys(value).some((name) => !known.has(name))) return null
  const drafts: [string, Draft][] = []
  for (const { name, shape } of fields) {
    const draft = Object.hasOwn(value, name) ? draftOf(shape, value[name]) : emptyDraftOf(shape)
    if (draft === null) return null
    drafts.push([name, draft])
  }
  return Object.fromEntries(drafts)
}

function emptyDraftOf(shape: Shape): Draft {
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
