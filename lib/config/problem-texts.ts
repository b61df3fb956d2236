// Words for what a shape refuses: what was there, and what was expected instead.

import type { z } from 'zod'
import { formatConfigPath } from './config-error.ts'
import type { ConfigPath } from './config-error.ts'
import { nearest } from '../text/nearest-name.ts'

type RawIssue = z.core.$ZodRawIssue
type ShapeIssue = z.core.$ZodIssue

export const REQUIRED_MESSAGE = 'is required'

/** The error map for every shape. Unknown fields get one line for each. */
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
      if (issue.origin === 'string') return 'got empty text, expected some'
      return `got ${String(issue.input)}, expected at least ${issue.minimum}`
    case 'too_big':
      return `got ${String(issue.input)}, expected at most ${issue.maximum}`
    default:
      return undefined
  }
}

/** Who is told what is wrong, and where. */
export interface ProblemReporter {
  problem(path: ConfigPath, message: string, part?: 'key' | 'value'): void
}

/** Tells every issue, each at its own place. */
export function reportIssues(
  told: ProblemReporter,
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
      issue.keys.forEach((key, at) => told.problem([...path, key], lines[at]!, 'key'))
    } else if (issue.code === 'invalid_key') {
      for (const { message } of issue.issues) told.problem(path, message, 'key')
    } else if (issue.message === REQUIRED_MESSAGE) {
      told.problem(path, `${formatConfigPath(path)} ${REQUIRED_MESSAGE}`)
    } else if (issue.code === 'invalid_union') {
      const meant = findMeantBranch(issue.errors)
      if (meant === undefined) told.problem(path, issue.message)
      else reportIssues(told, meant, path)
    } else if (issue.code === 'invalid_type' && issue.expected === 'never') {
      told.problem(path, issue.message, 'key')
    } else if (issue.code !== 'custom' || !unknown.some((other) => isSamePath(other, issue.path))) {
      told.problem(path, issue.message)
    }
  }
}

/** What an object lacks or has too much of is told by its unknown fields already. */
function isSamePath(a: ShapeIssue['path'], b: ShapeIssue['path']): boolean {
  return a.length === b.length && a.every((key, at) => key === b[at])
}

/** Of several forms, the user meant the one that fits at the top and goes wrong only further in. */
function findMeantBranch(branches: readonly ShapeIssue[][]): ShapeIssue[] | undefined {
  const unknown = (branch: readonly ShapeIssue[]): number =>
    branch.filter(({ code }) => code === 'unrecognized_keys').length
  return branches
    .filter((branch) => branch.every(isInside))
    .toSorted((a, b) => unknown(a) - unknown(b) || a.length - b.length)[0]
}

function isInside(issue: ShapeIssue): boolean {
  return issue.path.length > 0 || issue.code === 'unrecognized_keys' || issue.code === 'custom'
}

function describeUnknownField(key: string, known: readonly string[]): string {
  const meant = nearest(key, known)
  if (meant !== undefined) return `unknown field '${key}', did you mean '${meant}'?`
  return `unknown field '${key}', expected ${formatAlternatives(known)}`
}

function knownNamesOf(schema: unknown): string[] {
  const { shape = {} } = (schema as z.core.$ZodObject | undefined)?._zod.def ?? {}
  return Object.keys(shape).filter((name) => !isNever(shape[name]!))
}

/** A name that is known only to be refused. */
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

/** Only the type: the value may be a secret. */
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
  const meant = nearest(input, known)
  const hint = meant === undefined ? '' : `, did you mean '${meant}'?`
  return `got '${input}', expected ${formatAlternatives(known)}${hint}`
}

export function formatAlternatives(names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`)
  return quoted.length > 1 ? `one of ${quoted.join(', ')}` : (quoted[0] ?? 'nothing')
}
