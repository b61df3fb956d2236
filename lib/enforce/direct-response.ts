// directResponse: a fixed answer; the request's body is not looked at.

import type { DirectResponseConfig, RedirectConfig } from '../config/config-types.ts'
import type { Exchange } from '../core/exchange.ts'
import { buildReply } from '../core/replies.ts'
import type { Policy } from '../core/types.ts'
import { formatAuthority, parseAuthority, rewriteAuthority, rewriteTarget } from './url-rewrite.ts'

export function createDirectResponsePolicy({
  status,
  body,
  headers,
}: DirectResponseConfig): Policy {
  const bytes = Buffer.from(body)
  // Without a type a browser guesses, and may guess a script.
  const isTyped = bytes.length === 0 || headers.some(([name]) => name === 'content-type')
  const fields = isTyped ? headers : [['content-type', 'text/plain'] as const, ...headers]
  return {
    kind: 'directResponse',
    request() {
      const reply = buildReply(status, [], bytes)
      for (const [name, value] of fields) reply.head.set(name, value)
      return reply
    },
  }
}

// requestRedirect: sends the client elsewhere; the request's body is not looked at.

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
  return `${next}://${formatAuthority({ host: asked.host, port })}${target}`
}
