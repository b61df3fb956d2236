// A question to the page's server and its answer, apart from how they travel: the admin interface and a gateway's listener
// both carry them.

import type { EventWriter } from '../../text/sse-output.ts'
import type { ApiProblem } from './page-api-types.ts'
import type { Asset, Coding } from './page-assets.ts'

/** As far as the page's server wants to know. */
export interface UiRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** Of what the browser has already. */
  readonly ifNoneMatch: string | undefined
  /** Absent where only data is asked for, which is never compressed. */
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
       * Called once, when the head is out, or never, when nobody is left to have it; what it returns is called once, when
       * nobody listens any more.
       */
      readonly open: (out: EventWriter) => () => void
    }

// Answers of the page's server: files, data, and why there is none.

/** On everything: no guess at what it is, and no other site that shows it. */
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

/** In the smallest form that the browser accepts. */
export function createAssetResponse(
  asset: Asset,
  ask: UiRequest,
  more: UiHeaders = SECURITY_HEADERS,
): UiResponse {
  const { type, cacheControl, compressed } = asset
  const coding = codingOf(asset, ask.acceptEncoding ?? '')
  const tag = coding === null ? asset.tag : asset.tag.replace(/"$/, `-${coding}"`)
  const isVaried = Object.keys(compressed).length > 0
  const kept: UiHeaders = [
    ['etag', tag],
    ['cache-control', cacheControl],
    ...(isVaried ? [['vary', 'accept-encoding'] as const] : []),
    ...more,
  ]
  if (matchesEntityTag(tag, ask.ifNoneMatch))
    return { kind: 'whole', status: 304, fields: kept, content: '' }
  const content = coding === null ? asset.content : compressed[coding]!
  const encoded: UiHeaders = coding === null ? [] : [['content-encoding', coding]]
  return {
    kind: 'whole',
    status: 200,
    fields: [['content-type', type], ...encoded, ...kept],
    content,
  }
}

/** RFC 9110 12.5.3, without `*`: a browser names the codings that it knows. */
function codingOf({ compressed }: Asset, acceptEncoding: string): Coding | null {
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
export function createPageResponse(page: Asset, ask: UiRequest): UiResponse {
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
  return createAssetResponse(page, ask, [
    ...SECURITY_HEADERS,
    ['content-security-policy', policy.join('; ')],
    ['referrer-policy', 'no-referrer'],
    ['cross-origin-opener-policy', 'same-origin'],
  ])
}

/** Behind an address that has a code in it: nobody keeps that. */
export function preventCaching(answer: UiResponse): UiResponse {
  if (answer.kind !== 'whole') return answer
  const fields = answer.fields.filter(([name]) => name !== 'etag' && name !== 'cache-control')
  return { ...answer, fields: [...fields, ['cache-control', 'no-store']] }
}

/** RFC 9110 13.1.2: any of the list, strong or weak. */
function matchesEntityTag(tag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch
    .split(',')
    .map((one) => one.trim().replace(/^W\//, ''))
    .some((one) => one === '*' || one === tag)
}
