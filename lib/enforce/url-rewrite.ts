// urlRewrite: what path and what Host the backend sees.

import type { UrlRewriteConfig } from '../base/config/types.ts'
import type { Policy } from '../base/types.ts'
import { authorityText, rewriteAuthority } from './authority.ts'
import { rewriteTarget } from './rewrite-target.ts'

export function urlRewrite({ authority, path }: UrlRewriteConfig): Policy {
  return {
    kind: 'urlRewrite',
    request(exchange) {
      const { request } = exchange
      if (path !== null)
        request.target = rewriteTarget(path, request.target, exchange.matchedPrefix)
      exchange.hostRewrite = hostFor(authority, request.authority)
      return undefined
    },
  }
}

/** The client's authority stays readable on the request: what is asked of us is not what we ask. */
function hostFor(rewrite: UrlRewriteConfig['authority'], authority: string): string | null {
  if (rewrite === null || rewrite === 'auto') return null
  if (rewrite === 'none') return authority
  return authorityText(rewriteAuthority(rewrite, authority))
}
