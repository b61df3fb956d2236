// Expressions of the configuration: compiled and checked once at load, evaluated per exchange.

import type { Environment, ParseResult } from '@marcbachmann/cel-js'
import { ParseError, TypeError as CheckError } from '@marcbachmann/cel-js'
import { UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import { nearest } from '../nearest-name.ts'
import { MAX_DEPTH, MAX_KEY, MAX_SOURCE, MAX_WORK } from './bounds.ts'
import { ENVIRONMENTS, environmentOf } from './environment.ts'
import type { FaultCode } from './errors.ts'
import { CelError, CelFault, faultOf } from './errors.ts'
import { fieldsOf, NAMES } from './fields.ts'
import { bound, inspect, unknownField } from './guard.ts'
import type { Node } from './library.ts'
import { rootOf } from './library.ts'
import { costOf, Meter } from './meter.ts'
import type { Place, Wanted } from './places.ts'
import { fits, PLACES } from './places.ts'
import type { View } from './view.ts'

/** Integers are BigInts, maps are Maps or, made by a literal, plain objects. */
export type Result = { readonly value: unknown } | { readonly fault: FaultCode }

/** Values by name, where there is no exchange. */
export type Bindings = ReadonlyMap<string, unknown>

/** One compiled expression. Evaluation never throws. */
export class Expression {
  /** As the user wrote it. */
  readonly source: string
  readonly #parsed: ParseResult
  readonly #meter: Meter
  readonly #names: ReadonlySet<string>

  constructor(source: string, parsed: ParseResult, meter: Meter, names: ReadonlySet<string>) {
    this.source = source
    this.#parsed = parsed
    this.#meter = meter
    this.#names = names
  }

  /** Whether its value may depend on what that name stands for. */
  reads(name: string): boolean {
    return this.#names.has(name)
  }

  evaluate(view: View | Bindings): Result {
    try {
      return { value: this.#run(view) }
    } catch (error) {
      return { fault: faultOf(error) }
    }
  }

  /** For rules: whether it is true. A fault is not, nor is anything that is no bool. */
  holds(view: View | Bindings): boolean {
    try {
      return this.#run(view) === true
    } catch {
      return false
    }
  }

  /** For keys: its text, or null for none: a fault, an empty or too long text, a list, a map, null, bytes. */
  keyOf(view: View | Bindings): string | null {
    const result = this.evaluate(view)
    if ('fault' in result) return null
    const text = scalarText(result.value)
    return text === '' || text.length > MAX_KEY ? null : text
  }

  /** For headers: its text, which may be empty, or null for a fault and for what has no text. */
  textOf(view: View | Bindings): string | null {
    const result = this.evaluate(view)
    if ('fault' in result) return null
    const { value } = result
    return value === '' ? '' : scalarText(value) || null
  }

  #run(view: View | Bindings): unknown {
    this.#meter.reset()
    const { stackTraceLimit } = Error
    // A missing claim is no exception worth a stack: without one it costs 2 µs instead of 9.
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

function scalarText(value: unknown): string {
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

/** An expression as it may stand at this place; throws a CelError. */
export function compile(source: string, place: Place): Expression {
  const { names, wanted, work } = PLACES[place]
  const types = Object.fromEntries(names.map((name) => [name, NAMES[name] as string]))
  return compileIn(ENVIRONMENTS[place], source, types, { wanted, work })
}

/** The same with names of one's own, by their CEL types. */
export function compileWith(
  source: string,
  names: Readonly<Record<string, string>>,
  wanted: Wanted = 'any',
): Expression {
  return compileIn(environmentOf(names), source, names, { wanted, work: MAX_WORK })
}

interface Terms {
  readonly wanted: Wanted
  readonly work: number
}

function compileIn(
  environment: Environment,
  source: string,
  names: Readonly<Record<string, string>>,
  { wanted, work }: Terms,
): Expression {
  if (source.length > MAX_SOURCE)
    throw new CelError('too_long', `expression longer than ${MAX_SOURCE} characters`, '', 0)
  const parsed = parse(environment, source)
  const nodes = inspect(source, rootOf(parsed), names)
  const { valid, type = '', error } = parsed.check()
  if (!valid) throw refusalOf(error, source, names)
  if (!fits(type, wanted)) throw new CelError('result_type', misfit(type, wanted), source, 0)
  if (costOf(rootOf(parsed)) > work)
    throw new CelError('too_large', 'expression that would do more than it may', source, 0)
  const meter = new Meter(work)
  bound(nodes, meter)
  return new Expression(source, parsed, meter, namesIn(nodes))
}

function namesIn(nodes: readonly Node[]): ReadonlySet<string> {
  return new Set(nodes.filter(({ op }) => op === 'id').map(({ args }) => args as string))
}

function parse(environment: Environment, source: string): ParseResult {
  try {
    return environment.parse(source)
  } catch (error) {
    throw refusalOf(error, source, {})
  }
}

function misfit(type: string, wanted: Wanted): string {
  const kind = type.replace(/<.*/s, '')
  if (wanted === 'bool') return `a rule must give bool, this gives ${kind}`
  if (wanted === 'key') return `a key must give a text or a number, this gives ${kind}`
  return `name a field of it, this gives ${kind} as a whole`
}

/** Before any exchange the library's summaries can only quote the expression itself. */
function refusalOf(
  error: unknown,
  source: string,
  names: Readonly<Record<string, string>>,
): CelError {
  if (error instanceof RangeError)
    return new CelError('too_deep', `expression nests deeper than ${MAX_DEPTH}`, source, 0)
  const offset = error instanceof ParseError || error instanceof CheckError ? placeOf(error) : 0
  if (error instanceof ParseError && error.code === 'limit_exceeded') {
    const code = error.summary.includes('maxDepth') ? 'too_deep' : 'too_large'
    return new CelError(code, 'expression larger than it may be', source, offset)
  }
  if (error instanceof ParseError)
    return new CelError('syntax', firstLower(error.summary), source, offset)
  if (!(error instanceof CheckError))
    return new CelError('unsupported', 'expression that cannot be checked', source, 0)
  const node = error.node as Node | undefined
  if (error.code === 'unknown_variable' && typeof node?.args === 'string')
    return unknownName(source, node.args, Object.keys(names), offset)
  if (error.code === 'no_such_key' && node?.op === '.') return fieldRefusal(source, node)
  return new CelError('type', firstLower(error.summary), source, offset)
}

function placeOf(error: ParseError | CheckError): number {
  return error.node?.pos ?? error.range?.start ?? 0
}

function unknownName(
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

function fieldRefusal(source: string, node: Node): CelError {
  const [left, field] = node.args as [Node & { checkedType?: { name: string } }, string]
  const known = Object.keys(fieldsOf(left.checkedType?.name ?? '') ?? {})
  return unknownField(source, field, known, node)
}

function firstLower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
