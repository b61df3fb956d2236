// Compiles CEL text of the configuration.

import { compileExpression } from '../expressions/compile.ts'
import type { Expression } from '../expressions/compile.ts'
import { CelError } from '../expressions/expression-errors.ts'
import type { ExpressionLocation } from '../expressions/context-names.ts'

/** The compiled expression, or the error message. */
export function tryCompile(source: string, location: ExpressionLocation): Expression | string {
  try {
    return compileExpression(source, location)
  } catch (error) {
    if (error instanceof CelError) return error.message
    throw error
  }
}
