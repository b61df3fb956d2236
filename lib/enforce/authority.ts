// Host and port of an authority, and what a rewrite makes of them.

import type { AuthorityRewrite } from '../base/config/types.ts'

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

export function authorityText({ host, port }: Authority): string {
  return port === '' ? host : `${host}:${port}`
}

export function rewriteAuthority(rewrite: AuthorityRewrite, authority: string): Authority {
  if (rewrite.kind === 'full') return parseAuthority(rewrite.value)
  const { host, port } = parseAuthority(authority)
  return rewrite.kind === 'host'
    ? { host: rewrite.host, port }
    : { host, port: String(rewrite.port) }
}
