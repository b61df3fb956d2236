// The directResponse and requestRedirect policies: both send a response without reading the request body.

import type { DirectResponseConfig, RedirectConfig } from '../config/config-types.ts'
import { parseAuthority } from '../core/addresses.ts'
import type { Exchange } from '../core/exchange.ts'
import { buildReply } from '../core/replies.ts'
import type { Policy } from '../core/types.ts'
import { formatAuthority, rewriteAuthority, rewriteTarget } from './url-rewrite.ts'

export function createDirectResponsePolicy({
  status,
  body,
  headers,
}: DirectResponseConfig): Policy {
  const bytes = Buffer.from(body)
  // Without a content type a browser guesses one, and may execute the body as a script.
  const hasType = bytes.length === 0 || headers.some(([name]) => name === 'content-type')
  const fields = hasType ? headers : [['content-type', 'text/plain'] as const, ...headers]
  return {
    kind: 'directResponse',
    request() {
      const reply = buildReply(status, [], bytes)
      for (const [name, value] of fields) reply.head.set(name, value)
      return reply
    },
  }
}

const DEFAULT_PORTS = { http: '80', https: '443' }

export function createRedirectPolicy(config: RedirectConfig): Policy {
  return {
    kind: 'requestRedirect',
    request: (exchange) =>
      buildReply(config.status, [['location', buildLocation(config, exchange)]]),
  }
}

function buildLocation({ scheme, authority, path }: RedirectConfig, exchange: Exchange): string {
  const {
    request,
    source,
    choice: { matchedPrefix },
  } = exchange
  const target = path === null ? request.target : rewriteTarget(path, request.target, matchedPrefix)
  const requestScheme = source.secure ? 'https' : 'http'
  const newScheme = scheme ?? requestScheme
  const newAuthority =
    authority === null
      ? parseAuthority(request.receivedAuthority)
      : rewriteAuthority(authority, request.receivedAuthority)
  const { host } = newAuthority
  // Two slashes at the start of a relative location would name another host.
  if (host === '') return target.replace(/^\/+/, '/')
  // The client's port belongs to the scheme of its request; a configured port is used with any scheme.
  const keepsPort =
    newScheme === requestScheme || authority?.kind === 'full' || authority?.kind === 'port'
  const port = keepsPort && newAuthority.port !== DEFAULT_PORTS[newScheme] ? newAuthority.port : ''
  return `${newScheme}://${formatAuthority({ host, port })}${target}`
}
