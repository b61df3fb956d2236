// Converts heads between HTTP/2 and the gateway's own form. An HTTP/2 head is written as HTTP/1 text once, so that routes,
// policies and HTTP/1 peers see one kind of head.

import { STATUS_CODES } from 'node:http'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import { GatewayError } from '../core/errors.ts'
import { invalidResponseError, isValidHost, parseContentLength } from './header-fields.ts'
import { HeaderFields, RequestHead, ResponseHead } from '../core/head.ts'

/** Fields of one HTTP/1 connection, which are malformed in HTTP/2. */
const CONNECTION_FIELDS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'te',
])
/** Fields left out of a request to a backend: `:authority` replaces Host. */
export const BACKEND_OMITTED_FIELDS = new Set([...CONNECTION_FIELDS, 'host'])

/** Fields for which node:http2 throws if there is more than one value. */
const SINGLE = new Set(
  (
    'access-control-allow-credentials access-control-max-age access-control-request-method age authorization ' +
    'content-encoding content-language content-length content-location content-md5 content-range content-type ' +
    'date dnt etag expires from host if-match if-modified-since if-none-match if-range if-unmodified-since ' +
    'last-modified location max-forwards proxy-authorization range referer retry-after tk ' +
    'upgrade-insecure-requests user-agent x-content-type-options'
  ).split(' '),
)

/** The methods that llhttp knows, so that both versions of HTTP accept the same; its `CONNECT` is refused. */
const METHODS: ReadonlySet<string> = new Set(
  (
    'ACL BIND CHECKOUT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY OPTIONS ' +
    'PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK ' +
    'UNSUBSCRIBE'
  ).split(' '),
)

const PATH = /^[\x21\x22\x24-\x7e]+$/

/** Builds a request head from the raw name-value list of a stream. Throws the error for the client. */
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
  if (!METHODS.has(method))
    throw new GatewayError('METHOD_UNKNOWN', 'invalid request: Invalid method encountered')
  const isOrigin = target.startsWith('/') || (target === '*' && method === 'OPTIONS')
  if (!isOrigin || !PATH.test(target))
    throw new GatewayError('BAD_TARGET', 'invalid request: malformed request target')
  if (!isValidHost(authority)) throw new GatewayError('BAD_HOST', 'invalid request: malformed Host')
  const spans: number[] = []
  const head = new RequestHead(formatRequestFields(raw, authority, spans), spans, 0)
  head.method = method
  head.target = target
  head.receivedAuthority = authority
  head.version = 'HTTP/2'
  const length = http2ContentLengthOf(head)
  if (length === null)
    throw new GatewayError('BAD_FRAMING', 'invalid request: content-length out of range')
  head.length = length
  return head
}

function formatRequestFields(raw: readonly string[], authority: string, spans: number[]): string {
  let text = appendField('', spans, 'host', authority)
  let cookies = ''
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    const value = raw[i + 1]!
    if (name.startsWith(':') || name === 'host') continue
    // RFC 9113 8.2.3: outside HTTP/2, cookie crumbs are one field.
    if (name === 'cookie') cookies += (cookies === '' ? '' : '; ') + value
    else if (!CONNECTION_FIELDS.has(name)) text = appendField(text, spans, name, value)
  }
  if (cookies !== '') text = appendField(text, spans, 'cookie', cookies)
  return text + '\r\n'
}

/** Headers as node:http2 passes them. */
export type Http2ResponseHeaders = Record<string, string | string[] | number | undefined>

/** Builds a response head from a backend's stream. Throws the error for the client. */
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
  // A stream has no protocol switch, and a status outside this range is unknown.
  if (head.status === 101 || !(head.status >= 100 && head.status <= 599))
    throw invalidResponseError('unknown status')
  head.reason = STATUS_CODES[head.status] ?? ''
  head.version = 'HTTP/2'
  const length = http2ContentLengthOf(head)
  if (length === null) throw invalidResponseError('content-length out of range')
  head.length = length
  return head
}

/** A field may be called `constructor`; but an object without a prototype is slow, and node reads headers several times. */
const EMPTY_PROTOTYPE = Object.freeze(Object.create(null) as object)

export function createHttp2Headers(): OutgoingHttpHeaders {
  return Object.create(EMPTY_PROTOTYPE) as OutgoingHttpHeaders
}

/** Adds fields to node:http2 headers, after the pseudo headers. */
export function addHttp2Fields(
  out: OutgoingHttpHeaders,
  fields: HeaderFields,
  except: ReadonlySet<string> = CONNECTION_FIELDS,
): OutgoingHttpHeaders {
  fields.forEach((name, value) => {
    if (except.has(name)) return
    const previous = out[name]
    if (previous === undefined) out[name] = value
    else if (SINGLE.has(name)) return
    else if (Array.isArray(previous)) previous.push(value)
    else out[name] = [String(previous), value]
  })
  return out
}

/** Reads the trailers of a stream; null if one of them is refused. */
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

/** Appends a field line to the text and its positions to `spans`. */
function appendField(text: string, spans: number[], name: string, value: string): string {
  const at = text.length
  const from = at + name.length + 2
  spans.push(at, at + name.length, from, from + value.length)
  return text + name + ': ' + value + '\r\n'
}

/** -1 without one, null for an invalid one. */
function http2ContentLengthOf(head: HeaderFields): number | null {
  const value = head.get('content-length')
  return value === undefined ? -1 : parseContentLength(value)
}
