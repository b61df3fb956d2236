// A backend that speaks only HTTP/2, by node:http2 over TLS.

import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { deadline } from './deadline.ts'
import type { Stage } from './gateway.ts'
import { CERT, KEY } from './tls-pair.ts'

export type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void

/** `sockets` are its connections. */
export async function http2Backend(
  stage: Stage,
  onStream: OnStream,
): Promise<{ port: number; sockets: Socket[] }> {
  const server = createSecureServer({ cert: CERT, key: KEY })
  const sockets: Socket[] = []
  server.on('secureConnection', (socket: Socket) => sockets.push(socket))
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    onStream(stream, headers)
  })
  server.on('sessionError', () => {})
  server.listen(0, '127.0.0.1')
  await deadline(once(server, 'listening'), 30_000, 'a server to listen')
  stage.add({
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  })
  return { port: (server.address() as AddressInfo).port, sockets }
}

export const answerOk: OnStream = (stream) => {
  stream.respond({ ':status': 200, 'content-length': '2' })
  stream.end('ok')
}
