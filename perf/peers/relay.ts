// Peer: a bare TCP relay without HTTP: the lower bound of the runtime.
// Arguments: port, backend port.
import type { Socket } from 'node:net'
import { dial, serve, writeCopy } from '../socket.ts'

const [port, backendPort] = process.argv.slice(2).map(Number)

const server = serve((adopt) => {
  const backend: Socket = dial(Number(backendPort), (count, buffer) =>
    pass(client, backend, buffer, count),
  )
  const client: Socket = adopt((count, buffer) => pass(backend, client, buffer, count))
  couple(client, backend)
  couple(backend, client)
})

function pass(to: Socket, from: Socket, buffer: Buffer, count: number): boolean {
  if (writeCopy(to, buffer, count)) return true
  to.once('drain', () => from.resume())
  return false
}

function couple(one: Socket, other: Socket): void {
  one.on('error', () => other.destroy())
  one.on('end', () => other.end())
  one.on('close', () => other.destroy())
}

server.listen(port, '127.0.0.1', 4096)
