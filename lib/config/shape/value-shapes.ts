// Shapes of single values, and the building blocks of other shapes.

import { isIP } from 'node:net'
import { z } from 'zod'
import type { ExpressionLocation } from '../../expressions/context-names.ts'
import { Regex, RegexError } from '../../expressions/regex.ts'
import { Secret } from '../../text/secret.ts'
import type { EndpointAddress, ValueMatch } from '../config-types.ts'
import { DURATION_PATTERN, MAX_DURATION_MS, parseDuration } from '../duration.ts'
import { tryCompile } from '../expression-field.ts'
import { describeKind, formatAlternatives, REQUIRED_MESSAGE } from '../problem-texts.ts'

type IssueCollector = { addIssue(issue: { code: 'custom'; message: string }): void }

/** Refuses the value inside a zod transform. */
export function refuseValue(context: IssueCollector, message: string): never {
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}

const DURATION_EXPECTED = 'expected a duration such as 500ms, 10s, 1m or 1h30m'

/** A duration in milliseconds; 0 is allowed. */
export const duration = z
  .string({ error: ({ input }) => `got ${describeKind(input)}, ${DURATION_EXPECTED}` })
  .regex(DURATION_PATTERN, { error: ({ input }) => `got '${String(input)}', ${DURATION_EXPECTED}` })
  .transform((text, context) => {
    const value = parseDuration(text) ?? 0
    return value > MAX_DURATION_MS
      ? refuseValue(context, `got '${text}', expected a duration of at most 24 days`)
      : value
  })

/** A duration in milliseconds, for timeouts that must not be 0. */
export const positiveDuration = duration.refine(
  (value) => value > 0,
  'got 0, expected more than 0ms',
)

/** 0 lets the system pick a free port. */
export const listenPort = z.int().min(0).max(65_535)

export const portNumber = z.int().min(1).max(65_535)

export const ipAddress = z.string().refine((text) => isIP(text) !== 0, {
  error: ({ input }) => `got '${String(input)}', expected an IP address`,
})

/** A name that becomes part of a key, in which slashes separate names. */
export const keySegment = z
  .string()
  .regex(/^[^/\s]+$/, 'got an empty name or a name with a slash or a space, expected a plain name')

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

export function isHeaderName(text: string): boolean {
  return TOKEN.test(text)
}

/** A header name, converted to lower case. */
export const headerName = z
  .string()
  .regex(TOKEN, { error: ({ input }) => `got '${String(input)}', expected a valid header name` })
  .toLowerCase()

/** The value is not printed when it is refused, because it may be a secret. */
export const headerValue = z
  .string()
  .regex(
    /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/,
    'got characters that a header cannot contain, expected latin1 text on one line without leading or trailing spaces',
  )

export const httpMethod = z.string().regex(/^[A-Z][A-Z-]*$/, {
  error: ({ input }) => `got '${String(input)}', expected a method such as GET`,
})

const LABELS = '[A-Za-z0-9_](?:[A-Za-z0-9_-]*)(?:\\.[A-Za-z0-9_][A-Za-z0-9_-]*)*'
const HOSTNAME = new RegExp(`^(?:\\*\\.)?${LABELS}$`)

/** An exact name or `*.suffix`, converted to lower case. */
export const hostname = z
  .string()
  .regex(HOSTNAME, {
    error: ({ input }) =>
      `got '${String(input)}', expected a hostname such as a.example.com or *.example.com`,
  })
  .toLowerCase()

const HOST = new RegExp(`^(?:${LABELS}|\\[[0-9A-Fa-f:.]+\\])$`)
const AUTHORITY = new RegExp(`^(?:${LABELS}|\\[[0-9A-Fa-f:.]+\\])(?::\\d{1,5})?$`)

export const hostWithoutPort = z
  .string()
  .regex(HOST, { error: ({ input }) => `got '${String(input)}', expected a host without port` })

export const hostWithOptionalPort = z
  .string()
  .regex(AUTHORITY, { error: ({ input }) => `got '${String(input)}', expected host or host:port` })

const PATH_EXPECTED = 'expected a path that starts with / and has no ? or #'

/** A path that is valid in a request line. */
export const targetPath = z.string().regex(/^\/[!-"$->@-~]*$/, {
  error: ({ input }) => `got '${String(input)}', ${PATH_EXPECTED}`,
})

/** The replacement of a prefix; '' removes the prefix. */
export const replacementPath = z.string().regex(/^(?:\/[!-"$->@-~]*)?$/, {
  error: ({ input }) => `got '${String(input)}', ${PATH_EXPECTED}`,
})

const ENDPOINT_EXPECTED = 'expected host:port, [ipv6]:port or unix:/path'

export const endpoint = z.string().transform((text, context): EndpointAddress => {
  const found = parseEndpoint(text)
  if (found !== undefined) return found
  const hint = /^https?:/.test(text) ? ' (no scheme; use policies.backendTLS for https)' : ''
  return refuseValue(context, `got '${text}', ${ENDPOINT_EXPECTED}${hint}`)
})

function parseEndpoint(text: string): EndpointAddress | undefined {
  if (text.startsWith('unix:/')) return { kind: 'unix', path: text.slice(5) }
  const parts = splitHostAndPort(text)
  if (parts === undefined || !HOST.test(parts.host)) return undefined
  const bare = parts.host.startsWith('[') ? parts.host.slice(1, -1) : parts.host
  if (bare !== parts.host && isIP(bare) !== 6) return undefined
  return { kind: 'tcp', host: bare, port: parts.port }
}

/** Splits at the last colon; undefined unless the port is within 1 to 65535. */
export function splitHostAndPort(text: string): { host: string; port: number } | undefined {
  const parts = /^(.+):(\d{1,5})$/.exec(text)
  const port = Number(parts?.[2])
  return parts !== null && port >= 1 && port <= 65_535 ? { host: parts[1]!, port } : undefined
}

/** A regex that must match the whole value. */
export const wholeMatchRegex = z
  .string()
  .transform((text, context): ValueMatch & { kind: 'regex' } => {
    try {
      return { kind: 'regex', value: text, regex: new Regex(text, 'whole') }
    } catch (error) {
      if (!(error instanceof RegexError)) throw error
      return refuseValue(context, `got an invalid regex: ${error.message}, expected RE2 syntax`)
    }
  })

/** An optional field that becomes null if it is not set. */
export function optionalOrNull<Shape extends z.ZodType>(shape: Shape) {
  return shape.optional().transform((value) => value ?? null)
}

const REFUSED = refusedField('is not supported')

/** Fields of other gateways, which get the message 'is not supported' instead of 'unknown field'. */
export function unsupportedFields<Name extends string>(
  ...names: Name[]
): Record<Name, typeof REFUSED> {
  return Object.fromEntries(names.map((name) => [name, REFUSED])) as Record<Name, typeof REFUSED>
}

export function refusedField(error: string) {
  return z.never({ error }).optional()
}

/** An object with exactly one of these fields; `refused` are fields that are not supported. */
export function exactlyOneOf<Fields extends z.ZodRawShape>(fields: Fields, refused: string[] = []) {
  const expected = `expected exactly ${formatAlternatives(Object.keys(fields))}`
  // A common mistake is to write the name alone.
  const error = ({ input }: { input?: unknown }): string | undefined =>
    typeof input === 'string' && Object.hasOwn(fields, input)
      ? `got a string, expected an object: { ${input}: {} }`
      : undefined
  return z
    .strictObject({ ...fields, ...unsupportedFields(...refused) } as Fields, { error })
    .partial()
    .meta({ minProperties: 1, maxProperties: 1 })
    .transform((value, context) => {
      const names = Object.keys(value)
      if (names.length === 1) return value
      return refuseValue(context, `got ${names.join(' and ') || 'none'}, ${expected}`)
    })
}

/** One of several forms; `expected` is the error text. */
export function oneFormOf<Forms extends readonly [z.ZodType, ...z.ZodType[]]>(
  forms: Forms,
  expected: string,
) {
  return z.union(forms, {
    error: ({ input }) => (input === undefined ? REQUIRED_MESSAGE : expected),
  })
}

export const nonEmptyText = z.string().min(1)

/** Text that is never printed. */
export const secretText = nonEmptyText.transform((value) => new Secret(value))

const URL_EXPECTED = 'expected a URL such as https://example.com/path'

/** An http or https URL; the text is not normalized. */
export const httpUrl = z
  .string()
  .refine((value) => /^https?:\/\/[^\s?#]+/i.test(value) && URL.canParse(value), {
    error: ({ input }) => `got '${String(input)}', ${URL_EXPECTED}`,
    abort: true,
  })
  .refine(
    (value) => !URL.canParse(value) || new URL(value).username + new URL(value).password === '',
    {
      error: 'got a URL with a user name, expected none: dumps and logs show the URL',
    },
  )

/** One reference or several, each `gateway` or `gateway/listener`. */
export const gatewayNames = oneFormOf(
  [nonEmptyText, z.array(nonEmptyText).min(1)],
  'expected the name of a gateway or a list of names',
)

/** A CEL expression, which is compiled at load, so that an invalid one is refused at start. */
export function expressionAt(location: ExpressionLocation) {
  return z
    .string()
    .min(1)
    .meta({ format: 'cel' })
    .transform((source, context) => {
      const compiled = tryCompile(source, location)
      return typeof compiled === 'string'
        ? refuseValue(context, `got an invalid expression: ${compiled}`)
        : compiled
    })
}
