// Proxied authorize and token requests of `idp_tenant`: the `resource` parameter is removed, and the operator's client
// secret is added where the app registration needs it (spec.md §4.3).

import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { RequestHead } from '../../core/head.ts'
import { buildReply } from '../../core/replies.ts'
import type { Reply } from '../../core/types.ts'
import { readWholeBody } from '../../http/read-whole-body.ts'
import { createOAuthErrorReply } from './provider-requests.ts'
import type { ProviderCalls } from './provider-requests.ts'
import type { Secret } from '../../text/secret.ts'

/** The form contains an authorization code, a verifier and little else. */
const MAX_FORM_BYTES = 65_536

const FORM_TYPE = 'application/x-www-form-urlencoded'
/** A client that sends one of these authenticates itself. */
const CLIENT_PROOF_FIELDS = ['client_secret', 'client_assertion', 'client_assertion_type']

/** An S256 challenge is a SHA-256 hash in base64url. */
const S256_CHALLENGE = /^[A-Za-z0-9_-]{43}$/

/**
 * Redirects to the provider's authorize endpoint; only the query comes from the client. Without an S256 challenge, a thief
 * of the code could redeem it with our client secret.
 */
export function redirectToAuthorize({ request }: Exchange, endpoint: string): Reply {
  const parts = removeFormParts(parseForm(request.query), 'resource')
  if (!hasS256Challenge(parts))
    return createOAuthErrorReply(
      400,
      'invalid_request',
      'PKCE is required: send code_challenge with code_challenge_method=S256',
    )
  const query = formatForm(parts)
  return buildReply(302, [
    ['location', `${endpoint}?${query}`],
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
  if (secret !== null) exchange.addSecrets([secret])
  const added = secret === null ? '' : `&client_secret=${encodeURIComponent(secret.reveal())}`
  const form = formatForm(parts) + added
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

function hasS256Challenge(parts: readonly FormPart[]): boolean {
  return (
    S256_CHALLENGE.test(singleFormValue(parts, 'code_challenge') ?? '') &&
    singleFormValue(parts, 'code_challenge_method') === 'S256'
  )
}

/**
 * Returns the secret only for the configured client and these grants (spec.md §4.3), and only when no parameter is
 * ambiguous. With `requirePkce: strict`, a code without a PKCE verifier gets none.
 */
function selectClientSecret(
  parts: readonly FormPart[],
  config: McpAuthenticationConfig,
): Secret | null {
  const { clientId, clientSecret, requirePkce } = config
  if (clientSecret === null || clientId === null) return null
  const isOurClient = singleFormValue(parts, 'client_id') === clientId
  const grant = singleFormValue(parts, 'grant_type')
  const isAllowedGrant =
    grant === 'refresh_token' ||
    (grant === 'authorization_code' && (requirePkce === 'authorize' || hasCodeVerifier(parts)))
  const hasProof = parts.some((part) =>
    CLIENT_PROOF_FIELDS.some((name) => couldMatchParameter(part, name)),
  )
  return isOurClient && isAllowedGrant && !hasProof ? clientSecret : null
}

function hasCodeVerifier(parts: readonly FormPart[]): boolean {
  return (singleFormValue(parts, 'code_verifier') ?? '') !== ''
}

/** One parameter of a form or query. Its raw text is kept, so that unremoved parameters are forwarded byte for byte. */
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

/** Returns the value of a parameter that occurs exactly once; null otherwise. */
export function singleFormValue(parts: readonly FormPart[], name: string): string | null {
  const matches = parts.filter((part) => couldMatchParameter(part, name))
  const [only] = matches
  return only !== undefined && matches.length === 1 && only.name === name ? only.value : null
}

/** Returns whether a lenient form parser could read this part as the parameter. */
function couldMatchParameter({ name }: FormPart, parameter: string): boolean {
  return name.replace(/[\s\0]/g, '').toLowerCase() === parameter
}

/** A malformed escape is kept unchanged. */
function decodeFormText(text: string): string {
  const spaced = text.replaceAll('+', ' ')
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}
