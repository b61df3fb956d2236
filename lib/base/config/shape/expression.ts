// CEL as users write it: compiled at load, so that what cannot be evaluated never starts.

import { z } from 'zod'
import { compileAt } from '../expression.ts'
import type { Place } from '../../cel/places.ts'
import { refuse } from './scalars.ts'

export function expression(place: Place) {
  return z
    .string()
    .min(1)
    .meta({ format: 'cel' })
    .transform((source, context) => {
      const compiled = compileAt(source, place)
      return typeof compiled === 'string'
        ? refuse(context, `got an invalid expression: ${compiled}`)
        : compiled
    })
}
