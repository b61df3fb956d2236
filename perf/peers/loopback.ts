// Loaded before a peer that would listen on every address of the machine: it listens on loopback only.
import { Server } from 'node:net'

// There is no option for it, and the method itself has no public hook.
const holder = Server.prototype as unknown as { listen: (...args: unknown[]) => Server }
const { listen } = holder

holder.listen = function listenHere(this: Server, port: unknown, ...more: unknown[]): Server {
  if (typeof port !== 'number') return listen.call(this, port, ...more)
  const then = more.filter((one) => typeof one === 'function')
  return listen.call(this, { port, host: '127.0.0.1' }, ...then)
}
