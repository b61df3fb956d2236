// Expressions of the configuration: compiled and checked once at load, evaluated for each exchange.

import type { Environment, ParseResult } from '@marcbachmann/cel-js'
import { ParseError, TypeError as CheckError } from '@marcbachmann/cel-js'
import { UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import { nearest } from '../text/nearest-name.ts'
import {
  estimateNodeCost,
  MAX_EVALUATION_WORK,
  MAX_EXPRESSION_DEPTH,
  MAX_EXPRESSION_LENGTH,
  MAX_LIMIT_KEY_LENGTH,
  WorkMeter,
} from './meter.ts'
import { CEL_ENVIRONMENTS, createEnvironment } from './environment.ts'
import type { CelFaultCode } from './expression-errors.ts'
import { CelError, CelFault, celFaultCodeOf } from './expression-errors.ts'
import {
  CEL_VARIABLES,
  celFieldsOf,
  EXPRESSION_LOCATIONS,
  isAllowedResultType,
} from './context-names.ts'
import { applyBounds, inspectExpression, buildUnknownFieldError } from './guard.ts'
import type { CelNode } from './cel-library.ts'
import { rootNodeOf } from './cel-library.ts'
import type { ExpressionLocation, ResultType } from './context-names.ts'
import type { ExpressionView } from './exchange-view.ts'

/** Integers are BigInts; maps are Maps or, from a literal, plain objects. */
export type EvaluationResult = { readonly value: unknown } | { readonly fault: CelFaultCode }

/** Values by name, for an evaluation without an exchange. */
export type ExpressionBindings = ReadonlyMap<string, unknown>

/** One compiled expression. Evaluation never throws. */
export class Expression {
  /** The text as written by the user. */
  readonly source: string
  readonly #parsed: ParseResult
  readonly #meter: WorkMeter
  readonly #names: ReadonlySet<string>

  constructor(source: string, parsed: ParseResult, meter: WorkMeter, names: ReadonlySet<string>) {
    this.source = source
    this.#parsed = parsed
    this.#meter = meter
    this.#names = names
  }

  /** Whether its value may depend on that name. */
  reads(name: string): boolean {
    return this.#names.has(name)
  }

  evaluate(view: ExpressionView | ExpressionBindings): EvaluationResult {
    try {
      return { value: this.#run(view) }
    } catch (error) {
      return { fault: celFaultCodeOf(error) }
    }
  }

  /** For rules: whether the value is true. A fault, or a value that is not a bool, is false. */
  holds(view: ExpressionView | ExpressionBindings): boolean {
    try {
      return this.#run(view) === true
    } catch {
      return false
    }
  }

  /** For keys: the text of the value; null for a fault, an empty or too long text, a list, a map, null or bytes. */
  evaluateKey(view: ExpressionView | ExpressionBindings): string | null {
    const result = this.evaluate(view)
    if ('fault' in result) return null
    const text = scalarTextOf(result.value)
    return text === '' || text.length > MAX_LIMIT_KEY_LENGTH ? null : text
  }

  /** For headers: the text of the value, which may be empty; null for a fault or a value without a text. */
  evaluateText(view: ExpressionView | ExpressionBindings): string | null {
    const result = this.evaluate(view)
    if ('fault' in result) return null
    const { value } = result
    return value === '' ? '' : scalarTextOf(value) || null
  }

  #run(view: ExpressionView | ExpressionBindings): unknown {
    this.#meter.reset()
    const { stackTraceLimit } = Error
    // A missing claim needs no stack trace: without one it costs 2 µs instead of 9.
    Error.stackTraceLimit = 0
    try {
      const value: unknown = this.#parsed(view)
      if (this.#meter.isExhausted) throw new CelFault('too_many_steps')
      return value
    } finally {
      Error.stackTraceLimit = stackTraceLimit
    }
  }
}

function scalarTextOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'bigint':
    case 'number':
    case 'boolean':
      return String(value)
    default:
      return value instanceof UnsignedInt ? String(value) : ''
  }
}

/** Compiles an expression for one location of the configuration; throws a CelError. */
export function compileExpression(source: string, location: ExpressionLocation): Expression {
  const { variables, valueless = [], resultType, maxWork } = EXPRESSION_LOCATIONS[location]
  const types = Object.fromEntries(
    [...variables, ...valueless].map((name) => [name, CEL_VARIABLES[name] as string]),
  )
  return compileIn(CEL_ENVIRONMENTS[location], source, types, { resultType, maxWork })
}

/** Compiles an expression with other variables, given with their CEL types. */
export function compileWithNames(
  source: string,
  variables: Readonly<Record<string, string>>,
  resultType: ResultType = 'any',
): Expression {
  return compileIn(createEnvironment(variables), source, variables, {
    resultType,
    maxWork: MAX_EVALUATION_WORK,
  })
}

interface CompileOptions {
  readonly resultType: ResultType
  readonly maxWork: number
}

function compileIn(
  environment: Environment,
  source: string,
  variables: Readonly<Record<string, string>>,
  { resultType, maxWork }: CompileOptions,
): Expression {
  if (source.length > MAX_EXPRESSION_LENGTH)
    throw new CelError(
      'too_long',
      `expression longer than ${MAX_EXPRESSION_LENGTH} characters`,
      '',
      0,
    )
  const parsed = parse(environment, source)
  const nodes = inspectExpression(source, rootNodeOf(parsed), variables)
  const { valid, type = '', error } = parsed.check()
  if (!valid) throw toCelError(error, source, variables)
  if (!isAllowedResultType(type, resultType))
    throw new CelError('result_type', describeTypeMismatch(type, resultType), source, 0)
  if (estimateNodeCost(rootNodeOf(parsed)) > maxWork)
    throw new CelError('too_large', 'expression exceeds the work limit', source, 0)
  const meter = new WorkMeter(maxWork)
  applyBounds(nodes, meter)
  return new Expression(source, parsed, meter, collectNames(nodes))
}

function collectNames(nodes: readonly CelNode[]): ReadonlySet<string> {
  return new Set(nodes.filter(({ op }) => op === 'id').map(({ args }) => args as string))
}

function parse(environment: Environment, source: string): ParseResult {
  try {
    return environment.parse(source)
  } catch (error) {
    throw toCelError(error, source, {})
  }
}

function describeTypeMismatch(type: string, resultType: ResultType): string {
  const kind = type.replace(/<.*/s, '')
  if (resultType === 'bool') return `the expression must return bool, this returns ${kind}`
  if (resultType === 'key')
    return `the expression must return a string or a number, this returns ${kind}`
  return `${kind} has no value of its own, use one of its fields`
}

/** At load there is no exchange, so the library's messages can quote only the expression itself. */
function toCelError(
  error: unknown,
  source: string,
  variables: Readonly<Record<string, string>>,
): CelError {
  if (error instanceof RangeError)
    return new CelError(
      'too_deep',
      `expression nests deeper than ${MAX_EXPRESSION_DEPTH}`,
      source,
      0,
    )
  const offset =
    error instanceof ParseError || error instanceof CheckError ? errorOffsetOf(error) : 0
  if (error instanceof ParseError && error.code === 'limit_exceeded') {
    const code = error.summary.includes('maxDepth') ? 'too_deep' : 'too_large'
    return new CelError(code, 'expression too large', source, offset)
  }
  if (error instanceof ParseError)
    return new CelError('syntax', firstLower(error.summary), source, offset)
  if (!(error instanceof CheckError))
    return new CelError('unsupported', 'expression cannot be checked', source, 0)
  const node = error.node as CelNode | undefined
  if (error.code === 'unknown_variable' && typeof node?.args === 'string')
    return buildUnknownNameError(source, node.args, Object.keys(variables), offset)
  if (error.code === 'no_such_key' && node?.op === '.') return buildFieldError(source, node)
  return new CelError('type', firstLower(error.summary), source, offset)
}

function errorOffsetOf(error: ParseError | CheckError): number {
  return error.node?.pos ?? error.range?.start ?? 0
}

function buildUnknownNameError(
  source: string,
  name: string,
  known: readonly string[],
  offset: number,
): CelError {
  const guess = nearest(name, known)
  const hint =
    guess === undefined ? `; known here: ${known.join(', ')}` : `, did you mean ${guess}?`
  return new CelError('unknown_name', `unknown name ${name}${hint}`, source, offset)
}

function buildFieldError(source: string, node: CelNode): CelError {
  const [left, field] = node.args as [CelNode & { checkedType?: { name: string } }, string]
  const known = Object.keys(celFieldsOf(left.checkedType?.name ?? '') ?? {})
  return buildUnknownFieldError(source, field, known, node)
}

function firstLower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
