// The urlRewrite policy: changes the path and the Host that the backend receives. The redirect policy shares its helpers.

import type { AuthorityRewrite, PathRewrite, UrlRewriteConfig } from '../config/config-types.ts'
import { parseAuthority } from '../core/addresses.ts'
import type { Authority } from '../core/addresses.ts'
import type { Policy } from '../core/types.ts'

export function createUrlRewritePolicy({ authority, path }: UrlRewriteConfig): Policy {
  return {
    kind: 'urlRewrite',
    request(exchange) {
      const { request } = exchange
      if (path !== null)
        request.target = rewriteTarget(path, request.target, exchange.choice.matchedPrefix)
      exchange.enforcement.hostRewrite = rewriteHost(authority, request.receivedAuthority)
      return undefined
    },
  }
}

/** Returns the Host for the backend; the request keeps the client's value. */
function rewriteHost(rewrite: UrlRewriteConfig['authority'], authority: string): string | null {
  if (rewrite === null || rewrite === 'auto') return null
  if (rewrite === 'none') return authority
  return formatAuthority(rewriteAuthority(rewrite, authority))
}

/** Returns path and query after a path rewrite. `prefix` is the matched prefix without its trailing slash. */
export function rewriteTarget(rewrite: PathRewrite, target: string, prefix: string): string {
  const queryStart = target.indexOf('?')
  const end = queryStart < 0 ? target.length : queryStart
  const path =
    rewrite.kind === 'full' ? rewrite.value : rewrite.value + target.substring(prefix.length, end)
  return (path === '' ? '/' : path) + target.substring(end)
}

export function formatAuthority({ host, port }: Authority): string {
  return port === '' ? host : `${host}:${port}`
}

export function rewriteAuthority(rewrite: AuthorityRewrite, authority: string): Authority {
  if (rewrite.kind === 'full') return parseAuthority(rewrite.value)
  const { host, port } = parseAuthority(authority)
  return rewrite.kind === 'host'
    ? { host: rewrite.host, port }
    : { host, port: String(rewrite.port) }
}
