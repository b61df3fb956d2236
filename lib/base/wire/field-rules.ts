// What single fields may say, for HTTP/1 and HTTP/2 alike: a message that one of them lets through is laid out
// for the other.

/** Far above any real body, and below where doubles lose count. */
const LENGTH = /^\d{1,15}$/
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(?::\d*)?$/

/** A backend that merges trailers into the head must not come to frame or route the message anew. */
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

/** What Content-Length says; null when others could read another number, or none, in it. */
export function contentLength(text: string): number | null {
  return LENGTH.test(text) ? Number(text) : null
}

/** Host and port, or nothing at all. */
export function isHost(text: string): boolean {
  return HOST.test(text)
}

/** `name` in lower case. */
export function isForbiddenTrailer(name: string): boolean {
  return NOT_A_TRAILER.has(name)
}
