// Which names are those of credentials: one list for traces, dumps, logs and pages. The backend and rules still see the
// real values.

import { decoded } from '../loose-decoding.ts'

export const REDACTED = '<redacted>'

/** Whatever `config.sensitiveHeaders` adds; spec.md §5.8 has the first two. */
const SENSITIVE_HEADERS = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  // Whoever has it can use the session.
  'mcp-session-id',
  'session',
  // Where browsers put a token that they can put nowhere else.
  'sec-websocket-protocol',
]

/** How the name of a credential ends, whatever has it: a header nobody has listed, a setting, a parameter, a member. */
const ENDING =
  'secret|token|passwo?r?d|passphrase|pwd|(?<!allow-)credentials?|signature(?:-256)?|.jwt|[-_]key|(?:api|access|private)key' +
  '|assertion|[-_]authorization|[-_]auth|[-_]pat|[-_]session|session[-_]?id'
/** Of a list or an object: all that is in it is one. */
const SECRET_GROUP = new RegExp(`(?:${ENDING})s?$`, 'i')
export const GROUP = new RegExp(`${SECRET_GROUP.source}|authorization$`, 'i')
const SECRET_HEADER = new RegExp(`(?:${ENDING})$`)
/** Of a configuration, where `key` may be a name, and a hash is one of a key. */
const SECRET_SETTING = new RegExp(`(?:${ENDING}|hash)$`)
/** Of what anybody may send, where a name tells less. */
const SECRET = new RegExp(
  `(?:${ENDING}|key|code|code_verifier|sig|jwt|id_token_hint|authorization|bearer|otp|samlresponse|^pass|^auth|^sid)$`,
  'i',
)
/** Names that stand for credentials: of headers in lower case, and of parameters in a query. */
export interface Hidden {
  readonly headers: ReadonlySet<string>
  readonly parameters: ReadonlySet<string>
}

export const NO_NAMES: ReadonlySet<string> = new Set()

/** Header names, in lower case, whose values are not shown. */
export function sensitiveNames(more: readonly string[]): ReadonlySet<string> {
  return new Set([...SENSITIVE_HEADERS, ...more.map((name) => name.toLowerCase())])
}

export function isSecretHeader(name: string, { headers }: Pick<Hidden, 'headers'>): boolean {
  return headers.has(name) || SECRET_HEADER.test(name)
}

/** Of a field in a configuration, or of a header that is set in one. */
export function isSecretSetting(name: string, { headers }: Pick<Hidden, 'headers'>): boolean {
  const lower = name.toLowerCase()
  return headers.has(lower) || SECRET_SETTING.test(lower)
}

/** Of a list or an object with that name: whether the texts in it are not shown. */
export function isSecretGroup(name: string): boolean {
  return SECRET_GROUP.test(name)
}

/** Of a parameter, whoever sends or wants it. */
export function isSecretParameter(name: string): boolean {
  return isSecret(name, NO_NAMES)
}

/** However it is written: a reader of queries decodes names, too, and makes lists and objects of `a[b]` and `a.b`. */
export function isSecret(written: string, names: ReadonlySet<string>): boolean {
  const name = decoded(written)
  if (names.has(name) || SECRET.test(name)) return true
  return /[[\].]/.test(name) && name.split(/[[\].]/).some(isSecretPart)
}

function isSecretPart(part: string): boolean {
  return SECRET.test(part) || SECRET_GROUP.test(part)
}
