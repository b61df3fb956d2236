// What single fields may say, for HTTP/1 and HTTP/2 alike: a message that one of them lets through is laid out
// for the other.

/** Far above any real body, and below where doubles lose count. */
const MAX_LENGTH_DIGITS = 15
const ZERO = 48
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(?::\d*)?$/

/** Whoever merges trailers into the head must not come to frame or route the message anew. */
const NOT_A_TRAILER = new Set([
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Nor come to see another client, other conditions or other content than policies saw (RFC 9110 6.5.1). */
const NOT_A_TRAILER_OF_REQUESTS = new Set([
  'authorization',
  'cache-control',
  'content-encoding',
  'content-range',
  'content-type',
  'cookie',
  'expect',
  'forwarded',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'max-forwards',
  'origin',
  'pragma',
  'proxy-authorization',
  'range',
  'set-cookie',
  'x-api-key',
  'x-real-ip',
])
const FORWARDED = 'x-forwarded-'

/** What Content-Length says; null when others could read another number, or none, in it. */
export function contentLength(text: string): number | null {
  if (text === '' || text.length > MAX_LENGTH_DIGITS) return null
  let length = 0
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - ZERO
    if (digit < 0 || digit > 9) return null
    length = length * 10 + digit
  }
  return length
}

/** Host and port, or nothing at all. */
export function isHost(text: string): boolean {
  return HOST.test(text)
}

/** In either direction; `name` in lower case. */
export function isForbiddenTrailer(name: string): boolean {
  return NOT_A_TRAILER.has(name)
}

/** Of a request; policies may have names of their own. */
export function isForbiddenRequestTrailer(name: string): boolean {
  return (
    NOT_A_TRAILER.has(name) || NOT_A_TRAILER_OF_REQUESTS.has(name) || name.startsWith(FORWARDED)
  )
}
