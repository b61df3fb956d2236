// Whether a request's body can be read as JSON on its way.

import type { RequestHead } from '../../../base/wire/head.ts'
import { essenceOf, isJsonType } from '../media-type.ts'

export function isCompressed(head: RequestHead): boolean {
  const encoding = head.get('content-encoding')
  return encoding !== undefined && encoding.trim().toLowerCase() !== 'identity'
}

/** A body without a type counts as JSON, for that is what providers take it for. */
export function isJson(head: RequestHead): boolean {
  const type = head.get('content-type')
  if (type === undefined || type === 'application/json') return true
  return isJsonType(essenceOf(type))
}
