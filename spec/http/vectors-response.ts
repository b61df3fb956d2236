// Response heads and the expected results, in the classes of llhttp's published response vectors; the bytes are our own.
// A refused one is always BACKEND_INVALID, 503.

export interface AcceptedResponse {
  status?: number
  reason?: string
  version?: string
  length?: number
  chunked?: boolean
  keepAlive?: boolean
  keepAliveHint?: number
  upgrade?: string
  fields?: string
}

export interface ResponseVector {
  what: string
  bytes: string
  expect: AcceptedResponse | 'refused'
}

function vector(what: string, bytes: string, expect: ResponseVector['expect']): ResponseVector {
  return { what, bytes, expect }
}

function line(statusLine: string): string {
  return `${statusLine}\r\ncontent-length: 0\r\n\r\n`
}

/** A 200 with these field lines. */
function ok(fields: string): string {
  return `HTTP/1.1 200 OK\r\n${fields}\r\n`
}

const LINES = [
  vector('plain', line('HTTP/1.1 200 OK'), {
    status: 200,
    reason: 'OK',
    version: 'HTTP/1.1',
    length: 0,
    chunked: false,
    keepAlive: true,
    keepAliveHint: -1,
    upgrade: '',
    fields: 'content-length: 0\r\n',
  }),
  vector('no reason', line('HTTP/1.1 301'), { status: 301, reason: '' }),
  vector('empty reason', line('HTTP/1.1 200 '), { status: 200, reason: '' }),
  vector('reason of several words', line('HTTP/1.1 404 Not \tFound'), { reason: 'Not \tFound' }),
  vector('two spaces before the reason', line('HTTP/1.1 200  OK'), { reason: ' OK' }),
  vector('upper half of latin1 in the reason', line('HTTP/1.1 500 Ori\xebntatie'), {
    reason: 'Ori\xebntatie',
  }),
  vector('status beyond the classes', line('HTTP/1.1 999 Odd'), { status: 999 }),
  vector('HTTP/1.0', line('HTTP/1.0 200 OK'), { version: 'HTTP/1.0', keepAlive: false }),
  vector(
    'HTTP/1.0 kept alive',
    'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n',
    {
      keepAlive: true,
    },
  ),
  vector('no fields', 'HTTP/1.1 404 Not Found\r\n\r\n', {
    status: 404,
    length: -1,
    keepAlive: false,
  }),
  ...[
    'HTP/1.1 200 OK',
    'HTTPER/1.1 200 OK',
    'http/1.1 200 OK',
    'RTSP/1.1 200 OK',
    'ICE/1.1 200 OK',
    'HTTP/01.1 200 OK',
    'HTTP/11.1 200 OK',
    'HTTP/1.01 200 OK',
    'HTTP/1.1\t200 OK',
    'HTTP/0.9 200 OK',
    'HTTP/1.2 200 OK',
    'HTTP/2.0 200 OK',
    'HTTP/5.6 200 OK',
    'HTTP/1.1  200 OK',
    'HTTP/1.1 2 OK',
    'HTTP/1.1 20 OK',
    'HTTP/1.1 2000 OK',
    'HTTP/1.1 2x0 OK',
    'HTTP/1.1 000 OK',
    'HTTP/1.1 099 OK',
    'HTTP/1.1 -20 OK',
    'HTTP/1.1 200 O\x00K',
    'HTTP/1.1 200 O\x01K',
    'HTTP/1.1 200 O\x7fK',
    ' HTTP/1.1 200 OK',
    '\r\nHTTP/1.1 200 OK',
    '\rHTTP/1.1 200 OK',
    '\nHTTP/1.1 200 OK',
    'GET / HTTP/1.1',
    'garbage',
    '',
  ].map((status) => vector(`status line ${JSON.stringify(status)}`, line(status), 'refused')),
  vector('bare CR after the status line', 'HTTP/1.1 200 OK\rcontent-length: 0\r\n\r\n', 'refused'),
  vector(
    'two CRs after the status line',
    'HTTP/1.1 200 OK\r\rcontent-length: 0\r\n\r\n',
    'refused',
  ),
  vector('only LFs', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n', 'refused'),
]

const FIELDS = [
  vector('white space around values', ok('x:\t 1\r\ncontent-length:\t42  \r\n'), { length: 42 }),
  vector('names like others', ok('content-length-x: 0\r\n_onnection: close\r\n.et-Cookie: x\r\n'), {
    length: -1,
    fields: 'content-length-x: 0\r\n_onnection: close\r\n.et-Cookie: x\r\n',
  }),
  vector('empty value before another field', ok('pragma: \r\nlocation: /\r\n'), {
    fields: 'pragma: \r\nlocation: /\r\n',
  }),
  vector('space before the first field', ok(' x: 1\r\n'), 'refused'),
  vector('space in a name', ok('en-US Content-Type: text/xml\r\n'), 'refused'),
  vector('space before the colon', ok('x : 1\r\n'), 'refused'),
  vector('folded value', ok('x: 1\r\n 2\r\n'), 'refused'),
  vector('NUL in a value', ok('x: \x00\r\n'), 'refused'),
  vector('bare CR between fields', ok('x: 1\ry: 2\r\n'), 'refused'),
  vector('bare LF between fields', ok('x: 1\ny: 2\r\n'), 'refused'),
]

const FRAMINGS = [
  vector('until close', ok('connection: close\r\n'), { length: -1, keepAlive: false, fields: '' }),
  vector('until close, though kept alive', ok('connection: keep-alive\r\n'), { keepAlive: false }),
  vector('chunked', ok('transfer-encoding: chunked\r\n'), { chunked: true, keepAlive: true }),
  vector(
    'chunked in HTTP/1.0',
    'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n',
    {
      chunked: true,
      keepAlive: false,
    },
  ),
  vector(
    'length and chunked',
    ok('content-length: 5\r\ntransfer-encoding: chunked\r\n'),
    'refused',
  ),
  vector(
    'chunked and length',
    ok('transfer-encoding: chunked\r\ncontent-length: 5\r\n'),
    'refused',
  ),
  vector('two lengths', ok('content-length: 5\r\ncontent-length: 6\r\n'), 'refused'),
  vector('two equal lengths', ok('content-length: 5\r\ncontent-length: 5\r\n'), 'refused'),
  ...['', '+5', '-5', '5, 5', '0x5', '9007199254740993', '18446744073709551617'].map((length) =>
    vector(`length ${JSON.stringify(length)}`, ok(`content-length: ${length}\r\n`), 'refused'),
  ),
  ...[
    'identity',
    'gzip',
    'gzip, chunked',
    'chunked, gzip',
    'chunked, chunked',
    'chunkedchunked',
  ].map((coding) =>
    vector(`transfer coding ${coding}`, ok(`transfer-encoding: ${coding}\r\n`), 'refused'),
  ),
  vector(
    'chunked twice',
    ok('transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n'),
    'refused',
  ),
  vector('chunked, folded', ok('transfer-encoding: chunked\r\n x\r\n'), 'refused'),
  vector('204', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, keepAlive: true }),
  vector('304 with a length', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 10\r\n\r\n', {
    status: 304,
    length: 10,
    keepAlive: true,
  }),
  vector('100', 'HTTP/1.1 100 Continue\r\n\r\n', { status: 100, keepAlive: true }),
  vector('103 with fields', 'HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n', {
    status: 103,
    fields: 'link: </a.css>\r\n',
  }),
]

const HOPS = [
  vector('hint of the origin', ok('keep-alive: timeout=5, max=10\r\ncontent-length: 0\r\n'), {
    keepAliveHint: 5000,
    fields: 'content-length: 0\r\n',
  }),
  vector('fields that Connection names', ok('Connection: x-a\r\nX-A: 1\r\ncontent-length: 0\r\n'), {
    fields: 'content-length: 0\r\n',
  }),
  vector('proxy-connection', ok('proxy-connection: close\r\ncontent-length: 0\r\n'), {
    keepAlive: false,
    fields: 'content-length: 0\r\n',
  }),
  vector(
    'upgrade granted',
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    {
      status: 101,
      upgrade: 'websocket',
      fields: '',
    },
  ),
  vector(
    'upgrade granted, with a length',
    'HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: x\r\ncontent-length: 4\r\n\r\n',
    {
      status: 101,
      upgrade: 'x',
    },
  ),
  vector(
    'upgrade only offered',
    ok('connection: upgrade\r\nupgrade: h2c\r\ncontent-length: 4\r\n'),
    {
      upgrade: '',
      length: 4,
      fields: 'content-length: 4\r\n',
    },
  ),
]

export const RESPONSES: readonly ResponseVector[] = [...LINES, ...FIELDS, ...FRAMINGS, ...HOPS]
