// Shapes of traffic policies: direct responses, CORS, backend TLS and credentials, timeouts, retries, transformations.

import { z } from 'zod'
import { Secret } from '../../text/secret.ts'
import type { BackendHttpVersion } from '../config-types.ts'
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
    status: z.int().min(200).max(599).describe('Status of the response.'),
    body: z
      .string()
      .default('')
      .describe('Body of the response; its type is `text/plain` unless `headers` set another.'),
    headers: headerFieldsFor('response').default([]).describe('Headers of the response.'),
    ...unsupportedFields('bodyExpression', 'conditional'),
  })
  .describe('Sends a fixed response without calling a backend.')
  .refine(
    ({ status, body }) => body === '' || (status !== 204 && status !== 205 && status !== 304),
    {
      error: 'got a body for a status that cannot have one, expected none',
      path: ['body'],
    },
  )

const ORIGIN =
  /^(?:\*|null|[A-Za-z][A-Za-z0-9+.-]*:\/\/(?:[A-Za-z0-9_.*-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?)$/

const methodToAllow = z.string().regex(/^(?:\*|[A-Z][A-Z-]*)$/, {
  error: ({ input }) => `got '${String(input)}', expected a method such as GET, or *`,
})

export const CORS = z
  .strictObject({
    allowCredentials: z
      .boolean()
      .default(false)
      .describe('Whether browsers may send cookies and other credentials.'),
    allowHeaders: z
      .array(headerName)
      .default([])
      .describe('Request headers that are allowed, or `*`.'),
    allowMethods: z
      .array(methodToAllow)
      .default([])
      .describe(
        'Methods that are allowed, or `*`; for MCP the default is `GET`, `POST`, `DELETE`.',
      ),
    allowOrigins: z
      .array(
        z.string().regex(ORIGIN, {
          error: ({ input }) =>
            `got '${String(input)}', expected an origin such as https://example.com or https://*.example.com, or *`,
        }),
      )
      .min(1)
      .describe('Origins that are allowed: `https://a.com`, `https://*.a.com` or `*`.'),
    exposeHeaders: z
      .array(headerName)
      .default([])
      .describe('Response headers that pages may read, or `*`.'),
    maxAge: duration.optional().describe('Time that browsers may cache the preflight response.'),
  })
  .meta({
    id: 'Cors',
    description: 'Cross-origin resource sharing: origins whose pages may send requests.',
  })

export const BACKEND_TLS = z
  .strictObject({
    cert: nonEmptyText.optional().describe('PEM file with the client certificate.'),
    key: nonEmptyText.optional().describe('PEM file with the key of the client certificate.'),
    root: nonEmptyText
      .optional()
      .describe('PEM file with certificate authorities that replace those of the system.'),
    hostname: hostWithoutPort
      .optional()
      .describe('Name to verify instead of the host of the backend.'),
    insecure: z.boolean().default(false).describe('Whether certificate verification is skipped.'),
    alpn: z
      .array(z.enum(['h2', 'http/1.1']))
      .min(1)
      .default(['h2', 'http/1.1'])
      .describe('ALPN protocols to offer.'),
    ...unsupportedFields('insecureHost', 'subjectAltNames', 'keyExchangeGroups'),
  })
  .meta({
    id: 'BackendTls',
    description: 'TLS for connections to the backend; `{}` verifies its host name.',
  })
  .refine(({ cert, key }) => (cert === undefined) === (key === undefined), {
    error: 'got only one of cert and key, expected both or neither',
  })

/** The reference writes versions as `HTTP/1.1` and `HTTP/2.0`; without quotes, YAML reads numbers. */
const backendHttpVersion = z
  .literal(['1.1', '2', 1.1, 2, 'HTTP/1.1', 'HTTP/2', 'HTTP/2.0'])
  .transform((version): BackendHttpVersion => (String(version).includes('2') ? '2' : '1.1'))

export const BACKEND_HTTP = z
  .strictObject({
    version: backendHttpVersion
      .optional()
      .describe('HTTP version, `1.1` or `2`; by default gRPC uses 2, and TLS negotiates it.'),
    requestTimeout: positiveDuration
      .optional()
      .describe('Time until the head of the response; the default is that of the route.'),
  })
  .describe('HTTP to the backend; only for `host`.')

export const TIMEOUT = z
  .strictObject({
    requestTimeout: positiveDuration
      .optional()
      .describe('Time until the head of the response, including retries; a timeout gives 504.'),
    backendRequestTimeout: positiveDuration
      .optional()
      .describe('Time until the head of the response for each attempt; a timeout gives 504.'),
  })
  .describe('Timeouts of requests.')

export const RETRY = z
  .strictObject({
    attempts: z
      .int()
      .min(1)
      .max(10)
      .default(1)
      .describe('Number of retries after the first attempt.'),
    backoff: duration.default(0).meta({ description: 'Wait between two attempts.', preset: '0s' }),
    codes: z
      .array(z.int().min(400).max(599))
      .default([])
      .describe('Response statuses that are retried.'),
    ...unsupportedFields('precondition', 'condition'),
  })
  .describe('Retries failed requests, as long as no byte of a response was sent.')

const DEFAULT_BUFFER_BYTES = 2_097_152
const MAX_BUFFER_BYTES = 0x0800_0000

export const BUFFER = z
  .strictObject({
    request: z
      .strictObject({
        maxBytes: z
          .int()
          .min(1)
          .max(MAX_BUFFER_BYTES)
          .default(DEFAULT_BUFFER_BYTES)
          .describe('Maximum bytes of a request body; a larger one gets 413.'),
        ...unsupportedFields('failureMode'),
      })
      .describe('Request bodies.'),
    ...unsupportedFields('response'),
  })
  .describe('Reads request bodies completely before a `host` backend is called.')

/** Computed headers with names in lower case. */
function computedHeaders(side: HeaderSide) {
  return z
    .record(changeableHeaderName(side), expressionAt('transformation'))
    .transform((fields) =>
      Object.entries(fields).map(([name, value]) => ({ name: name.toLowerCase(), value })),
    )
}

function transformation(side: HeaderSide) {
  return z.strictObject({
    add: computedHeaders(side).default([]).describe('Headers to add, as CEL expressions by name.'),
    set: computedHeaders(side)
      .default([])
      .describe('Headers to set, as CEL expressions by name; existing values are replaced.'),
    remove: z
      .array(changeableHeaderName(side).toLowerCase())
      .default([])
      .describe('Names of headers to remove.'),
    ...unsupportedFields('replace', 'body', 'metadata'),
  })
}

export const TRANSFORMATIONS = z
  .strictObject({
    request: transformation('request').optional(),
    response: transformation('response').optional(),
    ...unsupportedFields('conditional'),
  })
  .meta({ id: 'Transformations', description: 'Changes headers with values of CEL expressions.' })

export const CSRF = z
  .strictObject({
    additionalOrigins: z
      .array(z.string().regex(ORIGIN, 'expected an origin such as https://example.com'))
      .default([])
      .describe('Origins that are allowed in addition to the origin of the request host.'),
  })
  .describe('Refuses unsafe requests from other sites.')

export const DELAY = z
  .strictObject({
    duration: expressionAt('transformation').describe(
      'CEL expression for the duration of the delay.',
    ),
  })
  .describe('Delays requests, for tests.')

export const REQUEST_MIRROR = z
  .strictObject({
    backend: exactlyOneOf({ host: endpoint }, ['service', 'backend'])
      .transform(({ host }) => host!)
      .describe('Backend that gets the copies, as `{host}`.'),
    percentage: z
      .number()
      .min(0)
      .max(1)
      .default(1)
      .describe('Share of requests that are copied, from 0 to 1.'),
  })
  .describe('Sends copies of requests to another backend.')

/** A line break would end the header; the value is not printed because it is a secret. */
const ON_ONE_LINE = /^[ -~\u00a0-\u00ff]*$/
const NOT_ON_ONE_LINE = 'got control characters, expected one line'

/** A secret that is sent in a header. */
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

const UNSUPPORTED_AUTH = ['gcp', 'aws', 'azure', 'copilot', 'jwtSign', 'oauthTokenExchange']

export const BACKEND_AUTH = exactlyOneOf(
  {
    passthrough: z.strictObject({}).describe('Forwards the credential of the client.'),
    key: oneFormOf(
      [
        secretHeaderValue,
        z.strictObject({ value: secretHeaderValue, location: keyLocation.optional() }),
      ],
      'expected a key, or an object with value and location',
    ).describe('Key that is sent as bearer token, or `{value, location}`.'),
  },
  [...UNSUPPORTED_AUTH, 'crossAppAccess'],
).describe('Credential that is sent to the backend.')
