// What lies below a socket, for which Node has no name: needed where a connection changes hands between sockets and
// processes, and to ask the system about it. Nobody else reaches below.

import type { SendHandle } from 'node:child_process'
import { Socket } from 'node:net'
import type { Server, SocketConstructorOpts } from 'node:net'

/** As Node 20 to 24 have it. */
interface Handle {
  readonly fd?: number
  readonly writeQueueSize?: number
  readStop(): void
  /** Of streams only. */
  setBlocking?(isBlocking: boolean): void
  close(): void
}

interface Internals {
  _handle?: Handle | null
}

/** What a socket stands on; the socket is an empty shell from now on. Null when it is gone already. */
export function handleOf(socket: Socket): SendHandle | null {
  const handle = takeHandle(socket)
  // Without its handle a socket holds nothing; destroying it lets its server forget it.
  socket.destroy()
  return handle
}

/** The same, for a socket that others may still have in their hands. */
export function takeHandle(socket: Socket): SendHandle | null {
  const internals = socket as unknown as Internals
  const handle = internals._handle ?? null
  internals._handle = null
  return handle as SendHandle | null
}

export function stopReading(socket: Socket): void {
  below(socket)?.readStop()
}

/** -1 where the system has no such numbers, or it is gone. */
export function descriptorOf(open: Socket | Server): number {
  return below(open)?.fd ?? -1
}

/** Bytes that the system has not taken yet; undefined where that is not told. */
export function unsentOf(socket: Socket): number | undefined {
  return below(socket)?.writeQueueSize
}

/** Also when another process that has the same end of it wanted otherwise. */
export function neverBlock(socket: Socket): void {
  below(socket)?.setBlocking?.(false)
}

/** A socket that reads nothing before it is told to. */
export function socketOf(handle: SendHandle): Socket {
  const options = { handle, readable: true, writable: true, pauseOnCreate: true }
  return new Socket(options as SocketConstructorOpts)
}

export function closeHandle(handle: SendHandle): void {
  const raw = handle as unknown as Handle
  raw.close()
}

function below(open: object): Handle | null | undefined {
  return (open as Internals)._handle
}
