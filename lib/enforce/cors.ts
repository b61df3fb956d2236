// The cors policy: adds CORS headers for allowed origins. It rejects no request itself; browsers reject responses
// without these headers.

import type { CorsConfig } from '../config/config-types.ts'
import type { RequestHead, ResponseHead } from '../core/head.ts'
import { buildReply } from '../core/replies.ts'
import type { Policy, Reply } from '../core/types.ts'

export function createCorsPolicy(config: CorsConfig): Policy {
  const origins = new AllowedOrigins(config.allowOrigins)
  return {
    kind: 'cors',
    request(exchange) {
      const { request } = exchange
      const origin = request.get('origin')
      if (origin === undefined) {
        exchange.trace?.skipPolicy('the request has no Origin')
        return undefined
      }
      if (origins.allows(origin)) exchange.enforcement.allowedOrigin = origin
      exchange.trace?.notePolicy(
        exchange.enforcement.allowedOrigin === '' ? 'origin not allowed' : 'origin allowed',
      )
      if (request.method !== 'OPTIONS') return undefined
      if (exchange.enforcement.allowedOrigin !== '') return answerPreflight(config, request, origin)
      return request.has('access-control-request-method') ? buildReply(200, []) : undefined
    },
    response(exchange, head) {
      const {
        enforcement: { allowedOrigin },
      } = exchange
      if (allowedOrigin !== '') addCorsHeaders(config, allowedOrigin, head)
      // A response that depends on the origin must not be served from a cache to another origin.
      if (allowedOrigin !== '' || !origins.allowsAny) varyByOrigin(head)
    },
  }
}

function answerPreflight(config: CorsConfig, request: RequestHead, origin: string): Reply {
  const fields: [string, string][] = []
  const { allowMethods, allowHeaders, allowCredentials, maxAge } = config
  const methods = request.get('access-control-request-method')
  const headers = request.get('access-control-request-headers')
  const addUnlessEmpty = (name: string, value: string) => {
    if (value !== '') fields.push([name, value])
  }
  addUnlessEmpty(
    'access-control-allow-methods',
    formatAllowedList(allowMethods, methods, allowCredentials),
  )
  addUnlessEmpty(
    'access-control-allow-headers',
    formatAllowedList(allowHeaders, headers, allowCredentials),
  )
  if (maxAge !== null) fields.push(['access-control-max-age', String(Math.floor(maxAge / 1000))])
  const reply = buildReply(200, fields)
  addCorsHeaders(config, origin, reply.head)
  return reply
}

/** A star allows the requested names; with credentials, browsers read a literal star as a name. */
function formatAllowedList(
  list: readonly string[],
  requested: string | undefined,
  hasCredentials: boolean,
): string {
  if (!list.includes('*')) return list.join(',')
  return requested ?? (hasCredentials ? '' : '*')
}

function addCorsHeaders(config: CorsConfig, origin: string, head: ResponseHead): void {
  const { allowCredentials, exposeHeaders } = config
  head.set('access-control-allow-origin', origin)
  if (allowCredentials) head.set('access-control-allow-credentials', 'true')
  if (exposeHeaders.length === 0) return
  const exposed = exposeHeaders.includes('*') ? '*' : exposeHeaders.join(',')
  head.set('access-control-expose-headers', exposed)
}

function varyByOrigin(head: ResponseHead): void {
  for (const value of head.getAll('vary'))
    if (/(?:^|,)\s*(?:\*|origin)\s*(?:,|$)/i.test(value)) return
  head.add('vary', 'origin')
}

const DEFAULT_PORTS: Record<string, string> = { http: ':80', https: ':443', ws: ':80', wss: ':443' }

/** A list of allowed origins: exact ones, ones with a star in the host, or `*` for all. */
export class AllowedOrigins {
  /** All origins are allowed, so responses do not depend on the origin. */
  readonly allowsAny: boolean
  readonly #exact = new Set<string>()
  readonly #patterns: RegExp[] = []

  constructor(origins: readonly string[]) {
    this.allowsAny = origins.includes('*')
    for (const origin of origins.map(normalizeOrigin))
      if (origin.includes('*')) this.#patterns.push(compileOriginPattern(origin))
      else this.#exact.add(origin)
  }

  allows(origin: string): boolean {
    if (this.allowsAny || this.#exact.has(origin)) return true
    const text = normalizeOrigin(origin)
    return this.#exact.has(text) || this.#patterns.some((pattern) => pattern.test(text))
  }
}

/** Returns the origin in lower case, without the default port of its scheme. */
function normalizeOrigin(origin: string): string {
  const text = origin.toLowerCase()
  const port = DEFAULT_PORTS[text.substring(0, text.indexOf(':'))]
  return port !== undefined && text.endsWith(port) ? text.slice(0, -port.length) : text
}

/** A star matches characters of a host name, never of a scheme, a port or user information. */
function compileOriginPattern(origin: string): RegExp {
  const parts = origin.split('*').map((part) => part.replace(/[.[\]+]/g, '\\$&'))
  return new RegExp(`^${parts.join('[a-z0-9._-]+')}$`)
}
