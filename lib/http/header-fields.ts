// What header fields mean for framing and the connection. A proxy must be stricter than a parser: anything that the
// backend could read differently is refused.

import type { PortLimits } from '../core/bounds.ts'
import { GatewayError } from '../core/errors.ts'
import { RequestHead, ResponseHead } from '../core/head.ts'
import type { HeaderFields } from '../core/head.ts'

const CR = 13
const SPACE = 32

/**
 * Reads what the fields say about framing and connection, and removes hop-by-hop fields.
 * Returns the index of Host, -1 without one, -2 with several.
 */
export function applyConnectionFields(
  head: RequestHead | ResponseHead,
  mayUpgrade: boolean,
): number {
  const { text, spans: at } = head
  let host = -1
  let connectionNames = ''
  for (let i = 0; i < at.length; i += 4) {
    const from = at[i]!
    const length = at[i + 1]! - from
    // By length first: most fields are told apart without reading a letter.
    switch (length) {
      case 2:
        if (isFieldName(text, from, 'te')) head.removeAt(i)
        break
      case 4:
        if (isFieldName(text, from, 'host')) host = host === -1 ? i : -2
        break
      case 7:
        if (isFieldName(text, from, 'upgrade')) {
          if (mayUpgrade) head.upgrade = text.substring(at[i + 2]!, at[i + 3])
          head.removeAt(i)
        }
        break
      case 10:
        if (isFieldName(text, from, 'connection')) {
          const value = text.substring(at[i + 2]!, at[i + 3]).toLowerCase()
          // This llhttp misses `close` with a tab after it.
          if (value === 'close') head.keepAlive = false
          else if (value !== 'keep-alive') connectionNames += ',' + value
          head.removeAt(i)
        } else if (isFieldName(text, from, 'keep-alive')) {
          if (head instanceof ResponseHead)
            head.keepAliveHint = parseKeepAliveHint(text.substring(at[i + 2]!, at[i + 3]))
          head.removeAt(i)
        }
        break
      case 14:
        if (isFieldName(text, from, 'content-length'))
          head.length = checkedContentLength(head, takeFramingValue(head, i))
        break
      case 16:
        if (isFieldName(text, from, 'proxy-connection')) head.removeAt(i)
        break
      case 17:
        if (isFieldName(text, from, 'transfer-encoding')) {
          // `chunked` twice is another coding, too.
          if (head.chunked || takeFramingValue(head, i).toLowerCase() !== 'chunked')
            throw buildFramingError(head, 'unknown transfer coding')
          head.chunked = true
        }
        break
    }
  }
  if (connectionNames !== '') removeNamed(head, connectionNames)
  // With a body before it, the start of the tunnel would be ambiguous.
  if (head instanceof RequestHead && (head.chunked || head.length > 0)) head.upgrade = ''
  // An h2c upgrade would tunnel requests past every policy.
  if (head.upgrade !== '' && /\bh2c\b/i.test(head.upgrade)) head.upgrade = ''
  return host
}

/**
 * Returns the value. If its white space is unusual, the field is written again without it: some servers do not recognise
 * `chunked` with a tab after it.
 */
function takeFramingValue(head: HeaderFields, at: number): string {
  const { text, spans } = head
  const colon = spans[at + 1]!
  const gap = spans[at + 2]! - colon
  const value = text.substring(spans[at + 2]!, spans[at + 3])
  const isUsual =
    text.charCodeAt(spans[at + 3]!) === CR &&
    (gap === 1 || (gap === 2 && text.charCodeAt(colon + 1) === SPACE))
  if (isUsual) return value
  const name = text.substring(spans[at]!, colon).toLowerCase()
  head.removeAt(at)
  head.add(name, value)
  return value
}

type PolicyNames = Pick<PortLimits, 'guardedNames' | 'dashedNames'>

/** Removes fields that a server which does not distinguish `_` and `-`, as CGI, reads as a field that policies use. */
export function removeAmbiguousNames(head: RequestHead, policyNames: PolicyNames): void {
  const { text, spans } = head
  if (policyNames.dashedNames.size === 0) return
  for (let i = 0; i < spans.length; i += 4) {
    // Most heads have an underscore at most in a value, and to look for the next one is cheap.
    const at = text.indexOf('_', spans[i])
    if (at < 0) return
    if (at >= spans[i + 1]!) continue
    const name = text.substring(spans[i]!, spans[i + 1])
    if (isAmbiguousName(name.toLowerCase(), policyNames)) head.removeAt(i)
  }
}

/** A policy that uses the name itself, with its underscores, handles it. */
function isAmbiguousName(name: string, { guardedNames, dashedNames }: PolicyNames): boolean {
  return name.includes('_') && dashedNames.has(name.replaceAll('_', '-')) && !guardedNames.has(name)
}

function isFieldName(text: string, from: number, name: string): boolean {
  return (
    (text.charCodeAt(from) | 32) === name.charCodeAt(0) &&
    text.substring(from, from + name.length).toLowerCase() === name
  )
}

/** Fields that Connection may name but that a proxy must keep. */
const NEVER_REMOVED = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'close',
  'keep-alive',
  'upgrade',
  '',
])

function removeNamed(head: RequestHead | ResponseHead, names: string): void {
  for (const token of names.split(',')) {
    const name = token.trim()
    if (name === 'close') head.keepAlive = false
    if (!NEVER_REMOVED.has(name)) head.remove(name)
  }
}

function parseKeepAliveHint(value: string): number {
  const found = /(?:^|[,\s])timeout=(\d{1,6})/i.exec(value)
  return found === null ? -1 : Number(found[1]) * 1000
}

function checkedContentLength(head: HeaderFields, value: string): number {
  const length = parseContentLength(value)
  if (length === null) throw buildFramingError(head, 'content-length out of range')
  return length
}

function buildFramingError(head: HeaderFields, what: string): GatewayError {
  return head instanceof RequestHead
    ? new GatewayError('BAD_FRAMING', `invalid request: ${what}`)
    : invalidResponseError(what)
}

/** Takes the authority from Host, or sets Host from an absolute target. `at` is the result of `applyConnectionFields`. */
export function applyHost(head: RequestHead, at: number): void {
  if (at === -2) throw new GatewayError('BAD_HOST', 'invalid request: more than one Host')
  if (head.receivedAuthority !== '' && !isValidHost(head.receivedAuthority))
    throw malformedHostError()
  if (at === -1) {
    if (head.version === 'HTTP/1.1') throw new GatewayError('BAD_HOST', 'invalid request: no Host')
    if (head.receivedAuthority !== '') head.set('host', head.receivedAuthority)
    return
  }
  const host = head.text.substring(head.spans[at + 2]!, head.spans[at + 3])
  if (!isValidHost(host)) throw malformedHostError()
  if (head.receivedAuthority === '') head.receivedAuthority = host
  else if (head.receivedAuthority !== host) head.set('host', head.receivedAuthority)
}

function malformedHostError(): GatewayError {
  return new GatewayError('BAD_HOST', 'invalid request: malformed Host')
}

export function invalidResponseError(what: string): GatewayError {
  return new GatewayError('BACKEND_INVALID', `upstream call failed: invalid response: ${what}`)
}

// Rules for single fields, for HTTP/1 and HTTP/2 alike, since a message of one is forwarded over the other.

/** Far above any real body, and below where doubles lose precision. */
const MAX_LENGTH_DIGITS = 15
const ZERO = 48
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(?::\d*)?$/

/** A backend that merges trailers into the head must not frame or route the message differently. */
const FORBIDDEN_TRAILERS = new Set([
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

/** Nor may it see another client, other conditions or other content than the policies saw (RFC 9110 6.5.1). */
const FORBIDDEN_REQUEST_TRAILERS = new Set([
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
const FORWARDED_PREFIX = 'x-forwarded-'

/** The value of Content-Length; null if another parser could read another number, or none. */
export function parseContentLength(text: string): number | null {
  if (text === '' || text.length > MAX_LENGTH_DIGITS) return null
  let length = 0
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - ZERO
    if (digit < 0 || digit > 9) return null
    length = length * 10 + digit
  }
  return length
}

const GRPC_TYPE = /^application\/grpc(?:$|[+;\s])/i

/** `application/grpc-web` is another protocol: it needs neither HTTP/2 nor trailers. */
export function isGrpcType(contentType: string | undefined): boolean {
  return contentType !== undefined && GRPC_TYPE.test(contentType)
}

/** A host with an optional port, or an empty text. */
export function isValidHost(text: string): boolean {
  return HOST.test(text)
}

/** For both directions; `name` in lower case. */
export function isForbiddenTrailer(name: string): boolean {
  return FORBIDDEN_TRAILERS.has(name)
}

/** For requests; `policyNames` has the names that policies use. */
export function isRefusedTrailer(name: string, policyNames: PolicyNames): boolean {
  return (
    FORBIDDEN_TRAILERS.has(name) ||
    FORBIDDEN_REQUEST_TRAILERS.has(name) ||
    name.startsWith(FORWARDED_PREFIX) ||
    policyNames.guardedNames.has(name) ||
    isAmbiguousName(name, policyNames)
  )
}
