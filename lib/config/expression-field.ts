// The seam to the CEL engine: text → expression, or why not.

import { compileExpression } from '../expressions/compile.ts'
import type { Expression } from '../expressions/compile.ts'
import { CelError } from '../expressions/expression-errors.ts'
import type { ExpressionLocation } from '../expressions/context-names.ts'

/** The expression, or what is wrong with it. */
export function tryCompile(source: string, place: ExpressionLocation): Expression | string {
  try {
    return compileExpression(source, place)
  } catch (error) {
    if (error instanceof CelError) return error.message
    throw error
  }
}
