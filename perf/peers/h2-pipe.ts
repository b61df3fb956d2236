// Peer: an ordinary HTTP/2 proxy on Node: a node:http2 server that forwards by a keep-alive Agent or one HTTP/2 session.
// Arguments: port, backend port, `plain` or a folder with cert.pem and key.pem, `http1` or `http2` for the backend.
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, createSecureServer, createServer } from 'node:http2'
import type { ClientHttp2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { join } from 'node:path'

const [port, backendPort, folder = 'plain', protocol = 'http1'] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxFreeSockets: 20_000, scheduling: 'lifo' })
let session: ClientHttp2Session | undefined

const server =
  folder === 'plain'
    ? createServer()
    : createSecureServer({
        cert: readFileSync(join(folder, 'cert.pem')),
        key: readFileSync(join(folder, 'key.pem')),
      })
server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
  stream.on('error', () => {})
  if (protocol === 'http2') overHttp2(stream, headers)
  else overHttp1(stream, headers)
})
server.listen(Number(port), '127.0.0.1', 4096)

function overHttp1(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const { ':method': method, ':path': path, ':scheme': _s, ':authority': host, ...rest } = headers
  const call = request(
    {
      host: '127.0.0.1',
      port: Number(backendPort),
      method: String(method),
      path: String(path),
      headers: { ...rest, host: String(host) },
      agent,
    },
    (answer) => {
      const { connection: _hop, 'keep-alive': _alive, ...fields } = answer.headers
      if (stream.destroyed) return void answer.destroy()
      stream.respond({ ':status': answer.statusCode ?? 502, ...fields })
      answer.pipe(stream)
    },
  )
  call.on('error', () => stream.destroy())
  stream.pipe(call)
}

function overHttp2(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  if (session === undefined || session.destroyed)
    session = connect(`https://127.0.0.1:${backendPort}`, { rejectUnauthorized: false })
  const call = session.request({ ...headers, ':scheme': 'https' })
  call.on('error', () => stream.destroy())
  call.on('response', (fields) => {
    if (stream.destroyed) return call.close()
    stream.respond(fields)
    call.pipe(stream)
  })
  stream.pipe(call)
}
