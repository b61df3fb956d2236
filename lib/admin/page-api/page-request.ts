// A question to the page's server and its answer, apart from how they travel: the admin interface and a gateway's listener
// both carry them.

import type { EventWriter } from '../../text/sse-output.ts'
import type { ApiProblem } from './page-api-types.ts'
import type { Asset, PageAsset } from './page-assets.ts'

/** As far as the page's server wants to know. */
export interface UiRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** Of what the browser has already. */
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

/** The browser asks each time whether what it has is still the same. */
export function createAssetResponse(
  asset: Asset,
  { ifNoneMatch }: UiRequest,
  more: UiHeaders = SECURITY_HEADERS,
): UiResponse {
  const { type, tag, content } = asset
  const kept: UiHeaders = [['etag', tag], ['cache-control', 'no-cache'], ...more]
  if (matchesEntityTag(tag, ifNoneMatch))
    return { kind: 'whole', status: 304, fields: kept, content: '' }
  return { kind: 'whole', status: 200, fields: [['content-type', type], ...kept], content }
}

/** Scripts and styles are files of ours, and the one inline script is named by its hash. */
export function createPageResponse(page: PageAsset, ask: UiRequest): UiResponse {
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
