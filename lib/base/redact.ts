// What is never shown to people: one list for traces, dumps and logs. The backend and rules still see the real values.

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
]

const USER_INFO = /:\/\/[^/@\s]+@/g
const PARAMETER = /([?&])([^=&#\s]+)=([^&#\s]*)/g
/** A body that is a form. */
const FORM = /^[\w.%*+~[\]-]+=[^\s{}"<>]*$/
const SECRET_PARAMETER =
  /(?:key|token|secret|passwo?r?d|pwd|code|code_verifier|assertion|sig|signature|jwt|id_token_hint|credentials?|session_?id)$/i

/** Members of OAuth's JSON; in a text that is JSON itself, and in one that stands as a text in other JSON. */
const MEMBERS =
  'access_token|refresh_token|id_token|registration_access_token|client_secret|client_assertion|code_verifier|password|api_key'
const MEMBER = new RegExp(`("(?:${MEMBERS})"\\s*:\\s*")(?:[^"\\\\]|\\\\.)+`, 'g')
const INNER_MEMBER = new RegExp(
  `(\\\\"(?:${MEMBERS})\\\\"\\s*:\\s*\\\\")(?:[^"\\\\]|\\\\[^"])+`,
  'g',
)

/** Names that stand for credentials: of headers in lower case, and of parameters in a query. */
export interface Hidden {
  readonly headers: ReadonlySet<string>
  readonly parameters: ReadonlySet<string>
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** Header names, in lower case, whose values are not shown. */
export function sensitiveNames(more: readonly string[]): ReadonlySet<string> {
  return new Set([...SENSITIVE_HEADERS, ...more.map((name) => name.toLowerCase())])
}

/** A URL or path without what may be a credential in it; `names` are parameters that are one for certain. */
export function shownTarget(text: string, names = NO_NAMES): string {
  return text
    .replace(USER_INFO, `://${REDACTED}@`)
    .replace(PARAMETER, (whole, mark: string, name: string) =>
      isSecret(name, names) ? `${mark}${name}=${REDACTED}` : whole,
    )
}

/** A body without what OAuth sends in forms and answers with in JSON. What is compressed stays as it is. */
export function shownBody(bytes: Buffer, names = NO_NAMES): Buffer {
  const text = bytes.toString('latin1')
  const shown = FORM.test(text)
    ? shownTarget(`?${text}`, names).slice(1)
    : text.replace(MEMBER, `$1${REDACTED}`).replace(INNER_MEMBER, `$1${REDACTED}`)
  return shown === text ? bytes : Buffer.from(shown, 'latin1')
}

/** After a name for a credential, or a scheme for one; and what looks like a token wherever it stands. */
const NAMED =
  /((?:authorization|api[_-]?key|access[_-]?key|token|secret|passwo?r?d|pwd|cookie)["']?\s*[:=]\s*["']?)(?!<)(?:(?:bearer|basic)\s+)?[^\s"',;]+/gi
const SCHEME = /\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi
const TOKEN = /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*|\bsk-[\w-]{16,}/g

/** A line that some program printed, without what looks like a credential in it. */
export function shownLine(text: string): string {
  return shownTarget(text)
    .replace(NAMED, `$1${REDACTED}`)
    .replace(SCHEME, `$1 ${REDACTED}`)
    .replace(TOKEN, REDACTED)
}

/** However it is written: a reader of queries decodes names, too. */
function isSecret(written: string, names: ReadonlySet<string>): boolean {
  const name = decoded(written)
  return names.has(name) || SECRET_PARAMETER.test(name)
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '))
  } catch {
    return name
  }
}
