// Against DNS rebinding: a web page that had its own name point to this machine says that name in Host and Origin.

import type { Exchange } from '../../../base/exchange.ts'
import { hostOf, isLoopback } from '../../../base/places/loopback.ts'

/**
 * `strict`: only loopback names are served, to pages from loopback or let in by `cors`.
 * `pages`: a page that comes over loopback must be one of those; whoever says no Origin is no page.
 */
export type Protection = 'off' | 'pages' | 'strict'

/** What is wrong, or null. */
export function rebindingFault(exchange: Exchange, protection: Protection): string | null {
  if (protection === 'off') return null
  const { request, source, allowedOrigin } = exchange
  if (protection === 'strict' && !isLoopback(hostOf(request.authority)))
    return `Host '${request.authority}' is no loopback name: see dnsRebindingProtection`
  const isKnown = (origin: string): boolean => origin === allowedOrigin || isLoopbackOrigin(origin)
  const origin = request.all('origin').find((one) => one === '' || !isKnown(one))
  if (origin === undefined || (protection === 'pages' && !isLoopback(source.address))) return null
  return `Origin '${origin}' is not let in: name it in cors, or see dnsRebindingProtection`
}

function isLoopbackOrigin(origin: string): boolean {
  const [, authority] = /^https?:\/\/([^/]+)$/i.exec(origin) ?? []
  return authority !== undefined && isLoopback(hostOf(authority))
}
