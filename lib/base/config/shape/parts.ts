// What shapes are built of, beside single values: fields that may be missing, choices, names that are refused.

import { z } from 'zod'
import { Secret } from '../secret.ts'
import { oneOf, REQUIRED } from '../wording.ts'
import { refuse } from './scalars.ts'

/** A field that may be missing; what is not set is null. */
export function orNull<Shape extends z.ZodType>(shape: Shape) {
  return shape.optional().transform((value) => value ?? null)
}

const REFUSED = refusedAs('is not supported')

/** Fields that other gateways have: known, so that they are refused by name rather than as typing errors. */
export function unsupported<Name extends string>(...names: Name[]): Record<Name, typeof REFUSED> {
  return Object.fromEntries(names.map((name) => [name, REFUSED])) as Record<Name, typeof REFUSED>
}

export function refusedAs(error: string) {
  return z.never({ error }).optional()
}

/** An object with exactly one of these fields; `refused` are those known but not supported. */
export function choice<Fields extends z.ZodRawShape>(fields: Fields, refused: string[] = []) {
  const expected = `expected exactly ${oneOf(Object.keys(fields))}`
  // A name alone is what most people try first.
  const error = ({ input }: { input?: unknown }): string | undefined =>
    typeof input === 'string' && Object.hasOwn(fields, input)
      ? `got a string, expected an object: { ${input}: {} }`
      : undefined
  return z
    .strictObject({ ...fields, ...unsupported(...refused) } as Fields, { error })
    .partial()
    .meta({ minProperties: 1, maxProperties: 1 })
    .transform((value, context) => {
      const names = Object.keys(value)
      if (names.length === 1) return value
      return refuse(context, `got ${names.join(' and ') || 'none'}, ${expected}`)
    })
}

/** One of several forms; `expected` tells them all. */
export function union<Forms extends readonly [z.ZodType, ...z.ZodType[]]>(
  forms: Forms,
  expected: string,
) {
  return z.union(forms, { error: ({ input }) => (input === undefined ? REQUIRED : expected) })
}

/** Not empty. */
export const text = z.string().min(1)

/** Never printed. */
export const secret = text.transform((value) => new Secret(value))

const URL_EXPECTED = 'expected a URL such as https://example.com/path'

/** http or https, as it was written. */
export const httpUrl = z
  .string()
  .refine((value) => /^https?:\/\/[^\s?#]+/i.test(value) && URL.canParse(value), {
    error: ({ input }) => `got '${String(input)}', ${URL_EXPECTED}`,
    abort: true,
  })
  .refine(
    (value) => !URL.canParse(value) || new URL(value).username + new URL(value).password === '',
    {
      error: 'got a URL with a user name, expected none: it would be shown',
    },
  )

/** One gateway or several, each `gateway` or `gateway/listener`. */
export const gatewayNames = union(
  [text, z.array(text).min(1)],
  'expected the name of a gateway or a list of names',
)
