// cors: which pages of other origins may call. Refuses nobody: a browser without these headers does.

import type { CorsConfig } from '../base/config/types.ts'
import { replyOf } from '../base/reply.ts'
import type { Policy, Reply } from '../base/types.ts'
import type { RequestHead, ResponseHead } from '../base/wire/head.ts'
import { Origins } from './origins.ts'

export function cors(config: CorsConfig): Policy {
  const origins = new Origins(config.allowOrigins)
  return {
    kind: 'cors',
    request(exchange) {
      const { request } = exchange
      const origin = request.get('origin')
      if (origin === undefined) {
        exchange.trace?.skip('the request has no Origin')
        return undefined
      }
      if (origins.allows(origin)) exchange.allowedOrigin = origin
      exchange.trace?.note(exchange.allowedOrigin === '' ? 'origin not allowed' : 'origin allowed')
      if (request.method !== 'OPTIONS') return undefined
      if (exchange.allowedOrigin !== '') return preflight(config, request, origin)
      return request.has('access-control-request-method') ? replyOf(200, []) : undefined
    },
    response(exchange, head) {
      const { allowedOrigin } = exchange
      if (allowedOrigin !== '') permit(config, allowedOrigin, head)
      // An answer that names its reader, or may, must not be kept for another one.
      if (allowedOrigin !== '' || !origins.isAny) varyByOrigin(head)
    },
  }
}

function preflight(config: CorsConfig, request: RequestHead, origin: string): Reply {
  const fields: [string, string][] = []
  const { allowMethods, allowHeaders, allowCredentials, maxAge } = config
  const methods = request.get('access-control-request-method')
  const headers = request.get('access-control-request-headers')
  const says = (name: string, value: string) => {
    if (value !== '') fields.push([name, value])
  }
  says('access-control-allow-methods', allowed(allowMethods, methods, allowCredentials))
  says('access-control-allow-headers', allowed(allowHeaders, headers, allowCredentials))
  if (maxAge !== null) fields.push(['access-control-max-age', String(Math.floor(maxAge / 1000))])
  const reply = replyOf(200, fields)
  permit(config, origin, reply.head)
  return reply
}

/** A star grants what was asked for; with credentials a literal star would be read as a name. */
function allowed(
  list: readonly string[],
  asked: string | undefined,
  hasCredentials: boolean,
): string {
  if (!list.includes('*')) return list.join(',')
  return asked ?? (hasCredentials ? '' : '*')
}

function permit(config: CorsConfig, origin: string, head: ResponseHead): void {
  const { allowCredentials, exposeHeaders } = config
  head.set('access-control-allow-origin', origin)
  if (allowCredentials) head.set('access-control-allow-credentials', 'true')
  if (exposeHeaders.length === 0) return
  const exposed = exposeHeaders.includes('*') ? '*' : exposeHeaders.join(',')
  head.set('access-control-expose-headers', exposed)
}

function varyByOrigin(head: ResponseHead): void {
  for (const value of head.all('vary')) if (/(?:^|,)\s*(?:\*|origin)\s*(?:,|$)/i.test(value)) return
  head.add('vary', 'origin')
}
