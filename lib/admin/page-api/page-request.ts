// Requests and responses of the web UI, independent of the transport: the admin interface or a gateway's listener.

import type { EventWriter } from '../../text/sse-output.ts'
import type { ApiProblem } from './page-api-types.ts'
import type { Asset, PageAsset } from './page-assets.ts'

/** The parts of a request that the web UI uses. */
export interface UiRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** The entity tags that the browser has. */
  readonly ifNoneMatch: string | undefined
}

export type UiHeaders = readonly (readonly [name: string, value: string])[]

export type UiResponse =
  | {
      readonly kind: 'whole'
      readonly status: number
      readonly fields: UiHeaders
      readonly content: Buffer | string
    }
  | {
      readonly kind: 'events'
      /**
       * Called at most once, when the response head is sent; never if the client has left. The function that it returns is
       * called once, when the client has left.
       */
      readonly open: (out: EventWriter) => () => void
    }

/** On every response: no content sniffing, no use by other sites. */
const SECURITY_HEADERS: UiHeaders = [
  ['x-content-type-options', 'nosniff'],
  ['cross-origin-resource-policy', 'same-origin'],
]

export function createJsonResponse(
  status: number,
  value: unknown,
  more: UiHeaders = [],
): UiResponse {
  const fields: UiHeaders = [
    ['content-type', 'application/json'],
    ['cache-control', 'no-store'],
    ...SECURITY_HEADERS,
    ...more,
  ]
  return { kind: 'whole', status, fields, content: JSON.stringify(value) }
}

export function createErrorResponse(
  status: number,
  error: string,
  more: UiHeaders = [],
): UiResponse {
  return createJsonResponse(status, { error } satisfies ApiProblem, more)
}

/** The browser revalidates its copy each time. */
export function createAssetResponse(
  asset: Asset,
  { ifNoneMatch }: UiRequest,
  more: UiHeaders = SECURITY_HEADERS,
): UiResponse {
  const { type, tag, content } = asset
  const headers: UiHeaders = [['etag', tag], ['cache-control', 'no-cache'], ...more]
  if (matchesEntityTag(tag, ifNoneMatch))
    return { kind: 'whole', status: 304, fields: headers, content: '' }
  return { kind: 'whole', status: 200, fields: [['content-type', type], ...headers], content }
}

/** Only our own scripts and styles are allowed; the one inline script is allowed by its hash. */
export function createPageResponse(page: PageAsset, request: UiRequest): UiResponse {
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${page.inlineHash}`,
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ]
  return createAssetResponse(page, request, [
    ...SECURITY_HEADERS,
    ['content-security-policy', policy.join('; ')],
    ['referrer-policy', 'no-referrer'],
    ['cross-origin-opener-policy', 'same-origin'],
  ])
}

/** For a URL that contains an authorization code: the response must not be cached. */
export function preventCaching(answer: UiResponse): UiResponse {
  if (answer.kind !== 'whole') return answer
  const fields = answer.fields.filter(([name]) => name !== 'etag' && name !== 'cache-control')
  return { ...answer, fields: [...fields, ['cache-control', 'no-store']] }
}

/** RFC 9110 13.1.2: any tag of the list, strong or weak. */
function matchesEntityTag(tag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch
    .split(',')
    .map((one) => one.trim().replace(/^W\//, ''))
    .some((one) => one === '*' || one === tag)
}
