// Gives the path of a request the one form that routes and rules match and that backends get, so that no policy on a path
// is bypassed by another spelling (frontendPolicies.http.normalizePath).

import type { PathNormalization } from '../core/bounds.ts'
import { GatewayError } from '../core/errors.ts'
import type { RequestHead } from '../core/head.ts'

/** Two slashes, a dot segment, an escape or a backslash: most targets have none and are not looked at again. */
const OTHER_TARGET_FORM = /\/(?:\/|\.\.?(?:[/?;]|$))|[%\\]/

/** Half an escape next to another one could become an escape, which a backend would decode; NUL ends a path for some. */
const MALFORMED_ESCAPE = /%(?![0-9A-Fa-f]{2})|%00/

/** An encoded slash, a backslash or a dot segment with a parameter: some backends treat them as separators or dots. */
const AMBIGUOUS_PATH = /%2f|%5c|\\|\/\.\.?;/i

const ESCAPE = /%[0-9A-Fa-f]{2}/g
const UNRESERVED = /^[A-Za-z0-9._~-]$/

/** Changes the target of a request to its normalized form. Returns the error for the client, or null. */
export function normalizeTarget(head: RequestHead, mode: PathNormalization): GatewayError | null {
  const { target } = head
  if (mode === 'off' || !OTHER_TARGET_FORM.test(target)) return null
  // `OPTIONS *` has no path.
  if (target.charCodeAt(0) !== 47) return null
  const { path } = head
  // The query may contain anything, and often contains escapes.
  if (path.length < target.length && !OTHER_TARGET_FORM.test(path)) return null
  if (MALFORMED_ESCAPE.test(path)) return buildPathError('malformed escape in the path')
  const decoded = path.replace(ESCAPE, decodeUnreserved)
  if (mode === 'strict' && (AMBIGUOUS_PATH.test(decoded) || leavesRoot(decoded)))
    return buildPathError('ambiguous path')
  const normalized = resolveSegments(decoded)
  if (normalized !== path) head.target = normalized + target.substring(path.length)
  return null
}

function buildPathError(what: string): GatewayError {
  return new GatewayError('BAD_TARGET', `invalid request: ${what}`)
}

/** RFC 3986 6.2.2.2: only an unreserved character means the same with and without the escape. */
function decodeUnreserved(escape: string): string {
  const character = String.fromCharCode(Number.parseInt(escape.substring(1), 16))
  return UNRESERVED.test(character) ? character : escape
}

/** Whether `..` goes above the root. */
function leavesRoot(path: string): boolean {
  let depth = 0
  for (const segment of path.split('/')) {
    if (segment === '..') depth--
    else if (segment !== '' && segment !== '.') depth++
    if (depth < 0) return true
  }
  return false
}

/** Merges slashes and resolves `.` and `..`; `..` at the root stays at the root (RFC 3986 5.2.4). */
function resolveSegments(path: string): string {
  const segments: string[] = []
  let isFolder = true
  for (const segment of path.split('/')) {
    isFolder = segment === '' || segment === '.' || segment === '..'
    if (segment === '..') segments.pop()
    else if (!isFolder) segments.push(segment)
  }
  const joined = '/' + segments.join('/')
  return isFolder && segments.length > 0 ? joined + '/' : joined
}
