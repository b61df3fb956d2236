// The backend of every measure: a raw HTTP/1.1 server that does almost nothing per request.
// POST /echo · GET /sse?interval=ms · GET /download?bytes=n · POST /upload?stall=ms · chats of chat-fixtures.ts.
// Argument: port.
import type { Socket } from 'node:net'
import {
  CHAT_ANSWER,
  CHAT_END,
  CHAT_PATH,
  WHOLE_BASE,
  WHOLE_TARGET,
  chatChunk,
} from './chat-fixtures.ts'
import { ANSWER_BODY, eventChunk, nowMicros } from './fixtures.ts'
import { EventStreams } from './event-streams.ts'
import { serve } from './socket.ts'

const JSON_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: '
const ECHO = `${JSON_HEAD}${ANSWER_BODY.length}\r\n\r\n${ANSWER_BODY}`
const CHAT = `${JSON_HEAD}${CHAT_ANSWER.length}\r\n\r\n${CHAT_ANSWER}`
const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n' +
  'transfer-encoding: chunked\r\n\r\n'
/** The number of chunks of a chat that is not paced. */
const PROMPT_CHUNKS = 20
const BLOCK = Buffer.alloc(64 * 1024, 'x')

const streams = new EventStreams()

class Connection {
  readonly socket: Socket
  #head = ''
  #path = ''
  #bodyLeft = 0
  #bodySize = 0

  constructor(adopt: (onBytes: (count: number, buffer: Buffer) => boolean) => Socket) {
    this.socket = adopt((count, buffer) => this.#read(count, buffer))
    this.socket.on('error', () => this.socket.destroy())
    this.socket.on('end', () => this.socket.end())
  }

  #read(count: number, buffer: Buffer): boolean {
    if (this.#bodyLeft > 0) {
      this.#bodyLeft -= count
      if (this.#bodyLeft === 0) this.#answer()
      return true
    }
    const text = this.#head + buffer.toString('latin1', 0, count)
    const end = text.indexOf('\r\n\r\n')
    if (end < 0) {
      this.#head = text
      return true
    }
    this.#head = ''
    this.#path = text.substring(text.indexOf(' ') + 1, text.indexOf(' HTTP/1.'))
    this.#bodySize = bodySize(text, end)
    this.#bodyLeft = this.#bodySize - (text.length - end - 4)
    if (this.#bodyLeft === 0) this.#answer()
    else if (this.#path.startsWith('/upload')) return this.#stall()
    return true
  }

  /** Leaves the body unread for a while: the slow reader of an upload. */
  #stall(): boolean {
    const wait = numberIn(this.#path, 'stall')
    if (wait === 0) return true
    setTimeout(() => this.socket.resume(), wait)
    return false
  }

  #answer(): void {
    if (this.#path === '/echo') this.socket.write(ECHO, 'latin1')
    else if (this.#path.startsWith(CHAT_PATH)) this.#chat()
    else if (this.#path.startsWith(WHOLE_BASE)) this.socket.write(CHAT, 'latin1')
    else if (this.#path.startsWith('/sse')) this.#stream()
    else if (this.#path.startsWith('/download')) this.#download(numberIn(this.#path, 'bytes'))
    else if (this.#path.startsWith('/upload')) this.#received()
    else this.socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')
  }

  /** With an interval of 0 the first event is the only one, and the stream stays open. */
  #stream(): void {
    const interval = numberIn(this.#path, 'interval')
    if (interval === 0)
      return void this.socket.write(STREAM_HEAD + eventChunk(nowMicros()), 'latin1')
    this.socket.write(STREAM_HEAD, 'latin1')
    streams.add(this.socket, interval)
  }

  /** Answers a chat: complete, as a stream at once, or as a paced stream. */
  #chat(): void {
    if (this.#path === WHOLE_TARGET) return void this.socket.write(CHAT, 'latin1')
    const interval = numberIn(this.#path, 'interval')
    if (interval === 0) {
      this.socket.write(STREAM_HEAD + chatChunk(nowMicros()), 'latin1')
      this.socket.write(chatChunk(nowMicros()).repeat(PROMPT_CHUNKS - 1) + CHAT_END, 'latin1')
      return
    }
    this.socket.write(STREAM_HEAD, 'latin1')
    streams.add(this.socket, interval, numberIn(this.#path, 'chunks'), (left) =>
      left > 0 ? chatChunk(nowMicros()) : chatChunk(nowMicros()) + CHAT_END,
    )
  }

  #received(): void {
    const body = JSON.stringify({ received: this.#bodySize })
    this.socket.write(`${JSON_HEAD}${body.length}\r\n\r\n${body}`, 'latin1')
  }

  #download(bytes: number): void {
    this.socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: ${bytes}\r\n\r\n`,
    )
    let left = bytes
    const fill = (): void => {
      while (left > 0 && !this.socket.destroyed) {
        const size = Math.min(left, BLOCK.length)
        left -= size
        if (!this.socket.write(size === BLOCK.length ? BLOCK : BLOCK.subarray(0, size))) {
          this.socket.once('drain', fill)
          return
        }
      }
    }
    fill()
  }
}

function bodySize(text: string, end: number): number {
  const found = /\r\ncontent-length: *(\d+)/i.exec(text.substring(0, end))
  return Number(found?.[1] ?? 0)
}

function numberIn(path: string, key: string): number {
  const at = path.indexOf(`${key}=`)
  return at < 0 ? 0 : Number.parseInt(path.substring(at + key.length + 1), 10)
}

serve((adopt) => new Connection(adopt)).listen(Number(process.argv[2]), '127.0.0.1', 4096)
