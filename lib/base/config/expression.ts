// The seam to the CEL engine: text → expression, or why not.

import { compile } from '../cel/compile.ts'
import type { Expression } from '../cel/compile.ts'
import { CelError } from '../cel/errors.ts'
import type { Place } from '../cel/places.ts'

/** The expression, or what is wrong with it. */
export function compileAt(source: string, place: Place): Expression | string {
  try {
    return compile(source, place)
  } catch (error) {
    if (error instanceof CelError) return error.message
    throw error
  }
}
