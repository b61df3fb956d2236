// Where a target of the HTTP+SSE transport wants messages sent: somewhere on its own origin, or nowhere.

import type { Remote } from './remote.ts'

const MAX_LENGTH = 8_192

/** Path and query; null for an address that is none, or another origin's, which might be anybody's. */
export function endpointOf({ target, pool }: Remote, text: string): string | null {
  if (text.length > MAX_LENGTH) return null
  const scheme = target.tls === null ? 'http' : 'https'
  const own = new URL(`${scheme}://${pool.origin.label}${target.path}`)
  if (!URL.canParse(text, own.href)) return null
  const named = new URL(text, own)
  return named.origin === own.origin ? named.pathname + named.search : null
}
