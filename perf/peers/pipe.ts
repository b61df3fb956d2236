// Peer: an ordinary Node proxy: a node:http server, a keep-alive Agent, `.pipe` both ways.
// Arguments: port, backend port.
import { Agent, createServer, request } from 'node:http'

const [port, backendPort] = process.argv.slice(2).map(Number)
const agent = new Agent({ keepAlive: true, maxFreeSockets: 20_000, scheduling: 'lifo' })

const server = createServer((incoming, reply) => {
  const { connection: _connection, ...headers } = incoming.headers
  const call = request(
    {
      host: '127.0.0.1',
      port: Number(backendPort),
      method: incoming.method ?? 'GET',
      path: incoming.url ?? '/',
      headers,
      agent,
    },
    (answer) => {
      const { connection: _hop, 'keep-alive': _alive, ...rest } = answer.headers
      reply.writeHead(answer.statusCode ?? 502, rest)
      // Not `pipeline`, which costs more: the peer should be as fast as this kind of proxy can be.
      answer.pipe(reply)
    },
  )
  call.on('error', () => {
    if (!reply.headersSent) reply.writeHead(502)
    reply.end()
  })
  reply.on('close', () => {
    if (!reply.writableFinished) call.destroy()
  })
  incoming.pipe(call)
})

server.keepAliveTimeout = 60_000
server.requestTimeout = 0
server.listen(port, '127.0.0.1', 4096)
