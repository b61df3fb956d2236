// What users write to answer, open, time and retry: the small policies of traffic.

import { z } from 'zod'
import { Secret } from '../../text/secret.ts'
import {
  duration,
  endpoint,
  exactlyOneOf,
  expressionAt,
  headerName,
  hostWithoutPort,
  nonEmptyText,
  oneFormOf,
  positiveDuration,
  unsupportedFields,
} from './value-shapes.ts'
import { changeableHeaderName, headerFieldsFor } from './header-shapes.ts'
import type { HeaderSide } from './header-shapes.ts'

export const DIRECT_RESPONSE = z
  .strictObject({
    status: z.int().min(200).max(599).describe('Status of the answer'),
    body: z.string().default('').describe('Its body; `text/plain` unless headers say otherwise'),
    headers: headerFieldsFor('response').default([]).describe('Its headers'),
    ...unsupportedFields('bodyExpression', 'conditional'),
  })
  .describe('A fixed answer instead of a backend')
  .refine(
    ({ status, body }) => body === '' || (status !== 204 && status !== 205 && status !== 304),
    {
      error: 'got a body for a status that cannot have one, expected none',
      path: ['body'],
    },
  )

const ORIGIN =
  /^(?:\*|null|[A-Za-z][A-Za-z0-9+.-]*:\/\/(?:[A-Za-z0-9_.*-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?)$/

/** Or a star. */
const methodToAllow = z.string().regex(/^(?:\*|[A-Z][A-Z-]*)$/, {
  error: ({ input }) => `got '${String(input)}', expected a method such as GET, or *`,
})

export const CORS = z
  .strictObject({
    allowCredentials: z.boolean().default(false).describe('Whether cookies may be sent along'),
    allowHeaders: z.array(headerName).default([]).describe('Request headers, or `*`'),
    allowMethods: z.array(methodToAllow).default([]).describe('Methods, or `*`'),
    allowOrigins: z
      .array(
        z.string().regex(ORIGIN, {
          error: ({ input }) =>
            `got '${String(input)}', expected an origin such as https://example.com or https://*.example.com, or *`,
        }),
      )
      .min(1)
      .describe('`https://a.com`, `https://*.a.com` or `*`'),
    exposeHeaders: z.array(headerName).default([]).describe('Response headers, or `*`'),
    maxAge: duration.optional().describe('How long a browser may keep the answer'),
  })
  .meta({ id: 'Cors', description: 'Which pages of other origins may call' })

export const BACKEND_TLS = z
  .strictObject({
    cert: nonEmptyText.optional().describe('PEM file of the client certificate'),
    key: nonEmptyText.optional().describe('PEM file of its key'),
    root: nonEmptyText.optional().describe("PEM file of authorities instead of the system's"),
    hostname: hostWithoutPort.optional().describe("Name to verify instead of the backend's"),
    insecure: z.boolean().default(false).describe('Verify nothing'),
    alpn: z
      .array(z.enum(['h2', 'http/1.1']))
      .min(1)
      .default(['h2', 'http/1.1'])
      .describe('Protocols to offer'),
    ...unsupportedFields('insecureHost', 'subjectAltNames', 'keyExchangeGroups'),
  })
  .meta({ id: 'BackendTls', description: 'TLS to the backend; `{}` verifies its name' })
  .refine(({ cert, key }) => (cert === undefined) === (key === undefined), {
    error: 'got only one of cert and key, expected both or neither',
  })

export const TIMEOUT = z
  .strictObject({
    requestTimeout: positiveDuration.optional().describe('The whole wait for an answer: 504'),
    backendRequestTimeout: positiveDuration.optional().describe('Each try: 504'),
  })
  .describe('How long an answer may take')

export const RETRY = z
  .strictObject({
    attempts: z.int().min(1).max(10).default(1).describe('Tries after the first'),
    backoff: duration.default(0).meta({ description: 'Wait between tries', preset: '0s' }),
    codes: z.array(z.int().min(400).max(599)).default([]).describe('Statuses that are tried again'),
    ...unsupportedFields('precondition', 'condition'),
  })
  .describe('Tries again before the first byte of an answer')

/** Names, in lower case, and CEL. */
function computed(side: HeaderSide) {
  return z
    .record(changeableHeaderName(side), expressionAt('transformation'))
    .transform((written) =>
      Object.entries(written).map(([name, value]) => ({ name: name.toLowerCase(), value })),
    )
}

function transformation(side: HeaderSide) {
  return z.strictObject({
    add: computed(side).default([]).describe('Headers to append: CEL'),
    set: computed(side).default([]).describe('Headers to replace: CEL'),
    remove: z
      .array(changeableHeaderName(side).toLowerCase())
      .default([])
      .describe('Headers to take out'),
    ...unsupportedFields('replace', 'body', 'metadata'),
  })
}

export const TRANSFORMATIONS = z
  .strictObject({
    request: transformation('request').optional(),
    response: transformation('response').optional(),
    ...unsupportedFields('conditional'),
  })
  .meta({ id: 'Transformations', description: 'Headers computed by CEL' })

export const CSRF = z
  .strictObject({
    additionalOrigins: z
      .array(z.string().regex(ORIGIN, 'expected an origin such as https://example.com'))
      .default([])
      .describe('Origins beside the own one'),
  })
  .describe('Refuses unsafe requests from other sites')

export const DELAY = z
  .strictObject({ duration: expressionAt('transformation').describe('CEL that yields a duration') })
  .describe('Holds requests back, for tests')

export const REQUEST_MIRROR = z
  .strictObject({
    backend: exactlyOneOf({ host: endpoint }, ['service', 'backend'])
      .transform(({ host }) => host!)
      .describe('`{host}`'),
    percentage: z.number().min(0).max(1).default(1).describe('Share of requests, 0 to 1'),
  })
  .describe('Sends a copy of requests elsewhere')

/** A line break would end the header, and the value is not to be shown. */
const ON_ONE_LINE = /^[ -~\u00a0-\u00ff]*$/
const NOT_ON_ONE_LINE = 'got control characters, expected one line'

/** A secret that goes into a header. */
export const secretHeaderValue = nonEmptyText
  .regex(ON_ONE_LINE, NOT_ON_ONE_LINE)
  .transform((value) => new Secret(value))

const keyLocation = exactlyOneOf({
  header: z.strictObject({
    name: headerName,
    prefix: z.string().regex(ON_ONE_LINE, NOT_ON_ONE_LINE).default(''),
  }),
  queryParameter: z.strictObject({ name: nonEmptyText }),
})

const OTHER_AUTH = ['gcp', 'aws', 'azure', 'copilot', 'jwtSign', 'oauthTokenExchange']

export const BACKEND_AUTH = exactlyOneOf(
  {
    passthrough: z.strictObject({}).describe("The client's own credential"),
    key: oneFormOf(
      [
        secretHeaderValue,
        z.strictObject({ value: secretHeaderValue, location: keyLocation.optional() }),
      ],
      'expected a key, or an object with value and location',
    ).describe('A key, or `{value, location}`'),
  },
  [...OTHER_AUTH, 'crossAppAccess'],
).describe('Credential the backend gets')
