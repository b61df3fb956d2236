// Requests that a parser could read as two, or as a different one: their names, bytes, and the status that the gateway
// must answer with. HIDDEN must never be processed as a request of its own.

const HIDDEN = 'GET /hidden HTTP/1.1\r\nhost: a\r\n\r\n'

export interface Vector {
  readonly bytes: string
  /** The status of the response; below 300 if all parsers agree on one request. */
  readonly status: number
}

const POST = 'POST /first HTTP/1.1\r\nhost: a\r\n'
const LENGTH = `content-length: ${HIDDEN.length}\r\n`
const TE = 'transfer-encoding: chunked\r\n'
const EMPTY = '0\r\n\r\n'

/** A request with these fields and a length: the body is empty by its chunks, and contains HIDDEN by its length. */
function both(fields: string, status: number): Vector {
  const bytes = `${POST}content-length: ${EMPTY.length + HIDDEN.length}\r\n${fields}\r\n${EMPTY}${HIDDEN}`
  return { bytes, status }
}

/** A request with these fields only: a parser that ignores the coding reads the last chunk as another request. */
function coded(fields: string, status: number): Vector {
  return { bytes: `${POST}${fields}\r\n${EMPTY}`, status }
}

/** A chunked request with these body bytes. */
function chunks(body: string, status: number): Vector {
  return { bytes: `${POST}${TE}\r\n${body}`, status }
}

/** A request with these fields, followed by HIDDEN, which may be read as its body. */
function lengths(fields: string, status: number): Vector {
  return { bytes: `${POST}${fields}\r\n${HIDDEN}`, status }
}

function line(first: string, status: number): Vector {
  return { bytes: `${first}\r\nhost: a\r\n\r\n`, status }
}

const CODINGS: Record<string, string> = {
  'an unknown coding': 'transfer-encoding: xchunked\r\n',
  identity: 'transfer-encoding: identity\r\n',
  'identity after chunked': 'transfer-encoding: chunked, identity\r\n',
  'identity before chunked': 'transfer-encoding: identity, chunked\r\n',
  'two codings on two lines': 'transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n',
  'chunked twice': 'transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n',
  'chunked in quotes': 'transfer-encoding: "chunked"\r\n',
  'a vertical tab after chunked': 'transfer-encoding: chunked\x0b\r\n',
  'NUL after chunked': 'transfer-encoding: chunked\0\r\n',
  'a parameter of chunked': 'transfer-encoding: chunked;a=b\r\n',
  'a comma before chunked': 'transfer-encoding: ,chunked\r\n',
  'a space before the colon': 'transfer-encoding : chunked\r\n',
  'a tab before the colon': 'transfer-encoding\t: chunked\r\n',
  'a space before the name': ' transfer-encoding: chunked\r\n',
  'a fold': 'transfer-encoding:\r\n chunked\r\n',
  'a fold in another field': 'x: y\r\n transfer-encoding: chunked\r\n',
  'a bare LF before the name': 'x: y\ntransfer-encoding: chunked\r\n',
  'a bare CR before the name': 'x: y\rtransfer-encoding: chunked\r\n',
  'a bare LF after the value': 'transfer-encoding: chunked\n',
  'NUL in the name': 'transfer-encoding\0: chunked\r\n',
  'no colon': 'transfer-encoding chunked\r\n',
  'no name': ': chunked\r\n',
}

const LENGTHS: Record<string, string> = {
  'two lengths': `content-length: 0\r\n${LENGTH}`,
  'two lengths the other way': `${LENGTH}content-length: 0\r\n`,
  'the same length twice': LENGTH.repeat(2),
  'a list of lengths': `content-length: ${HIDDEN.length}, ${HIDDEN.length}\r\n`,
  'a length with a sign': `content-length: +${HIDDEN.length}\r\n`,
  'a negative length': 'content-length: -1\r\n',
  'a length in hexadecimal': 'content-length: 0x5\r\n',
  'a length with a point': `content-length: ${HIDDEN.length}.0\r\n`,
  'a length with a space inside': 'content-length: 3 5\r\n',
  'a length without a number': 'content-length:\r\n',
  'a length above 64 bits': 'content-length: 18446744073709551616\r\n',
  'a length with leading zeros': `content-length: 0000000000000000${HIDDEN.length}\r\n`,
  'a length with a space before the colon': `content-length : ${HIDDEN.length}\r\n`,
  'a length on a folded line': `content-length:\r\n ${HIDDEN.length}\r\n`,
  'a length after a bare LF': `x: y\n${LENGTH}`,
}

const CHUNKS: Record<string, Vector> = {
  'a size in another notation': chunks(`0x0\r\n\r\n${HIDDEN}`, 400),
  'a size with a sign': chunks(`+0\r\n\r\n${HIDDEN}`, 400),
  'a negative size': chunks(`-1\r\n\r\n${HIDDEN}`, 400),
  'a space before the size': chunks(` 0\r\n\r\n${HIDDEN}`, 400),
  'no size': chunks(`\r\n${HIDDEN}`, 400),
  'a size above 64 bits': chunks(`10000000000000000\r\n\r\n${HIDDEN}`, 400),
  'a bare LF after the size': chunks(`0\n\n${HIDDEN}`, 400),
  'a bare CR after the size': chunks(`0\r\r\n\r\n${HIDDEN}`, 400),
  'a bare LF in an extension': chunks(`0;a\nb\r\n\r\n${HIDDEN}`, 400),
  'a bare CR in an extension': chunks(`0;a\rb\r\n\r\n${HIDDEN}`, 400),
  'an extension that hides a line': chunks(`1;a="\r\nx\r\n0\r\n\r\n${HIDDEN}`, 400),
  'NUL in an extension': chunks(`0;a=\0\r\n\r\n${HIDDEN}`, 400),
  'more content than the size': chunks(`1\r\nxyz\r\n0\r\n\r\n`, 400),
  'no line end after the content': chunks(`1\r\nx0\r\n\r\n`, 400),
  'a bare LF after the content': chunks(`1\r\nx\n0\r\n\r\n`, 400),
  'a length among the trailers': chunks(`0\r\ncontent-length: 5\r\n\r\n`, 400),
  'a coding among the trailers': chunks(`0\r\ntransfer-encoding: chunked\r\n\r\n`, 400),
  'a host among the trailers': chunks(`0\r\nhost: b\r\n\r\n`, 400),
  'a trailer with a bare LF': chunks(`0\r\nx: y\n\r\n\r\n`, 400),
  'a trailer without a colon': chunks(`0\r\nGET /hidden HTTP/1.1\r\n\r\n`, 400),
  'a request as an extension': chunks(`0;${HIDDEN}`, 400),
}

const HEADS: Record<string, Vector> = {
  'chunks in HTTP/1.0': {
    bytes: `POST /first HTTP/1.0\r\nhost: a\r\n${TE}connection: keep-alive\r\n\r\n${EMPTY}${HIDDEN}`,
    status: 400,
  },
  'two hosts': { bytes: 'GET /first HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n', status: 400 },
  'no host': { bytes: 'GET /first HTTP/1.1\r\n\r\n', status: 400 },
  'a host with a path': { bytes: 'GET /first HTTP/1.1\r\nhost: a/hidden\r\n\r\n', status: 400 },
  'a host with a user': { bytes: 'GET /first HTTP/1.1\r\nhost: b@a\r\n\r\n', status: 400 },
  'a host with a space': { bytes: 'GET /first HTTP/1.1\r\nhost: a b\r\n\r\n', status: 400 },
  'lines that end in LF': { bytes: 'GET /first HTTP/1.1\nhost: a\n\n', status: 400 },
  'a head that ends in LF': { bytes: 'GET /first HTTP/1.1\r\nhost: a\r\n\n', status: 400 },
  'a host after a fold': {
    bytes: 'GET /first HTTP/1.1\r\n host: b\r\nhost: a\r\n\r\n',
    status: 400,
  },
  'another host in the target': {
    bytes: 'GET http://b/first HTTP/1.1\r\nhost: a\r\n\r\n',
    status: 200,
  },
  'a user in the target': line('GET http://b@a/first HTTP/1.1', 400),
  'another scheme': line('GET ftp://a/first HTTP/1.1', 400),
  'two spaces': line('GET  /first HTTP/1.1', 400),
  'a tab': line('GET\t/first HTTP/1.1', 400),
  'a space in the target': line('GET /first /hidden HTTP/1.1', 400),
  'a space after the version': line('GET /first HTTP/1.1 ', 400),
  'no version': line('GET /first', 400),
  'a version of four digits': line('GET /first HTTP/01.1', 400),
  'a later version': line('GET /first HTTP/1.2', 505),
  'a version in lower case': line('GET /first http/1.1', 400),
  'NUL in the target': line('GET /first\0 HTTP/1.1', 400),
  'a bare CR in the target': line('GET /fi\rrst HTTP/1.1', 400),
  'a fragment': line('GET /first#a HTTP/1.1', 400),
  'a method in lower case': line('get /first HTTP/1.1', 501),
  'a method with a colon': line('GET: /first HTTP/1.1', 400),
  'a bare LF before the line': line('\nGET /first HTTP/1.1', 400),
  'a proxy method': line('CONNECT a:80 HTTP/1.1', 405),
  'an upgrade to h2c': {
    bytes:
      'GET /first HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n\r\n',
    status: 200,
  },
}

function named(what: string, list: Record<string, Vector>): [string, Vector][] {
  return Object.entries(list).map(([name, vector]) => [`${what}${name}`, vector])
}

function mapped(list: Record<string, string>, make: (text: string, status: number) => Vector) {
  return Object.fromEntries(Object.entries(list).map(([name, text]) => [name, make(text, 400)]))
}

export const VECTORS: readonly (readonly [string, Vector])[] = [
  ['a length next to chunks', both(TE, 400)],
  ['chunks next to a length', { bytes: `${POST}${TE}${LENGTH}\r\n${EMPTY}${HIDDEN}`, status: 400 }],
  ...named('a length next to ', mapped(CODINGS, both)),
  ...named('nothing but ', mapped(CODINGS, coded)),
  [
    'a Connection header that names the coding',
    coded(`connection: transfer-encoding\r\n${TE}`, 200),
  ],
  ['a Connection header that names a length', coded(`connection: content-length\r\n${TE}`, 200)],
  ['a coding in upper case', coded('TRANSFER-ENCODING: CHUNKED\r\n', 200)],
  ...named('', mapped(LENGTHS, lengths)),
  ...named('chunks with ', CHUNKS),
  ...named('', HEADS),
]
