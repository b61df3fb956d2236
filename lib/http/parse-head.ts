// Parses the head of a message. llhttp checks the grammar; what it accepts but a proxy must not is refused here, so that
// the backend can never read a request differently.

import { GatewayError } from '../core/errors.ts'
import type { ErrorCode } from '../core/errors.ts'
import { RequestHead, ResponseHead } from '../core/head.ts'
import {
  LLHTTP_INVALID_FRAMING,
  LLHTTP_INVALID_METHOD,
  LLHTTP_PAUSED,
  RECORDER_FULL,
  LLHTTP_INVALID_VERSION,
  llhttpErrorOf,
  isSharedBuffer,
  llhttp,
  requestParser,
  resetRecordedSpans,
  responseParser,
  scratchBuffer,
  recordedSpans,
} from './llhttp.ts'
import { applyHost, invalidResponseError, applyConnectionFields } from './header-fields.ts'

export interface HeadLimits {
  maxHeadBytes: number
  maxHeaders: number
}

const CR = 13
const LF = 10
const SPACE = 32
const TAB = 9

/** The request head at `from`, or null while it is incomplete. Throws the error for the client. */
export function parseRequestHead(
  bytes: Buffer,
  from: number,
  to: number,
  limits: HeadLimits,
): RequestHead | null {
  const start = skipEmptyLines(bytes, from, to, limits)
  if (start < 0) return null
  const end = runParser(requestParser, bytes, start, to, limits, 'client')
  if (end < 0) return null
  const text = bytes.latin1Slice(start, end)
  const offset = parserAddressOf(bytes, start)
  const head = new RequestHead(text, fieldSpans(text, 6, offset, limits), firstFieldOf(text))
  head.end = end
  head.keepAlive = recordedSpans[2] === 1
  parseRequestLine(head, text, recordedSpans[4]! - offset, recordedSpans[5]!)
  const host = applyConnectionFields(head, recordedSpans[1] === 1)
  applyHost(head, host)
  if (head.version === 'HTTP/1.0' && head.chunked)
    throw new GatewayError('BAD_FRAMING', 'invalid request: transfer-encoding in HTTP/1.0')
  return head
}

/** RFC 9112 2.2: empty lines before a request line are ignored. -1 while there is nothing else. */
function skipEmptyLines(bytes: Buffer, from: number, to: number, limits: HeadLimits): number {
  let at = from
  while (at + 1 < to && bytes[at] === CR && bytes[at + 1] === LF) at += 2
  if (at - from >= limits.maxHeadBytes) throw headTooLargeFor(limits, 'client', 'maxHeadBytes')
  if (at === to) return -1
  const first = bytes[at]
  if (first !== CR && first !== LF) return at
  if (first === CR && at + 1 === to) return -1
  throw new GatewayError('BAD_HEAD', 'invalid request: bare CR or LF before the request line')
}

/** The response head at `from`, or null while it is incomplete. Throws BACKEND_INVALID. */
export function parseResponseHead(
  bytes: Buffer,
  from: number,
  to: number,
  limits: HeadLimits,
): ResponseHead | null {
  const end = runParser(responseParser, bytes, from, to, limits, 'backend')
  if (end < 0) return null
  const text = bytes.latin1Slice(from, end)
  const offset = parserAddressOf(bytes, from)
  const head = new ResponseHead(text, fieldSpans(text, 4, offset, limits), firstFieldOf(text))
  head.status = recordedSpans[0]!
  head.end = end
  head.keepAlive = recordedSpans[2] === 1
  // The most frequent status line needs no parsing.
  if (!text.startsWith('HTTP/1.1 200 OK\r\n'))
    parseStatusLine(head, text.substring(0, head.firstField - 2))
  applyConnectionFields(head, head.status === 101)
  // RFC 9112 6.1: after such a message, the framing of the connection is not reliable.
  if (head.version === 'HTTP/1.0' && head.chunked) head.keepAlive = false
  return head
}

function parseStatusLine(head: ResponseHead, line: string): void {
  if (!STATUS_LINE.test(line)) throw invalidResponseError('malformed status line')
  head.version = line.startsWith('HTTP/1.0') ? 'HTTP/1.0' : 'HTTP/1.1'
  head.reason = line.substring(13)
}

const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?$/

/** Where llhttp finds the bytes at `from`: in the shared memory, or at the start of the scratch buffer. */
function parserAddressOf(bytes: Buffer, from: number): number {
  return isSharedBuffer(bytes) ? bytes.byteOffset + from : scratchBuffer.byteOffset
}

/** Parses with llhttp; returns the index after the head, or -1 while it is incomplete. */
function runParser(
  parser: number,
  bytes: Buffer,
  from: number,
  to: number,
  limits: HeadLimits,
  side: 'client' | 'backend',
): number {
  const length = Math.min(to - from, limits.maxHeadBytes)
  const address = parserAddressOf(bytes, from)
  if (!isSharedBuffer(bytes)) bytes.copy(scratchBuffer, 0, from, from + length)
  const result = llhttp.llhttp_execute(parser, address, length)
  if (result === LLHTTP_PAUSED) {
    const end = llhttp.llhttp_get_error_pos(parser) - address + from
    llhttp.llhttp_reset(parser)
    return end
  }
  const fault = result === 0 ? '' : llhttpErrorOf(parser)
  llhttp.llhttp_reset(parser)
  resetRecordedSpans()
  if (result === 0 && to - from < limits.maxHeadBytes) return -1
  if (result === 0 || result === RECORDER_FULL)
    throw headTooLargeFor(limits, side, result === 0 ? 'maxHeadBytes' : 'http1MaxHeaders')
  if (side === 'backend') throw invalidResponseError(fault)
  const code = errorCodeFor(result, bytes.latin1Slice(from, from + length))
  if (code === null) return -1
  throw new GatewayError(code, `invalid request: ${fault}`)
}

function headTooLargeFor(
  limits: HeadLimits,
  side: 'client' | 'backend',
  limit: 'maxHeadBytes' | 'http1MaxHeaders',
): GatewayError {
  return side === 'client'
    ? buildHeadTooLargeError(limits, limit)
    : invalidResponseError(`head larger than ${limits.maxHeadBytes} bytes`)
}

/** Whichever limit was reached, the client gets both. */
export function buildHeadTooLargeError(
  { maxHeadBytes, maxHeaders }: HeadLimits,
  limit: 'maxHeadBytes' | 'http1MaxHeaders',
): GatewayError {
  return new GatewayError(
    'HEAD_TOO_LARGE',
    `request head too large: more than ${maxHeadBytes} bytes (frontendPolicies.http.maxHeadBytes)` +
      ` or ${maxHeaders} fields (frontendPolicies.http.http1MaxHeaders)`,
    { limit: [limit, limit === 'maxHeadBytes' ? maxHeadBytes : maxHeaders] },
  )
}

const METHOD_TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}/
const VERSION = /^[^ ]+ [^ ]+ HTTP\/\d\.\d\r$/
const VERSION_START = /^[^ ]+ [^ ]+ HTTP\/(?:\d(?:\.(?:\d\r?)?)?)?$/

/**
 * The code for an error of llhttp. Null while the bytes that decide it have not arrived: the error that a client gets must
 * not depend on how its bytes were split.
 */
function errorCodeFor(result: number, seen: string): ErrorCode | null {
  if (result === LLHTTP_INVALID_METHOD) {
    const method = METHOD_TOKEN.exec(seen)?.[0].length ?? 0
    if (method === 0 || method === 64) return 'BAD_HEAD'
    if (method === seen.length) return null
    return seen.charCodeAt(method) === SPACE ? 'METHOD_UNKNOWN' : 'BAD_HEAD'
  }
  if (result === LLHTTP_INVALID_VERSION) {
    const end = seen.indexOf('\n')
    if (end < 0) return VERSION_START.test(seen) ? null : 'BAD_HEAD'
    return VERSION.test(seen.substring(0, end)) ? 'VERSION_UNKNOWN' : 'BAD_HEAD'
  }
  return LLHTTP_INVALID_FRAMING.has(result) ? 'BAD_FRAMING' : 'BAD_HEAD'
}

function firstFieldOf(text: string): number {
  return text.indexOf('\r\n') + 2
}

/** The address pairs of llhttp from `first` on, as offsets into the text, without white space after values. */
function fieldSpans(text: string, first: number, offset: number, limits: HeadLimits): number[] {
  const last = recordedSpans[3]! >> 2
  if ((last - first) >> 2 > limits.maxHeaders)
    throw headTooLargeFor(limits, first === 6 ? 'client' : 'backend', 'http1MaxHeaders')
  const found: number[] = []
  for (let i = first; i < last; i += 4) {
    const name = recordedSpans[i]! - offset
    const value = recordedSpans[i + 2]! - offset
    let end = value + recordedSpans[i + 3]!
    while (end > value) {
      const c = text.charCodeAt(end - 1)
      if (c !== SPACE && c !== TAB) break
      end--
    }
    found.push(name, name + recordedSpans[i + 1]!, value, end)
  }
  return found
}

/** Reads method, target and version; llhttp found the target at `at`. */
function parseRequestLine(head: RequestHead, text: string, at: number, length: number): void {
  const line = head.firstField - 2
  // llhttp accepts several spaces and RTSP; a backend may not, so both are refused.
  if (
    text.indexOf(' ') !== at - 1 ||
    line - at - length !== 9 ||
    !text.startsWith(' HTTP/1.', at + length)
  )
    throw badRequestLineError(text.substring(0, line))
  head.method = text.substring(0, at - 1)
  head.version = text.charCodeAt(line - 1) === 48 ? 'HTTP/1.0' : 'HTTP/1.1'
  if (head.method === 'CONNECT')
    throw new GatewayError('METHOD_NOT_ALLOWED', 'method not allowed: CONNECT')
  const target = text.substring(at, at + length)
  if (target.charCodeAt(0) === 47 && !target.includes('#')) {
    head.target = target
    return
  }
  if (target === '*' && head.method === 'OPTIONS') {
    head.target = target
    return
  }
  const absolute = /^https?:\/\/([^/?#@]+)([/?][^#]*)?$/i.exec(target)
  if (absolute === null)
    throw new GatewayError('BAD_TARGET', 'invalid request: malformed request target')
  // RFC 9112 3.2.2: the authority of an absolute target has precedence over Host.
  head.receivedAuthority = absolute[1]!
  const rest = absolute[2] ?? '/'
  head.target = rest.charCodeAt(0) === 63 ? '/' + rest : rest
}

function badRequestLineError(line: string): GatewayError {
  const version = / HTTP\/(\d\.\d)$/.exec(line)?.[1]
  return version === undefined || version === '1.0' || version === '1.1'
    ? new GatewayError('BAD_HEAD', 'invalid request: malformed request line')
    : new GatewayError('VERSION_UNKNOWN', 'http version not supported')
}
