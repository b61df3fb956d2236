// Heads between HTTP/2 and our own form. An HTTP/2 head is laid out as HTTP/1 text once, so that routes,
// policies and HTTP/1 peers see one kind of head.

import { STATUS_CODES } from 'node:http'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import { GatewayError } from '../core/errors.ts'
import { invalidResponseError, isValidHost, parseContentLength } from './header-fields.ts'
import { HeaderFields, RequestHead, ResponseHead } from '../core/head.ts'

/** Fields that speak of one HTTP/1 connection and are malformed in HTTP/2. */
const CONNECTION_FIELDS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'te',
])
/** What a request to a backend goes without: `:authority` says what Host does. */
export const BACKEND_OMITTED_FIELDS = new Set([...CONNECTION_FIELDS, 'host'])

/** Fields node:http2 takes only one value of, and throws for more. */
const SINGLE = new Set(
  (
    'access-control-allow-credentials access-control-max-age access-control-request-method age authorization ' +
    'content-encoding content-language content-length content-location content-md5 content-range content-type ' +
    'date dnt etag expires from host if-match if-modified-since if-none-match if-range if-unmodified-since ' +
    'last-modified location max-forwards proxy-authorization range referer retry-after tk ' +
    'upgrade-insecure-requests user-agent x-content-type-options'
  ).split(' '),
)

const PATH = /^[\x21\x22\x24-\x7e]+$/

/** A request head from the raw name, value list of a stream. Throws what the client is to be told. */
export function parseHttp2RequestHead(raw: readonly string[]): RequestHead {
  let method = ''
  let target = ''
  let authority: string | undefined
  let host = ''
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    if (name === ':method') method = raw[i + 1]!
    else if (name === ':path') target = raw[i + 1]!
    else if (name === ':authority') authority = raw[i + 1]!
    else if (name === 'host') host = raw[i + 1]!
  }
  authority ??= host
  if (method === 'CONNECT')
    throw new GatewayError('METHOD_NOT_ALLOWED', 'method not allowed: CONNECT')
  const isOrigin = target.startsWith('/') || (target === '*' && method === 'OPTIONS')
  if (!isOrigin || !PATH.test(target))
    throw new GatewayError('BAD_TARGET', 'invalid request: malformed request target')
  if (!isValidHost(authority)) throw new GatewayError('BAD_HOST', 'invalid request: malformed Host')
  const spans: number[] = []
  const head = new RequestHead(layOutRequest(raw, authority, spans), spans, 0)
  head.method = method
  head.target = target
  head.authority = authority
  head.version = 'HTTP/2'
  const length = http2ContentLengthOf(head)
  if (length === null)
    throw new GatewayError('BAD_FRAMING', 'invalid request: content-length out of range')
  head.length = length
  return head
}

function layOutRequest(raw: readonly string[], authority: string, spans: number[]): string {
  let text = appendField('', spans, 'host', authority)
  let cookies = ''
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    const value = raw[i + 1]!
    if (name.startsWith(':') || name === 'host') continue
    // RFC 9113 8.2.3: crumbs are one field again outside HTTP/2.
    if (name === 'cookie') cookies += (cookies === '' ? '' : '; ') + value
    else if (!CONNECTION_FIELDS.has(name)) text = appendField(text, spans, name, value)
  }
  if (cookies !== '') text = appendField(text, spans, 'cookie', cookies)
  return text + '\r\n'
}

/** As node:http2 hands them over. */
export type Http2ResponseHeaders = Record<string, string | string[] | number | undefined>

/** A response head from a backend's stream. Throws what the client is to be told. */
export function parseHttp2ResponseHead(headers: Http2ResponseHeaders): ResponseHead {
  const spans: number[] = []
  let text = ''
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    if (name.startsWith(':') || value === undefined || CONNECTION_FIELDS.has(name)) continue
    if (!Array.isArray(value)) text = appendField(text, spans, name, String(value))
    else for (const one of value) text = appendField(text, spans, name, one)
  }
  const head = new ResponseHead(text + '\r\n', spans, 0)
  head.status = Number(headers[':status'])
  // There is nothing to switch to on a stream, and nobody knows what lies outside.
  if (head.status === 101 || !(head.status >= 100 && head.status <= 599))
    throw invalidResponseError('unknown status')
  head.reason = STATUS_CODES[head.status] ?? ''
  head.version = 'HTTP/2'
  const length = http2ContentLengthOf(head)
  if (length === null) throw invalidResponseError('content-length out of range')
  head.length = length
  return head
}

/** A field may be called `constructor`; but what has no prototype at all is slow, and node reads headers several times. */
const NOTHING = Object.freeze(Object.create(null) as object)

/** No headers yet. */
export function createHttp2Headers(): OutgoingHttpHeaders {
  return Object.create(NOTHING) as OutgoingHttpHeaders
}

/** Adds the fields to headers as node:http2 takes them, behind the pseudo ones that are there. */
export function addHttp2Fields(
  out: OutgoingHttpHeaders,
  fields: HeaderFields,
  except: ReadonlySet<string> = CONNECTION_FIELDS,
): OutgoingHttpHeaders {
  fields.forEach((name, value) => {
    if (except.has(name)) return
    const before = out[name]
    if (before === undefined) out[name] = value
    else if (SINGLE.has(name)) return
    else if (Array.isArray(before)) before.push(value)
    else out[name] = [String(before), value]
  })
  return out
}

/** Trailers as they came on a stream; null when one is among them that is refused. */
export function parseHttp2Trailers(
  headers: IncomingHttpHeaders,
  refuses: (name: string) => boolean,
): HeaderFields | null {
  const fields = new HeaderFields('', [], 0)
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(':') || value === undefined) continue
    if (refuses(name)) return null
    for (const one of Array.isArray(value) ? value : [value]) fields.add(name, one)
  }
  return fields
}

/** The text with one field line more, whose place is noted. */
function appendField(text: string, spans: number[], name: string, value: string): string {
  const at = text.length
  const from = at + name.length + 2
  spans.push(at, at + name.length, from, from + value.length)
  return text + name + ': ' + value + '\r\n'
}

/** -1 without one, null for one that is not to be trusted. */
function http2ContentLengthOf(head: HeaderFields): number | null {
  const value = head.get('content-length')
  return value === undefined ? -1 : parseContentLength(value)
}
