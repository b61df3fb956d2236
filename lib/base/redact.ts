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
]

const USER_INFO = /:\/\/[^/@\s]+@/g
const SECRET_QUERY =
  /([?&][\w.-]*(?:key|token|secret|password|code|assertion|sig|signature)=)[^&#\s]*/gi

/** Header names, in lower case, whose values are not shown. */
export function sensitiveNames(more: readonly string[]): ReadonlySet<string> {
  return new Set([...SENSITIVE_HEADERS, ...more.map((name) => name.toLowerCase())])
}

/** A URL or path without what may be a credential in it. */
export function shownTarget(text: string): string {
  return text.replace(USER_INFO, `://${REDACTED}@`).replace(SECRET_QUERY, `$1${REDACTED}`)
}
