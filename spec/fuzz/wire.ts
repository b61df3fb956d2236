// Fuzzing of heads and framing: the result does not depend on how bytes are split, and accepted messages are read equally
// by other parsers.

import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { GatewayError } from '../../lib/core/errors.ts'
import type { RequestHead, ResponseHead } from '../../lib/core/head.ts'
import { BodyFramer } from '../../lib/http/framer.ts'
import { parseRequestHead, parseResponseHead } from '../../lib/http/parse-head.ts'
import { deadline } from '../support/deadline.ts'
import { CUTS, changed, changes, cutAt } from './mutate.ts'
import { target } from './target.ts'

const LIMITS = { maxHeadBytes: 4096, maxHeaders: 16 }
const WAIT_MS = 30_000

const PIECES = [
  ...['\r\n', '\n', '\r', '\0', ' ', '\t', ':', ',', ';', '"', '\x0b', '\x7f', '\xff', '#', '%00'],
  ...[
    'content-length: 5\r\n',
    'transfer-encoding: chunked\r\n',
    'host: b\r\n',
    'chunked',
    '0',
    '-1',
  ],
  ...[
    'connection: close\r\n',
    'upgrade: h2c\r\n',
    ' HTTP/1.1\r\n',
    'HTTP/1.0',
    'HTTP/2.0',
    '\r\n\r\n',
  ],
]
const REQUESTS = [
  'GET / HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\n\r\n',
  'POST /p?q=1 HTTP/1.1\r\nhost: a:80\r\ncontent-length: 12\r\ncontent-type: text/plain\r\n\r\n',
  'PUT /x HTTP/1.1\r\nhost: [::1]\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n',
  'GET http://b/y HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
  'OPTIONS * HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\n\r\n',
]
const RESPONSES = [
  'HTTP/1.1 200 OK\r\ncontent-length: 12\r\nkeep-alive: timeout=5\r\n\r\n',
  'HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n',
  'HTTP/1.0 204 \r\n\r\n',
]
const CHUNKS = [
  '5\r\nhello\r\n6;a=b;c="d e"\r\n world\r\n0\r\n\r\n',
  'a\r\n0123456789\r\n0;x\r\nx-sum: 1\r\nx-more: 2\r\n\r\n',
]

type Read<T> = (bytes: Buffer, from: number, to: number, limits: typeof LIMITS) => T | null

/** Parses like a connection, from the start with each new chunk; returns the result and where it ends. */
function read(parse: Read<RequestHead | ResponseHead>, chunks: readonly Buffer[]): unknown {
  let come = Buffer.alloc(0)
  for (const chunk of chunks) {
    come = Buffer.concat([come, chunk])
    try {
      const head = parse(come, 0, come.length, LIMITS)
      if (head !== null) return [JSON.stringify(head), head.fieldsText()]
    } catch (error) {
      if (error instanceof GatewayError) return error.code
      throw error
    }
  }
  return 'incomplete'
}

function heads(name: string, valid: readonly string[], parse: Read<RequestHead | ResponseHead>) {
  return target(name, async () =>
    fc.asyncProperty(fc.constantFrom(...valid), changes(PIECES), CUTS, async (text, made, cuts) => {
      const bytes = changed(text, made)
      assert.equal(read(parse, cutAt(bytes, cuts)), read(parse, cutAt(bytes, [])))
    }),
  )
}

/** The result of node:http: the method and target of the first request, or a refusal. */
class NodeHttp {
  readonly #server = createServer({ requireHostHeader: false })

  async verdictOn(text: string): Promise<string> {
    const socket = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() })
    const verdict = new Promise<string>((resolve) => {
      this.#server.removeAllListeners()
      const asked = ({ method, url }: IncomingMessage): void => resolve(`${method} ${url}`)
      for (const event of ['request', 'upgrade', 'checkContinue', 'checkExpectation', 'connect'])
        this.#server.on(event, asked)
      this.#server.on('clientError', () => resolve('refused'))
      // Without a listener of its own nothing reads the socket.
      const [attach] = createServer().listeners('connection') as ((socket: Duplex) => void)[]
      attach!.call(this.#server, socket)
      socket.push(Buffer.from(text, 'latin1'))
    })
    try {
      return await deadline(verdict, WAIT_MS, 'a verdict of node:http')
    } finally {
      socket.destroy()
    }
  }
}

const agreed = target(
  'accepts no request that node:http refuses or reads differently',
  async () => {
    const other = new NodeHttp()
    return fc.asyncProperty(fc.constantFrom(...REQUESTS), changes(PIECES), async (text, made) => {
      const bytes = Buffer.from(changed(text, made), 'latin1')
      let head: RequestHead | null
      try {
        head = parseRequestHead(bytes, 0, bytes.length, LIMITS)
      } catch {
        return
      }
      if (head === null) return
      const start = bytes.latin1Slice(0, head.end).replace(/^(\r\n)+/, '')
      const [method, target = ''] = start.split(' ', 2)
      assert.is(await other.verdictOn(start), `${method} ${target}`)
    })
  },
)

/** The content, the trailers and the bytes after them; or the error. */
function unchunked(chunks: readonly Buffer[]): unknown {
  const framer = new BodyFramer()
  framer.start('chunked', 0)
  let content = ''
  let rest = ''
  framer.onContent = (bytes, from, to) => (content += bytes.latin1Slice(from, to))
  for (const chunk of chunks) {
    try {
      const end = framer.consume(chunk, 0, chunk.length)
      rest += chunk.latin1Slice(end, chunk.length)
    } catch (error) {
      if (error instanceof GatewayError) return error.code
      throw error
    }
  }
  return framer.isOver ? [content, framer.trailerText, rest] : 'incomplete'
}

const framing = target('finds the same end of a chunked body at every split', async () =>
  fc.asyncProperty(fc.constantFrom(...CHUNKS), changes(PIECES), CUTS, async (text, made, cuts) => {
    const bytes = `${changed(text, made)}GET / HTTP/1.1\r\n`
    assert.equal(unchunked(cutAt(bytes, cuts)), unchunked(cutAt(bytes, [])))
  }),
)

export const WIRE = [
  heads('reads a request head alike, cut anywhere', REQUESTS, parseRequestHead),
  heads('reads a response head alike, cut anywhere', RESPONSES, parseResponseHead),
  agreed,
  framing,
]
