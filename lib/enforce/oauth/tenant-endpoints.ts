// Authorize and token requests on their way to a provider that does not take them as MCP clients send them: `resource`
// is left out, and the operator's own secret added where the app registration needs it (spec.md §4.3).

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import type { Exchange } from '../../base/exchange.ts'
import { readWhole } from '../../base/read-whole.ts'
import { replyOf } from '../../base/reply.ts'
import type { Reply } from '../../base/types.ts'
import type { Fetch, Fetched } from '../fetch-text.ts'
import { onlyValue, partsOf, textOf, without } from './form.ts'
import type { Part } from './form.ts'
import { downReply, errorReply, methodReply, openReply } from './replies.ts'

/** A form of an authorization code, a verifier and little else. */
const MAX_FORM_BYTES = 65_536

const SECRET_GRANTS = ['authorization_code', 'refresh_token']

/** To the provider's own page, and nowhere else: only the query is the client's. */
export function authorize({ request }: Exchange, to: string): Reply {
  if (request.method !== 'GET' && request.method !== 'HEAD') return methodReply('GET')
  const query = textOf(without(partsOf(request.query), 'resource'))
  return replyOf(302, [
    ['location', query === '' ? to : `${to}?${query}`],
    ['cache-control', 'no-store'],
  ])
}

export async function token(
  exchange: Exchange,
  to: string,
  config: McpAuthenticationConfig,
  fetch: Fetch,
): Promise<Reply> {
  const { request } = exchange
  if (request.method !== 'POST') return methodReply('POST')
  const [type = ''] = (request.get('content-type') ?? '').toLowerCase().split(';')
  if (type.trim() !== 'application/x-www-form-urlencoded')
    return errorReply(400, 'invalid_request', 'expected application/x-www-form-urlencoded')
  const bytes = await readWhole(exchange.body, MAX_FORM_BYTES)
  if (bytes === null)
    return errorReply(413, 'invalid_request', `the form has more than ${MAX_FORM_BYTES} bytes`)
  const parts = without(partsOf(bytes.toString('latin1')), 'resource')
  const authorization = request.get('authorization')
  const secret = authorization === undefined ? secretFor(parts, config) : null
  const body =
    textOf(parts) + (secret === null ? '' : `&client_secret=${encodeURIComponent(secret)}`)
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
    ...(authorization === undefined ? {} : { authorization }),
  }
  try {
    return passedOn(await fetch(to, { method: 'POST', headers, body: Buffer.from(body, 'latin1') }))
  } catch {
    return downReply(`${new URL(to).host} does not answer`)
  }
}

/** Only for the configured client, only for these grants, and only where no parameter could mean two things. */
function secretFor(parts: readonly Part[], config: McpAuthenticationConfig): string | null {
  const { clientId, clientSecret } = config
  if (clientSecret === null || clientId === null) return null
  const isOurs = onlyValue(parts, 'client_id') === clientId
  const isGrant = SECRET_GRANTS.includes(onlyValue(parts, 'grant_type') ?? '')
  const hasNone = parts.every(
    ({ name }) => name !== 'client_secret' && !name.startsWith('client_assertion'),
  )
  return isOurs && isGrant && hasNone ? clientSecret.reveal() : null
}

/** What of a provider's answer is meant for the client; its cookies are not. */
const PASSED = ['content-type', 'cache-control', 'pragma', 'www-authenticate', 'retry-after']

export function passedOn({ status, headers, text }: Fetched): Reply {
  const fields = PASSED.flatMap((name) =>
    [headers[name] ?? []].flat().map((value) => [name, value] as const),
  )
  return openReply(status, text, 'POST, OPTIONS', fields)
}
