// A rate limit service whose responses the spec writes, valid or not: the spec gets every stream.

import { once } from 'node:events'
import { createServer } from 'node:http2'
import type {
  Http2Server,
  IncomingHttpHeaders,
  ServerHttp2Session,
  ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { deadline } from '../deadline.ts'

const HEAD = { ':status': 200, 'content-type': 'application/grpc' } as const

type OnStream = (stream: ServerHttp2Stream, service: RawService) => void

export class RawService {
  readonly sessions: ServerHttp2Session[] = []
  readonly sockets: Socket[] = []
  readonly streams: ServerHttp2Stream[] = []
  onStream: OnStream
  onHead: (headers: IncomingHttpHeaders) => void = () => {}
  onBody: (bytes: Buffer) => void = () => {}
  readonly #server: Http2Server = createServer()
  #wake: (() => void)[] = []

  private constructor(onStream: OnStream) {
    this.onStream = onStream
    this.#server.on('connection', (socket: Socket) => this.sockets.push(socket))
    this.#server.on('session', (session) => this.sessions.push(session))
    this.#server.on('stream', (stream, headers) => {
      stream.on('error', () => {})
      this.onHead(headers)
      stream.on('data', (bytes: Buffer) => this.onBody(bytes))
      this.streams.push(stream)
      this.onStream(stream, this)
      const woken = this.#wake
      this.#wake = []
      for (const wake of woken) wake()
    })
    this.#server.on('sessionError', () => {})
  }

  static async start(onStream: OnStream = () => {}, at: number | string = 0): Promise<RawService> {
    const service = new RawService(onStream)
    if (typeof at === 'string') service.#server.listen(at)
    else service.#server.listen(at, '127.0.0.1')
    await deadline(once(service.#server, 'listening'), 30_000, 'a service to listen')
    return service
  }

  get endpoint() {
    const { port } = this.#server.address() as AddressInfo
    return { kind: 'tcp', host: '127.0.0.1', port } as const
  }

  /** Waits until it has received this many calls. */
  async waitForCalls(count: number): Promise<void> {
    while (this.streams.length < count) {
      const woken = new Promise<void>((resolve) => this.#wake.push(resolve))
      await deadline(woken, 30_000, `${count} calls`)
    }
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy()
    this.#server.close()
  }
}

export function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

/** `overall_code: OK`, or another. */
export function codeMessage(code: number): Buffer {
  return Buffer.from([8, code])
}

/** A complete response in these pieces. */
export function answer(
  stream: ServerHttp2Stream,
  pieces: readonly Buffer[],
  trailers: Record<string, string> = { 'grpc-status': '0' },
): void {
  stream.respond(HEAD, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers(trailers))
  for (const piece of pieces) stream.write(piece)
  stream.end()
}

export function answerOk(stream: ServerHttp2Stream): void {
  answer(stream, [framed(codeMessage(1))])
}
