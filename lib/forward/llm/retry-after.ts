// How long a provider wants to be left alone.

import type { ResponseHead } from '../../base/wire/head.ts'

/** Milliseconds, by any of the ways providers say it; 0 when it says nothing. */
export function retryAfterOf(head: ResponseHead, now = Date.now()): number {
  const ms = Number(head.get('retry-after-ms') ?? NaN)
  if (ms >= 0) return ms
  const text = head.get('retry-after')
  if (text === undefined) return 0
  const seconds = Number(text)
  if (seconds >= 0) return seconds * 1000
  return Math.max(0, Date.parse(text) - now) || 0
}
