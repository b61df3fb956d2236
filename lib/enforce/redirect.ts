// requestRedirect: sends the client elsewhere; the request's body is not looked at.

import type { RedirectConfig } from '../base/config/types.ts'
import type { Exchange } from '../base/exchange.ts'
import { replyOf } from '../base/reply.ts'
import type { Policy } from '../base/types.ts'
import { authorityText, parseAuthority, rewriteAuthority } from './authority.ts'
import { rewriteTarget } from './rewrite-target.ts'

const DEFAULT_PORTS = { http: '80', https: '443' }

export function requestRedirect(config: RedirectConfig): Policy {
  return {
    kind: 'requestRedirect',
    request: (exchange) => replyOf(config.status, [['location', locationFor(config, exchange)]]),
  }
}

function locationFor({ scheme, authority, path }: RedirectConfig, exchange: Exchange): string {
  const { request, source, matchedPrefix } = exchange
  const target = path === null ? request.target : rewriteTarget(path, request.target, matchedPrefix)
  const own = source.secure ? 'https' : 'http'
  const next = scheme ?? own
  const asked =
    authority === null
      ? parseAuthority(request.authority)
      : rewriteAuthority(authority, request.authority)
  // Two slashes at the start of a relative location would name another host.
  if (asked.host === '') return target.replace(/^\/+/, '/')
  // The client's port belongs to the scheme it used; the config's port is meant as it is written.
  const keepsPort = next === own || authority?.kind === 'full' || authority?.kind === 'port'
  const port = keepsPort && asked.port !== DEFAULT_PORTS[next] ? asked.port : ''
  return `${next}://${authorityText({ host: asked.host, port })}${target}`
}
