// Where a client may ask a login to end: on a page over TLS, on this machine, or in an app.

import { hostOf, isLoopback } from '../../base/places/loopback.ts'

/** Schemes that browsers run, show or fetch themselves: no app's own. */
const TAKEN = new Set([
  'about:',
  'blob:',
  'chrome:',
  'data:',
  'file:',
  'filesystem:',
  'ftp:',
  'intent:',
  'javascript:',
  'resource:',
  'vbscript:',
  'view-source:',
  'ws:',
  'wss:',
])

/** As it was written: parsers drop what is not printable, and would see another URI than its reader. */
const WRITTEN = /^[!-"$-~]+$/

/** An app's scheme has two slashes behind it, or is a name that somebody owns (RFC 8252 7.1). */
const APP = /^(?:[a-z][a-z\d+.-]*:\/\/|[a-z][a-z\d-]*(?:\.[a-z\d-]+)+:)/i

export function isRedirectUri(uri: string): boolean {
  if (!WRITTEN.test(uri) || !URL.canParse(uri)) return false
  const { protocol, host, username, password } = new URL(uri)
  if (username !== '' || password !== '' || TAKEN.has(protocol)) return false
  if (protocol === 'https:') return true
  return protocol === 'http:' ? isLoopback(hostOf(host)) : APP.test(uri)
}
