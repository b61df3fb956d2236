// The backend of a gateway that warms up: it answers every request with the same chat, whole or in events.

import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { openAlone } from '../base/processes/open-port.ts'

/** In the body of a request that wants events. */
export const IN_EVENTS = '"stream":true'

/** Events of a stream, each in a turn of its own. */
const EVENTS = 8

const USAGE = '"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}'
const WHOLE = whole(
  `{"object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}],${USAGE}}`,
)
/** The connection goes with it, so that others are opened. */
const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n'
const EVENT = event(
  '{"object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"Hi."}}]}',
)
const END = `${event(`{"object":"chat.completion.chunk","model":"m","choices":[],${USAGE}}`)}${event('[DONE]')}0\r\n\r\n`

export class Backend {
  readonly port: number
  readonly #server: Server
  readonly #sockets: Set<Socket>

  private constructor(server: Server, sockets: Set<Socket>, port: number) {
    this.port = port
    this.#server = server
    this.#sockets = sockets
  }

  static async open(): Promise<Backend> {
    const sockets = new Set<Socket>()
    const server = createServer({ noDelay: true }, (socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      welcome(socket)
    })
    const { port } = await openAlone(server, { host: '127.0.0.1', port: 0 })
    return new Backend(server, sockets, port)
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}

function welcome(socket: Socket): void {
  socket.on('error', () => socket.destroy())
  socket.setEncoding('latin1').on('data', (text: string) => {
    if (text.includes(IN_EVENTS)) tell(socket, EVENTS)
    // The head of a request may come without its body, which is an object.
    else if (text.startsWith('GET ') || text.endsWith('}')) socket.write(WHOLE, 'latin1')
  })
}

function tell(socket: Socket, left: number): void {
  if (socket.destroyed) return
  if (left === 0) return void socket.end(END, 'latin1')
  socket.write(left === EVENTS ? HEAD + EVENT : EVENT, 'latin1')
  setImmediate(() => tell(socket, left - 1))
}

function whole(body: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

function event(data: string): string {
  const text = `data: ${data}\n\n`
  return `${text.length.toString(16)}\r\n${text}\r\n`
}
