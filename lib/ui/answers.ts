// Answers of the page's server: files, data, and why there is none.

import type { Problem } from './api.ts'
import type { Answer, Ask, Fields } from './ask.ts'
import type { Asset, PageAsset } from './assets.ts'

/** On everything: no guess at what it is, and no other site that shows it. */
const GUARDS: Fields = [
  ['x-content-type-options', 'nosniff'],
  ['cross-origin-resource-policy', 'same-origin'],
]

export function jsonAnswer(status: number, value: unknown, more: Fields = []): Answer {
  const fields: Fields = [
    ['content-type', 'application/json'],
    ['cache-control', 'no-store'],
    ...GUARDS,
    ...more,
  ]
  return { kind: 'whole', status, fields, content: JSON.stringify(value) }
}

export function problem(status: number, error: string, more: Fields = []): Answer {
  return jsonAnswer(status, { error } satisfies Problem, more)
}

/** The browser asks each time whether what it has is still the same. */
export function assetAnswer(asset: Asset, { ifNoneMatch }: Ask, more: Fields = GUARDS): Answer {
  const { type, tag, content } = asset
  const kept: Fields = [['etag', tag], ['cache-control', 'no-cache'], ...more]
  if (isKnown(tag, ifNoneMatch)) return { kind: 'whole', status: 304, fields: kept, content: '' }
  return { kind: 'whole', status: 200, fields: [['content-type', type], ...kept], content }
}

/** Scripts and styles are files of ours, and the one inline script is named by its hash. */
export function pageAnswer(page: PageAsset, ask: Ask): Answer {
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
  return assetAnswer(page, ask, [
    ...GUARDS,
    ['content-security-policy', policy.join('; ')],
    ['referrer-policy', 'no-referrer'],
    ['cross-origin-opener-policy', 'same-origin'],
  ])
}

/** Behind an address that has a code in it: nobody keeps that. */
export function unkept(answer: Answer): Answer {
  if (answer.kind !== 'whole') return answer
  const fields = answer.fields.filter(([name]) => name !== 'etag' && name !== 'cache-control')
  return { ...answer, fields: [...fields, ['cache-control', 'no-store']] }
}

/** RFC 9110 13.1.2: any of the list, strong or weak. */
function isKnown(tag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch
    .split(',')
    .map((one) => one.trim().replace(/^W\//, ''))
    .some((one) => one === '*' || one === tag)
}
