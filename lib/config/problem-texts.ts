// Texts for values that a shape refuses: the actual value and the expected one.

import type { z } from 'zod'
import { formatConfigPath } from './config-error.ts'
import type { ConfigPath } from './config-error.ts'
import { nearest } from '../text/nearest-name.ts'

type RawIssue = z.core.$ZodRawIssue
type ShapeIssue = z.core.$ZodIssue

export const REQUIRED_MESSAGE = 'is required'

/** The zod error map of every shape; several unknown fields get one line each. */
export function describeIssue(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? REQUIRED_MESSAGE
        : describeWrongType(issue.input, issue.expected)
    case 'invalid_value':
      return issue.input === undefined
        ? REQUIRED_MESSAGE
        : describeWrongValue(issue.input, issue.values)
    case 'unrecognized_keys': {
      const known = knownNamesOf(issue.inst)
      return issue.keys.map((key) => describeUnknownField(key, known)).join('\n')
    }
    case 'too_small':
      if (issue.origin === 'array') return 'got an empty list, expected at least one entry'
      if (issue.origin === 'string') return 'got empty text, expected at least one character'
      return `got ${String(issue.input)}, expected at least ${issue.minimum}`
    case 'too_big':
      return `got ${String(issue.input)}, expected at most ${issue.maximum}`
    default:
      return undefined
  }
}

/** Receives problems with their config paths. */
export interface ProblemReporter {
  problem(path: ConfigPath, message: string, part?: 'key' | 'value'): void
}

/** Reports every issue of a shape at its config path. */
export function reportIssues(
  reporter: ProblemReporter,
  issues: readonly ShapeIssue[],
  base: ShapeIssue['path'] = [],
): void {
  const unknown = issues.filter(({ code }) => code === 'unrecognized_keys').map(({ path }) => path)
  for (const issue of issues) {
    const path = [...base, ...issue.path].map((key) =>
      typeof key === 'number' ? key : String(key),
    )
    if (issue.code === 'unrecognized_keys') {
      const lines = issue.message.split('\n')
      issue.keys.forEach((key, at) => reporter.problem([...path, key], lines[at]!, 'key'))
    } else if (issue.code === 'invalid_key') {
      for (const { message } of issue.issues) reporter.problem(path, message, 'key')
    } else if (issue.message === REQUIRED_MESSAGE) {
      reporter.problem(path, `${formatConfigPath(path)} ${REQUIRED_MESSAGE}`)
    } else if (issue.code === 'invalid_union') {
      const intended = findIntendedForm(issue.errors)
      if (intended === undefined) reporter.problem(path, issue.message)
      else reportIssues(reporter, intended, path)
    } else if (issue.code === 'invalid_type' && issue.expected === 'never') {
      reporter.problem(path, issue.message, 'key')
    } else if (issue.code !== 'custom' || !unknown.some((other) => isSamePath(other, issue.path))) {
      reporter.problem(path, issue.message)
    }
  }
}

/** Problems of an object as a whole are not reported in addition to its unknown fields. */
function isSamePath(a: ShapeIssue['path'], b: ShapeIssue['path']): boolean {
  return a.length === b.length && a.every((key, at) => key === b[at])
}

/** Of several allowed forms, the intended one matches at the top level and has problems only inside. */
function findIntendedForm(forms: readonly ShapeIssue[][]): ShapeIssue[] | undefined {
  const countUnknownFields = (form: readonly ShapeIssue[]): number =>
    form.filter(({ code }) => code === 'unrecognized_keys').length
  return forms
    .filter((form) => form.every(isInside))
    .toSorted((a, b) => countUnknownFields(a) - countUnknownFields(b) || a.length - b.length)[0]
}

function isInside(issue: ShapeIssue): boolean {
  return issue.path.length > 0 || issue.code === 'unrecognized_keys' || issue.code === 'custom'
}

function describeUnknownField(key: string, known: readonly string[]): string {
  const suggestion = nearest(key, known)
  if (suggestion !== undefined) return `unknown field '${key}', did you mean '${suggestion}'?`
  return `unknown field '${key}', expected ${formatAlternatives(known)}`
}

function knownNamesOf(schema: unknown): string[] {
  const { shape = {} } = (schema as z.core.$ZodObject | undefined)?._zod.def ?? {}
  return Object.keys(shape).filter((name) => !isNever(shape[name]!))
}

/** Whether a field is only listed so that it can be refused by name. */
function isNever(schema: z.core.$ZodType): boolean {
  const { def } = schema._zod as z.core.$ZodOptional['_zod']
  return (def.type === 'optional' ? def.innerType._zod.def.type : def.type) === 'never'
}

const KINDS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'nothing',
}

/** Names only the type, because the value may be a secret. */
function describeWrongType(input: unknown, expected: string): string {
  const got = describeKind(input)
  const quote =
    expected === 'string' && /^(?:number|boolean)$/.test(typeof input) ? ' (quote it)' : ''
  return `got ${got}, expected ${KINDS[expected] ?? expected}${quote}`
}

export function describeKind(input: unknown): string {
  if (input === null) return 'nothing'
  if (Array.isArray(input)) return 'a list'
  if (typeof input === 'number' && !Number.isInteger(input)) return 'a fraction'
  return typeof input === 'boolean' ? String(input) : (KINDS[typeof input] ?? typeof input)
}

function describeWrongValue(input: unknown, values: readonly unknown[]): string {
  const known = values.map(String)
  if (typeof input !== 'string')
    return `got ${typeof input === 'number' ? input : describeKind(input)}, expected ${formatAlternatives(known)}`
  const suggestion = nearest(input, known)
  const hint = suggestion === undefined ? '' : `, did you mean '${suggestion}'?`
  return `got '${input}', expected ${formatAlternatives(known)}${hint}`
}

export function formatAlternatives(names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`)
  return quoted.length > 1 ? `one of ${quoted.join(', ')}` : (quoted[0] ?? 'nothing')
}
