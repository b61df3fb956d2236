// What lies below a socket, for which Node has no name: needed where a connection changes hands between sockets and
// processes, and to ask the system about it. Nobody else reaches below.

import type { SendHandle } from 'node:child_process'
import { Socket } from 'node:net'
import type { OnReadOpts, Server, SocketConstructorOpts } from 'node:net'

/** As Node 20 to 24 have it. */
interface SocketHandle {
  readonly fd?: number
  readonly writeQueueSize?: number
  readStop(): void
  /** Of streams only. */
  setBlocking?(isBlocking: boolean): void
  close(): void
}

interface SocketInternals {
  _handle?: SocketHandle | null
}

/** What a socket stands on; the socket is gone from now on. Null when it was already. */
export function takeHandleAndDestroy(socket: Socket): SendHandle | null {
  const handle = takeHandle(socket)
  // Without its handle a socket holds nothing; destroying it lets its server forget it.
  socket.destroy()
  return handle
}

/** The same, for a socket that others may still have in their hands: it is an empty shell then. */
export function takeHandle(socket: Socket): SendHandle | null {
  const internals = socket as unknown as SocketInternals
  const handle = internals._handle ?? null
  internals._handle = null
  return handle as SendHandle | null
}

export function stopReading(socket: Socket): void {
  handleOf(socket)?.readStop()
}

/** -1 where the system has no such numbers, or it is gone. */
export function descriptorOf(open: Socket | Server): number {
  return handleOf(open)?.fd ?? -1
}

/** Bytes that the system has not taken yet; undefined where that is not told. */
export function unsentBytesOf(socket: Socket): number | undefined {
  return handleOf(socket)?.writeQueueSize
}

/** Also when another process that has the same end of it wanted otherwise. */
export function makeNonBlocking(socket: Socket): void {
  handleOf(socket)?.setBlocking?.(false)
}

/** As Node has them for sockets it makes itself. */
interface SocketCreateOptions {
  /** It reads nothing before it is told to. */
  readonly pauseOnCreate?: true
  readonly allowHalfOpen?: true
  readonly onread?: OnReadOpts
}

/** A socket made anew. Over null it is one that is gone. */
export function createSocket(handle: SendHandle | null, ways: SocketCreateOptions): Socket {
  const options = { handle, readable: true, writable: true, ...ways }
  return new Socket(options as SocketConstructorOpts)
}

export function closeHandle(handle: SendHandle): void {
  const raw = handle as unknown as SocketHandle
  raw.close()
}

function handleOf(open: object): SocketHandle | null | undefined {
  return (open as SocketInternals)._handle
}
