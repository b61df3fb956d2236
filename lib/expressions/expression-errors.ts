// Why an expression is refused at load, or has no value for one exchange. Both are codes: messages of the library can quote
// what a client sent, so none of them leaves this file.

import { EvaluationError } from '@marcbachmann/cel-js'

export type CelErrorCode =
  | 'syntax'
  | 'unknown_name'
  | 'unknown_field'
  | 'type'
  | 'result_type'
  | 'too_long'
  | 'too_deep'
  | 'too_large'
  | 'nested_comprehension'
  | 'invalid_regex'
  | 'unsupported'

/** An invalid expression: thrown when a configuration is loaded. Positions count from 1. */
export class CelError extends Error {
  readonly code: CelErrorCode
  readonly line: number
  readonly column: number

  constructor(code: CelErrorCode, message: string, source: string, offset: number) {
    const before = source.slice(0, offset).split('\n')
    const line = before.length
    const column = before[line - 1]!.length + 1
    super(`${message} at ${line}:${column}`)
    this.name = 'CelError'
    this.code = code
    this.line = line
    this.column = column
  }
}

/** Why an expression has no value for one exchange. */
export type CelFaultCode =
  | 'no_such_key'
  | 'index_out_of_bounds'
  | 'no_such_overload'
  | 'arithmetic'
  | 'conversion'
  | 'out_of_range'
  | 'too_many_steps'
  | 'too_large'
  | 'too_deep'
  | 'failed'

/** Thrown by the gateway's own functions during an evaluation; never leaves this folder. */
export class CelFault extends Error {
  readonly code: CelFaultCode

  constructor(code: CelFaultCode) {
    super(code)
    this.name = 'CelFault'
    this.code = code
  }
}

const FAULTS: ReadonlyMap<string, CelFaultCode> = new Map<string, CelFaultCode>([
  ['no_such_key', 'no_such_key'],
  ['unknown_variable', 'no_such_key'],
  ['index_out_of_bounds', 'index_out_of_bounds'],
  ['index_out_of_range', 'index_out_of_bounds'],
  ['no_such_overload', 'no_such_overload'],
  ['no_matching_overload', 'no_such_overload'],
  ['invalid_condition_type', 'no_such_overload'],
  ['invalid_logical_operand', 'no_such_overload'],
  ['invalid_comprehension_range', 'no_such_overload'],
  ['invalid_comparison_type', 'no_such_overload'],
  ['invalid_list_element_type', 'no_such_overload'],
  ['field_type_mismatch', 'no_such_overload'],
  ['list_item_type_mismatch', 'no_such_overload'],
  ['variable_type_mismatch', 'no_such_overload'],
  ['unsupported_type', 'no_such_overload'],
  ['numeric_overflow', 'arithmetic'],
  ['division_by_zero', 'arithmetic'],
  ['modulo_by_zero', 'arithmetic'],
  ['bool_conversion_error', 'conversion'],
  ['int_conversion_error', 'conversion'],
  ['uint_conversion_error', 'conversion'],
  ['double_conversion_error', 'conversion'],
  ['invalid_timestamp', 'conversion'],
  ['invalid_duration', 'conversion'],
])

/** The code of any error that an evaluation throws. */
export function celFaultCodeOf(error: unknown): CelFaultCode {
  if (error instanceof EvaluationError) return FAULTS.get(error.code) ?? 'failed'
  if (error instanceof CelFault) return error.code
  // A stack or a string that became too large, or a date or time zone that does not exist.
  if (error instanceof RangeError) return 'out_of_range'
  if (error instanceof SyntaxError || error instanceof URIError) return 'conversion'
  return 'failed'
}
