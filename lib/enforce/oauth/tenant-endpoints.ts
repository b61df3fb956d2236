// Authorize and token requests on their way to a provider that does not take them as MCP clients send them: `resource`
// is left out, and the operator's own secret added where the app registration needs it (spec.md §4.3).

import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { RequestHead } from '../../core/head.ts'
import { buildReply } from '../../core/replies.ts'
import type { Reply } from '../../core/types.ts'
import { readWholeBody } from '../../http/read-whole-body.ts'
import { createOAuthErrorReply } from './provider-requests.ts'
import type { ProviderCalls } from './provider-requests.ts'

/** A form of an authorization code, a verifier and little else. */
const MAX_FORM_BYTES = 65_536

const FORM_TYPE = 'application/x-www-form-urlencoded'
/** Whoever sends one of these has proofs of his own. */
const CLIENT_PROOF_FIELDS = ['client_secret', 'client_assertion', 'client_assertion_type']

/** To the provider's own page, and nowhere else: only the query is the client's. */
export function redirectToAuthorize({ request }: Exchange, to: string): Reply {
  const query = formatForm(removeFormParts(parseForm(request.query), 'resource'))
  return buildReply(302, [
    ['location', query === '' ? to : `${to}?${query}`],
    ['cache-control', 'no-store'],
  ])
}

export async function relayTokenRequest(
  exchange: Exchange,
  url: string,
  config: McpAuthenticationConfig,
  calls: ProviderCalls,
): Promise<Reply> {
  const { request } = exchange
  if (!isForm(request))
    return createOAuthErrorReply(400, 'invalid_request', `expected ${FORM_TYPE}`)
  const bytes = await readWholeBody(exchange, MAX_FORM_BYTES)
  if (bytes === null)
    return createOAuthErrorReply(
      413,
      'invalid_request',
      `the form has more than ${MAX_FORM_BYTES} bytes`,
    )
  const parts = removeFormParts(parseForm(bytes.toString('latin1')), 'resource')
  const authorization = request.get('authorization')
  const secret = authorization === undefined ? selectClientSecret(parts, config) : null
  const form =
    formatForm(parts) + (secret === null ? '' : `&client_secret=${encodeURIComponent(secret)}`)
  const headers = {
    'content-type': FORM_TYPE,
    accept: 'application/json',
    ...(authorization === undefined ? {} : { authorization }),
  }
  return calls.post('token request', { url, headers, body: Buffer.from(form, 'latin1') })
}

function isForm(request: RequestHead): boolean {
  const [type = ''] = (request.get('content-type') ?? '').toLowerCase().split(';')
  const coding = request.get('content-encoding') ?? 'identity'
  return type.trim() === FORM_TYPE && coding === 'identity'
}

/**
 * Only for the configured client, only for these grants, and only where no parameter could mean two things. A code
 * without a verifier gets none: whoever stole it could redeem it with our secret.
 */
function selectClientSecret(
  parts: readonly FormPart[],
  config: McpAuthenticationConfig,
): string | null {
  const { clientId, clientSecret } = config
  if (clientSecret === null || clientId === null) return null
  const isOurs = singleFormValue(parts, 'client_id') === clientId
  const grant = singleFormValue(parts, 'grant_type')
  const isGrant =
    grant === 'refresh_token' || (grant === 'authorization_code' && hasCodeVerifier(parts))
  const hasProof = parts.some((part) =>
    CLIENT_PROOF_FIELDS.some((name) => couldMatchParameter(part, name)),
  )
  return isOurs && isGrant && !hasProof ? clientSecret.reveal() : null
}

function hasCodeVerifier(parts: readonly FormPart[]): boolean {
  return (singleFormValue(parts, 'code_verifier') ?? '') !== ''
}

// A form or a query by its parts, each kept as it was written: what is not taken out arrives byte for byte.

interface FormPart {
  /** Decoded: `client%5Fid` is `client_id`. */
  readonly name: string
  readonly value: string
  readonly text: string
}

export function parseForm(form: string): FormPart[] {
  if (form === '') return []
  return form.split('&').map((text) => {
    const at = text.indexOf('=')
    const [name, value] = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
    return { name: decodeFormText(name), value: decodeFormText(value), text }
  })
}

export function removeFormParts(parts: readonly FormPart[], name: string): FormPart[] {
  return parts.filter((part) => part.name !== name)
}

export function formatForm(parts: readonly FormPart[]): string {
  return parts.map(({ text }) => text).join('&')
}

/** The value of a parameter that stands there exactly once; null otherwise. */
export function singleFormValue(parts: readonly FormPart[], name: string): string | null {
  const found = parts.filter((part) => couldMatchParameter(part, name))
  const [only] = found
  return only !== undefined && found.length === 1 && only.name === name ? only.value : null
}

/** Whether somebody who reads forms loosely could take this part for the parameter. */
function couldMatchParameter({ name }: FormPart, meant: string): boolean {
  return name.replace(/[\s\0]/g, '').toLowerCase() === meant
}

/** What is no proper escape stays as it is. */
function decodeFormText(text: string): string {
  const spaced = text.replaceAll('+', ' ')
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}
