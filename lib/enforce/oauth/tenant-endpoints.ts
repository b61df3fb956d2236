// Authorize and token requests on their way to a provider that does not take them as MCP clients send them: `resource`
// is left out, and the operator's own secret added where the app registration needs it (spec.md §4.3).

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import type { Exchange } from '../../base/exchange.ts'
import { readWhole } from '../../base/read-whole.ts'
import { replyOf } from '../../base/reply.ts'
import type { Reply } from '../../base/types.ts'
import type { RequestHead } from '../../base/wire/head.ts'
import { mayMean, onlyValue, partsOf, textOf, without } from './form.ts'
import type { Part } from './form.ts'
import type { ProviderCalls } from './provider-calls.ts'
import { errorReply } from './replies.ts'

/** A form of an authorization code, a verifier and little else. */
const MAX_FORM_BYTES = 65_536

const FORM = 'application/x-www-form-urlencoded'
/** Whoever sends one of these has proofs of his own. */
const PROOFS = ['client_secret', 'client_assertion', 'client_assertion_type']

/** To the provider's own page, and nowhere else: only the query is the client's. */
export function authorize({ request }: Exchange, to: string): Reply {
  const query = textOf(without(partsOf(request.query), 'resource'))
  return replyOf(302, [
    ['location', query === '' ? to : `${to}?${query}`],
    ['cache-control', 'no-store'],
  ])
}

export async function token(
  exchange: Exchange,
  url: string,
  config: McpAuthenticationConfig,
  calls: ProviderCalls,
): Promise<Reply> {
  const { request } = exchange
  if (!isForm(request)) return errorReply(400, 'invalid_request', `expected ${FORM}`)
  const bytes = await readWhole(exchange, MAX_FORM_BYTES)
  if (bytes === null)
    return errorReply(413, 'invalid_request', `the form has more than ${MAX_FORM_BYTES} bytes`)
  const parts = without(partsOf(bytes.toString('latin1')), 'resource')
  const authorization = request.get('authorization')
  const secret = authorization === undefined ? secretFor(parts, config) : null
  const form =
    textOf(parts) + (secret === null ? '' : `&client_secret=${encodeURIComponent(secret)}`)
  const headers = {
    'content-type': FORM,
    accept: 'application/json',
    ...(authorization === undefined ? {} : { authorization }),
  }
  return calls.post('token request', { url, headers, body: Buffer.from(form, 'latin1') })
}

function isForm(request: RequestHead): boolean {
  const [type = ''] = (request.get('content-type') ?? '').toLowerCase().split(';')
  const coding = request.get('content-encoding') ?? 'identity'
  return type.trim() === FORM && coding === 'identity'
}

/**
 * Only for the configured client, only for these grants, and only where no parameter could mean two things. A code
 * without a verifier gets none: whoever stole it could redeem it with our secret.
 */
function secretFor(parts: readonly Part[], config: McpAuthenticationConfig): string | null {
  const { clientId, clientSecret } = config
  if (clientSecret === null || clientId === null) return null
  const isOurs = onlyValue(parts, 'client_id') === clientId
  const grant = onlyValue(parts, 'grant_type')
  const isGrant = grant === 'refresh_token' || (grant === 'authorization_code' && isVerified(parts))
  const hasProof = parts.some((part) => PROOFS.some((name) => mayMean(part, name)))
  return isOurs && isGrant && !hasProof ? clientSecret.reveal() : null
}

function isVerified(parts: readonly Part[]): boolean {
  return (onlyValue(parts, 'code_verifier') ?? '') !== ''
}
