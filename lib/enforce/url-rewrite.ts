// urlRewrite: what path and what Host the backend sees.

import type { AuthorityRewrite, PathRewrite, UrlRewriteConfig } from '../config/config-types.ts'
import type { Policy } from '../core/types.ts'

export function createUrlRewritePolicy({ authority, path }: UrlRewriteConfig): Policy {
  return {
    kind: 'urlRewrite',
    request(exchange) {
      const { request } = exchange
      if (path !== null)
        request.target = rewriteTarget(path, request.target, exchange.choice.matchedPrefix)
      exchange.enforcement.hostRewrite = rewriteHost(authority, request.authority)
      return undefined
    },
  }
}

/** The client's authority stays readable on the request: what is asked of us is not what we ask. */
function rewriteHost(rewrite: UrlRewriteConfig['authority'], authority: string): string | null {
  if (rewrite === null || rewrite === 'auto') return null
  if (rewrite === 'none') return authority
  return formatAuthority(rewriteAuthority(rewrite, authority))
}

// Path and query after a rewrite of the path.

/** `prefix` is what matched, without a slash at its end; the query stays as it was. */
export function rewriteTarget(rewrite: PathRewrite, target: string, prefix: string): string {
  const mark = target.indexOf('?')
  const end = mark < 0 ? target.length : mark
  const path =
    rewrite.kind === 'full' ? rewrite.value : rewrite.value + target.substring(prefix.length, end)
  return (path === '' ? '/' : path) + target.substring(end)
}

// Host and port of an authority, and what a rewrite makes of them.

/** `port` is '' when there is none; `host` keeps its case and the brackets of IPv6. */
export interface Authority {
  readonly host: string
  readonly port: string
}

export function parseAuthority(text: string): Authority {
  const colon = text.lastIndexOf(':')
  if (colon <= text.lastIndexOf(']')) return { host: text, port: '' }
  return { host: text.substring(0, colon), port: text.substring(colon + 1) }
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
