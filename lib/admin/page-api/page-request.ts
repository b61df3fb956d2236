// Requests and responses of the web UI, independent of the transport: the admin interface or a gateway's listener.

import type { EventWriter } from '../../text/sse-output.ts'
import type { ApiProblem } from './page-api-types.ts'
import type { Asset, ContentEncoding } from './page-assets.ts'

/** The parts of a request that the web UI uses. */
export interface UiRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** The entity tags that the browser has. */
  readonly ifNoneMatch: string | undefined
  /** Missing for requests of data, which is never compressed. */
  readonly acceptEncoding?: string | undefined
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

/** Sends the smallest encoding that the browser accepts. */
export function createAssetResponse(
  asset: Asset,
  request: UiRequest,
  more: UiHeaders = SECURITY_HEADERS,
): UiResponse {
  const { type, cacheControl, compressed } = asset
  const encoding = selectEncoding(asset, request.acceptEncoding ?? '')
  const etag = encoding === null ? asset.etag : asset.etag.replace(/"$/, `-${encoding}"`)
  const isVaried = Object.keys(compressed).length > 0
  const headers: UiHeaders = [
    ['etag', etag],
    ['cache-control', cacheControl],
    ...(isVaried ? [['vary', 'accept-encoding'] as const] : []),
    ...more,
  ]
  if (matchesEntityTag(etag, request.ifNoneMatch))
    return { kind: 'whole', status: 304, fields: headers, content: '' }
  const content = encoding === null ? asset.content : compressed[encoding]!
  const encodingHeaders: UiHeaders = encoding === null ? [] : [['content-encoding', encoding]]
  return {
    kind: 'whole',
    status: 200,
    fields: [['content-type', type], ...encodingHeaders, ...headers],
    content,
  }
}

/** RFC 9110 12.5.3, without `*`: a browser lists the codings that it knows. */
function selectEncoding({ compressed }: Asset, acceptEncoding: string): ContentEncoding | null {
  const accepted = acceptEncoding
    .toLowerCase()
    .split(',')
    .map((one) => one.split(';').map((part) => part.trim()))
    .filter(([, quality = '']) => !/^q=0(?:\.0*)?$/.test(quality))
    .map(([name]) => name)
  const usable = (['br', 'gzip'] as const).filter((one) => compressed[one] !== undefined)
  return usable.find((one) => accepted.includes(one)) ?? null
}

/** The page loads its own files only, and has no inline script. */
export function createPageResponse(page: Asset, request: UiRequest): UiResponse {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
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
function matchesEntityTag(etag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch
    .split(',')
    .map((one) => one.trim().replace(/^W\//, ''))
    .some((one) => one === '*' || one === etag)
}
