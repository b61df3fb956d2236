// What users write under `policies` of a route.

import { z } from 'zod'
import type { AuthorityRewrite, HeaderField, PathRewrite } from '../types.ts'
import {
  authorityText,
  choice,
  duration,
  headerName,
  headerValue,
  hostText,
  isHeaderName,
  targetPath,
  portNumber,
  refuse,
  replacement,
  wait,
} from './scalars.ts'

/** They belong to one hop or to the framing of a body, which the gateway decides. */
const RESERVED = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

type Side = 'request' | 'response'

function wrongName(name: string, side: Side): string | undefined {
  if (!isHeaderName(name)) return `got '${name}', expected a valid header name`
  const lower = name.toLowerCase()
  if (side === 'request' && lower === 'host')
    return `cannot change '${name}' here, use urlRewrite.authority`
  return RESERVED.has(lower) ? `cannot change '${name}', the gateway sets it itself` : undefined
}

/** A header name that may be changed, as it was written. */
function changeable(side: Side) {
  return z.string().superRefine((name, context) => {
    const wrong = wrongName(name, side)
    if (wrong !== undefined) refuse(context, wrong)
  })
}

/** Names, in lower case, and values. */
function fields(side: Side) {
  return z
    .record(changeable(side), headerValue)
    .transform((written) =>
      Object.entries(written).map(([name, value]): HeaderField => [name.toLowerCase(), value]),
    )
}

function headerModifier(side: Side) {
  return (
    z
      .strictObject({
        add: fields(side).default([]),
        set: fields(side).default([]),
        remove: z.array(changeable(side).toLowerCase()).default([]),
      })
      // A transform: unlike a refinement it is not asked about fields that were refused.
      .transform((modifier, context) => {
        const { add, set, remove } = modifier
        const names = [...add, ...set].map(([name]) => name).concat(remove)
        const twice = names.find((name, at) => names.indexOf(name) !== at)
        if (twice === undefined) return modifier
        return refuse(context, `got '${twice}' twice, expected each header once`)
      })
  )
}

const authorityRewrite = choice({
  full: authorityText,
  host: hostText,
  port: portNumber,
}).transform(({ full, host, port }): AuthorityRewrite => {
  if (full !== undefined) return { kind: 'full', value: full }
  return host === undefined ? { kind: 'port', port: port ?? 0 } : { kind: 'host', host }
})

const pathRewrite = choice({ full: targetPath, prefix: replacement }).transform(
  ({ full, prefix = '' }): PathRewrite =>
    full === undefined
      ? { kind: 'prefix', value: prefix.replace(/\/+$/, '') }
      : { kind: 'full', value: full },
)

const urlRewrite = z.strictObject({
  authority: z
    .union([z.enum(['auto', 'none']), authorityRewrite], {
      error: "expected 'auto', 'none' or an object with one of 'full', 'host', 'port'",
    })
    .optional(),
  path: pathRewrite.optional(),
})

const redirectStatus = z.literal([301, 302, 303, 307, 308])

const requestRedirect = z
  .strictObject({
    scheme: z.enum(['http', 'https']).optional(),
    authority: authorityRewrite.optional(),
    path: pathRewrite.optional(),
    status: redirectStatus.default(302),
  })
  .refine(
    ({ scheme, authority, path }) => scheme ?? authority ?? path,
    'got nothing to change, expected scheme, authority or path: the client would come straight back',
  )

const directResponse = z
  .strictObject({
    status: z.int().min(200).max(599),
    body: z.string().default(''),
    headers: fields('response').default([]),
  })
  .refine(
    ({ status, body }) => body === '' || (status !== 204 && status !== 205 && status !== 304),
    {
      error: 'got a body for a status that cannot have one, expected none',
      path: ['body'],
    },
  )

const ORIGIN = /^(?:\*|null|[a-z][a-z0-9+.-]*:\/\/(?:[a-z0-9_.*-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?)$/i

/** Or a star. */
const methodToAllow = z.string().regex(/^(?:\*|[A-Z][A-Z-]*)$/, {
  error: ({ input }) => `got '${String(input)}', expected a method such as GET, or *`,
})

const cors = z.strictObject({
  allowCredentials: z.boolean().default(false),
  allowHeaders: z.array(headerName).default([]),
  allowMethods: z.array(methodToAllow).default([]),
  allowOrigins: z
    .array(
      z.string().regex(ORIGIN, {
        error: ({ input }) =>
          `got '${String(input)}', expected an origin such as https://example.com or https://*.example.com, or *`,
      }),
    )
    .min(1),
  exposeHeaders: z.array(headerName).default([]),
  maxAge: duration.optional(),
})

const backendTLS = z
  .strictObject({
    cert: z.string().min(1).optional(),
    key: z.string().min(1).optional(),
    root: z.string().min(1).optional(),
    hostname: hostText.optional(),
    insecure: z.boolean().default(false),
    alpn: z
      .array(z.enum(['h2', 'http/1.1']))
      .min(1)
      .default(['h2', 'http/1.1']),
  })
  .refine(({ cert, key }) => (cert === undefined) === (key === undefined), {
    error: 'got only one of cert and key, expected both or neither',
  })

export const POLICIES = z.strictObject({
  requestHeaderModifier: headerModifier('request').optional(),
  responseHeaderModifier: headerModifier('response').optional(),
  urlRewrite: urlRewrite.optional(),
  requestRedirect: requestRedirect.optional(),
  directResponse: directResponse.optional(),
  cors: cors.optional(),
  timeout: z
    .strictObject({ requestTimeout: wait.optional(), backendRequestTimeout: wait.optional() })
    .optional(),
  retry: z
    .strictObject({
      attempts: z.int().min(1).max(10).default(1),
      backoff: duration.default(0),
      codes: z.array(z.int().min(400).max(599)).default([]),
    })
    .optional(),
  backendTLS: backendTLS.optional(),
})

export type PoliciesShape = z.output<typeof POLICIES>
