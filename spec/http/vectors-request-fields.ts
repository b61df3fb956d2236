// Request fields, their meaning for framing and the connection, and the expected result.

import { BAD_FRAMING, BAD_HEAD, HOST, get, head, post, vector } from './vector.ts'
import type { RequestVector } from './vector.ts'

const FIELDS = [
  vector('white space around values', get('x:1\r\ny: \t 2 \t\r\nz:\r\n'), {
    fields: `${HOST}x:1\r\ny: \t 2 \t\r\nz:\r\n`,
  }),
  vector('upper half of latin1 in a value', get('x: D\xfcsseldorf\xff\r\n'), {}),
  vector('tab inside a value', get('x: a\tb\r\n'), {}),
  vector('every token character in a name', get("!#$%&'*+-.^_`|~09azAZ: 1\r\n"), {}),
  vector('folded value', get('x: 1\r\n 2\r\n'), BAD_HEAD),
  vector('value that starts on the next line', get('x:\r\n 2\r\n'), BAD_HEAD),
  vector('folded by a tab', get('x: 1\r\n\t2\r\n'), BAD_HEAD),
  vector('space before the first field', head('GET / HTTP/1.1', ' x: 1\r\nhost: a\r\n'), BAD_HEAD),
  vector('space before the colon', get('x : 1\r\n'), BAD_HEAD),
  vector('tab before the colon', get('x\t: 1\r\n'), BAD_HEAD),
  vector('space before the colon of Content-Length', get('content-length : 5\r\n'), BAD_HEAD),
  vector('space before the colon of Connection', get('connection : close\r\n'), BAD_HEAD),
  vector('space in a name', get('x y: 1\r\n'), BAD_HEAD),
  vector('line without a colon', get('x\r\n'), BAD_HEAD),
  vector('no name', get(': 1\r\n'), BAD_HEAD),
  vector('name that is no token', get('x@: 1\r\n'), BAD_HEAD),
  vector('upper half of latin1 in a name', get('x\xe9: 1\r\n'), BAD_HEAD),
  vector('NUL in a name', get('x\x00: 1\r\n'), BAD_HEAD),
  vector('CR in a name', get('content\rlength: 1\r\n'), BAD_HEAD),
  ...[0, 1, 8, 11, 12, 27, 31, 127].map((control) =>
    vector(
      `control byte ${control} in a value`,
      get(`x: a${String.fromCharCode(control)}b\r\n`),
      BAD_HEAD,
    ),
  ),
  vector('bare LF after the request line', 'GET / HTTP/1.1\nhost: a\r\n\r\n', BAD_HEAD),
  vector('bare LF after a value', 'GET / HTTP/1.1\r\nhost: a\n\r\n', BAD_HEAD),
  vector('bare LF after an empty value', get('x:\ny: 1\r\n'), BAD_HEAD),
  vector('bare LF that hides a field', get('x: 1\nTransfer-Encoding: chunked\r\n'), BAD_HEAD),
  vector('bare LF as the empty line', 'GET / HTTP/1.1\r\nhost: a\r\n\n', BAD_HEAD),
  vector('only LFs', 'GET / HTTP/1.1\nhost: a\n\n', BAD_HEAD),
  vector('bare CR after the request line', 'GET / HTTP/1.1\rhost: a\r\n\r\n', BAD_HEAD),
  vector('bare CR after a value', get('x: 1\ry: 2\r\n'), BAD_HEAD),
  vector('bare CR after an empty value', get('x:\ry: 2\r\n'), BAD_HEAD),
  vector('bare CR as the empty line', 'GET / HTTP/1.1\r\nhost: a\r\n\rGET', BAD_HEAD),
]

const FRAMINGS = [
  vector('length', post('content-length: 42\r\n') + 'body', { length: 42, chunked: false }),
  vector('length in odd case and space', post('conTENT-Length:\t 5  \r\n'), {
    length: 5,
    fields: `${HOST}content-length: 5\r\n`,
  }),
  vector('length with zeros first', post('content-length: 003\r\n'), { length: 3 }),
  // Valid, but this llhttp refuses it; newer ones accept it.
  vector('tab after a length', post('content-length: 5\t\r\n'), BAD_FRAMING),
  vector('length zero', post('content-length: 0\r\n'), { length: 0 }),
  vector('length followed by a field', post('content-length: 3\r\nx: 1\r\n'), { length: 3 }),
  vector('name that starts like Content-Length', post('content-length-x: 3\r\n'), { length: -1 }),
  ...['', '+5', '-5', '0x5', '5 5', '5,5', '5, 5', '5;', '5.0', '1e2', 'five', '"5"'].map(
    (length) =>
      vector(
        `length ${JSON.stringify(length)}`,
        post(`content-length: ${length}\r\n`),
        BAD_FRAMING,
      ),
  ),
  vector('two lengths', post('content-length: 1\r\ncontent-length: 2\r\n'), BAD_FRAMING),
  vector('two equal lengths', post('content-length: 1\r\nContent-Length: 1\r\n'), BAD_FRAMING),
  vector('length above 2^53', post('content-length: 9007199254740993\r\n'), BAD_FRAMING),
  vector('length above 2^64', post('content-length: 18446744073709551617\r\n'), BAD_FRAMING),
  vector('length above all', post(`content-length: 1${'0'.repeat(40)}\r\n`), BAD_FRAMING),
  vector('chunked', post('transfer-encoding: chunked\r\n') + '0\r\n\r\n', {
    chunked: true,
    length: -1,
  }),
  // Forwarded as it came, the tab would hide the coding from some servers.
  vector('chunked in odd case', post('Transfer-Encoding:\tChunKed \r\n'), {
    chunked: true,
    fields: `${HOST}transfer-encoding: ChunKed\r\n`,
  }),
  vector('tab after chunked', post('transfer-encoding: chunked\t\r\nx: y\r\n'), {
    chunked: true,
    fields: `${HOST}x: y\r\ntransfer-encoding: chunked\r\n`,
  }),
  vector('space after chunked', post('transfer-encoding:  chunked\r\n'), {
    chunked: true,
    fields: `${HOST}transfer-encoding: chunked\r\n`,
  }),
  ...[
    '',
    'pigeons',
    'identity',
    'gzip',
    'gzip, chunked',
    'chunked, gzip',
    'chunked, chunked',
    'chunkedchunked',
    'xchunked',
    '"chunked"',
    'chunked;q=1',
    ', chunked',
    'chunked,',
  ].map((coding) =>
    vector(`transfer coding ${coding}`, post(`transfer-encoding: ${coding}\r\n`), BAD_FRAMING),
  ),
  vector(
    'chunked twice',
    post('transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n'),
    BAD_FRAMING,
  ),
  vector(
    'chunked, then another',
    post('transfer-encoding: chunked\r\ntransfer-encoding: gzip\r\n'),
    BAD_FRAMING,
  ),
  vector(
    'another, then chunked',
    post('transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n'),
    BAD_FRAMING,
  ),
  vector('chunked, folded', post('transfer-encoding: chunked\r\n x\r\n'), BAD_HEAD),
  vector('vertical tab before chunked', post('transfer-encoding:\x0bchunked\r\n'), BAD_HEAD),
  vector(
    'length, then chunked',
    post('content-length: 5\r\ntransfer-encoding: chunked\r\n'),
    BAD_FRAMING,
  ),
  vector(
    'chunked, then length',
    post('transfer-encoding: chunked\r\ncontent-length: 5\r\n'),
    BAD_FRAMING,
  ),
  vector(
    'length and identity',
    post('content-length: 5\r\ntransfer-encoding: identity\r\n'),
    BAD_FRAMING,
  ),
  vector(
    'length and an empty coding',
    post('content-length: 5\r\ntransfer-encoding:\r\n'),
    BAD_FRAMING,
  ),
  vector(
    'chunked in HTTP/1.0',
    head('POST / HTTP/1.0', 'transfer-encoding: chunked\r\n'),
    BAD_FRAMING,
  ),
]

const HOPS = [
  vector('close', get('connection: close\r\n'), { keepAlive: false, fields: HOST }),
  vector('close, tab after it', get('connection: close\t\r\n'), { keepAlive: false }),
  vector('close among others', get('connection: x, Close , keep-alive\r\n'), { keepAlive: false }),
  vector('close among others, tab after it', get('connection: x, close\t\r\n'), {
    keepAlive: false,
  }),
  vector('keep-alive', get('connection: keep-alive\r\nkeep-alive: 300\r\n'), {
    keepAlive: true,
    fields: HOST,
  }),
  vector(
    'fields that live for one hop',
    get('te: trailers\r\nproxy-connection: close\r\nx: 1\r\n'),
    {
      fields: `${HOST}x: 1\r\n`,
    },
  ),
  vector(
    'fields that Connection names',
    get('X-One: 1\r\nconnection: x-one, ,X-TWO\r\nx-two: 2\r\nx-three: 3\r\n'),
    {
      fields: `${HOST}x-three: 3\r\n`,
    },
  ),
  vector(
    'Connection in two lines',
    get('connection: x-a\r\nx-a: 1\r\nx-b: 2\r\nconnection: x-b\r\n'),
    {
      fields: HOST,
    },
  ),
  vector(
    'Connection names what frames and routes',
    post('connection: host, content-length\r\ncontent-length: 3\r\n'),
    {
      length: 3,
      authority: 'a',
      fields: `${HOST}content-length: 3\r\n`,
    },
  ),
  vector(
    'Connection names Transfer-Encoding',
    post('connection: transfer-encoding\r\ntransfer-encoding: chunked\r\n'),
    {
      chunked: true,
      fields: `${HOST}transfer-encoding: chunked\r\n`,
    },
  ),
  vector('credentials and Trailer stay', get('proxy-authorization: x\r\ntrailer: y\r\n'), {
    fields: `${HOST}proxy-authorization: x\r\ntrailer: y\r\n`,
  }),
  vector('upgrade', get('connection: Upgrade\r\nupgrade: websocket\r\n'), {
    upgrade: 'websocket',
    fields: HOST,
  }),
  vector('upgrade that Connection does not name', get('upgrade: websocket\r\n'), {
    upgrade: '',
    fields: HOST,
  }),
  vector('upgrade to h2c', get('connection: upgrade\r\nupgrade: h2c\r\n'), { upgrade: '' }),
  vector('upgrade to h2c among others', get('connection: upgrade\r\nupgrade: websocket, H2C\r\n'), {
    upgrade: '',
  }),
]

export const REQUEST_FIELDS: readonly RequestVector[] = [...FIELDS, ...FRAMINGS, ...HOPS]
