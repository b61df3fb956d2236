// A backend that parses requests strictly, records each, and answers with its number and target, so that a response to
// the wrong client is detected.

import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { deadline } from '../deadline.ts'

const WAIT_MS = 30_000

export interface RecordedRequest {
  readonly number: number
  /** From the request line to the empty line, as latin1. */
  readonly head: string
  readonly target: string
  readonly body: string
}

/** Lines that all parsers read in the same way. */
const CLEAN_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+ [\x21-\x7e\x80-\xff]+ HTTP\/1\.1$/
const CLEAN_FIELD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*$/
const FRAMING_FIELD = /^(?:transfer-encoding|content-length)\b/i
const CLEAN_FRAMING_FIELD = /^(?:transfer-encoding: ?chunked|content-length: ?\d+)$/i

export class Recorder {
  readonly requests: RecordedRequest[] = []
  /** The heads that are malformed, or that parsers could read differently. */
  readonly ambiguous: string[] = []
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor() {
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket))
    this.#server.unref()
  }

  static async start(): Promise<Recorder> {
    const recorder = new Recorder()
    const listening = new Promise<void>((resolve) =>
      recorder.#server.listen(0, '127.0.0.1', resolve),
    )
    await deadline(listening, WAIT_MS, 'the backend to listen')
    return recorder
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    await deadline(closed, WAIT_MS, 'the backend to close')
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    let text = ''
    socket.unref()
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
      for (let read = readRequest(text); read !== null; read = readRequest(text)) {
        text = text.substring(read.length)
        socket.write(this.#answer(read.head, read.body))
      }
    })
  }

  #answer(head: string, body: string): string {
    const target = head.split(' ', 2)[1] ?? ''
    const number = this.requests.length
    this.requests.push({ number, head, target, body })
    if (!isClean(head)) this.ambiguous.push(head)
    const page = `seen ${number} ${target}\n`
    return `HTTP/1.1 200 OK\r\ncontent-length: ${page.length}\r\n\r\n${page}`
  }
}

function isClean(head: string): boolean {
  const [line = '', ...fields] = head.split('\r\n').slice(0, -2)
  const count = (name: string): number =>
    fields.filter((field) => field.toLowerCase().startsWith(`${name}:`)).length
  return (
    CLEAN_LINE.test(line) &&
    fields.every((field) => CLEAN_FIELD.test(field)) &&
    fields.every((field) => !FRAMING_FIELD.test(field) || CLEAN_FRAMING_FIELD.test(field)) &&
    count('host') === 1 &&
    count('content-length') + count('transfer-encoding') < 2
  )
}

/** The first complete request of the text; null if there is none yet. Simple, and stricter than any server. */
function readRequest(text: string): { head: string; body: string; length: number } | null {
  const end = text.indexOf('\r\n\r\n') + 4
  if (end < 4) return null
  const head = text.substring(0, end)
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  const isChunked = /\r\ntransfer-encoding:[^\r]*chunked/i.test(head)
  if (!isChunked)
    return text.length < end + length
      ? null
      : { head, body: text.substring(end, end + length), length: end + length }
  let body = ''
  for (let at = end; ;) {
    const line = text.indexOf('\r\n', at)
    if (line < 0) return null
    const size = parseInt(text.substring(at, line), 16)
    if (size === 0) {
      // Trailers, if any, end with an empty line as well.
      const last = text.indexOf('\r\n\r\n', line)
      return last < 0 ? null : { head, body, length: last + 4 }
    }
    if (!(size > 0)) return { head: `${head}?`, body, length: text.length }
    if (text.length < line + size + 4) return null
    body += text.substring(line + 2, line + 2 + size)
    at = line + size + 4
  }
}
