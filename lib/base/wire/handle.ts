// Connections that change hands between sockets and processes: Node has no name for what lies below a socket.

import type { SendHandle } from 'node:child_process'
import { Socket } from 'node:net'
import type { SocketConstructorOpts } from 'node:net'

interface Internals {
  _handle: SendHandle | null
}

/** What a socket stands on; the socket is an empty shell from now on. Null when it is gone already. */
export function handleOf(socket: Socket): SendHandle | null {
  const internals = socket as unknown as Internals
  const handle = internals._handle
  internals._handle = null
  // Without its handle a socket holds nothing; destroying it lets its server forget it.
  socket.destroy()
  return handle
}

/** A socket that reads nothing before it is told to. */
export function socketOf(handle: SendHandle): Socket {
  const options = { handle, readable: true, writable: true, pauseOnCreate: true }
  return new Socket(options as SocketConstructorOpts)
}

export function closeHandle(handle: SendHandle): void {
  const raw = handle as unknown as { close(): void }
  raw.close()
}
