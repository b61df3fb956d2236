// The backend of a gateway that warms up: it answers every request with the same chat, whole or in events.

import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { openAlone } from '../base/processes/open-port.ts'

/** In the body of a request that wants events. */
export const IN_EVENTS = '"stream":true'

const USAGE = '"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}'
/** What its answers end with, whole and in events. */
export const ENDS = [`${USAGE}}`, '\r\n0\r\n\r\n']

/** Each is written in a turn of its own. */
const EVENTS = 8
/** Of the gateways; who else comes is not let in. */
const MAX_CONNECTIONS = 64

const ANSWER = '{"object":"chat.completion","model":"m","choices":[{"index":0,"message":'
const PIECE = '{"object":"chat.completion.chunk","model":"m","choices":['

const WHOLE = whole(
  `${ANSWER}{"role":"assistant","content":"Hi."},"finish_reason":"stop"}],${USAGE}}`,
)
/** The connection goes with it, so that others are opened. */
const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n' +
  'transfer-encoding: chunked\r\nconnection: close\r\n\r\n'
const EVENT = event(`${PIECE}{"index":0,"delta":{"content":"Hi."}}]}`)
const LAST = `${event(`${PIECE}],${USAGE}}`)}${event('[DONE]')}0\r\n\r\n`

export class ChatBackend {
  readonly port: number
  readonly #server: Server
  readonly #sockets: Set<Socket>

  private constructor(server: Server, sockets: Set<Socket>, port: number) {
    this.port = port
    this.#server = server
    this.#sockets = sockets
  }

  static async open(): Promise<ChatBackend> {
    const sockets = new Set<Socket>()
    const server = createServer({ noDelay: true }, (socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      welcome(socket)
    })
    server.maxConnections = MAX_CONNECTIONS
    const { port } = await openAlone(server, { host: '127.0.0.1', port: 0 })
    return new ChatBackend(server, sockets, port)
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}

function welcome(socket: Socket): void {
  socket.on('error', () => socket.destroy())
  socket.setEncoding('latin1').on('data', (text: string) => {
    // A stranger, who asks and takes no answers.
    if (socket.writableNeedDrain) socket.destroy()
    else if (text.includes(IN_EVENTS)) tell(socket, EVENTS)
    // The head of a request may come without its body, which is an object.
    else if (text.startsWith('GET ') || text.endsWith('}')) socket.write(WHOLE, 'latin1')
  })
}

function tell(socket: Socket, left: number): void {
  if (socket.destroyed) return
  if (left === 0) return void socket.end(LAST, 'latin1')
  socket.write(left === EVENTS ? HEAD + EVENT : EVENT, 'latin1')
  setImmediate(() => tell(socket, left - 1))
}

function whole(body: string): string {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
  return `${head}content-length: ${body.length}\r\n\r\n${body}`
}

function event(data: string): string {
  const text = `data: ${data}\n\n`
  return `${text.length.toString(16)}\r\n${text}\r\n`
}
