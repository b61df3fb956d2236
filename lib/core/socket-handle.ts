// Access to the handle of a socket, for which Node has no public API: needed to move a connection between sockets and
// processes, and to query the system. Only this file uses it.

import type { SendHandle } from 'node:child_process'
import { readSync } from 'node:fs'
import { Socket } from 'node:net'
import type { OnReadOpts, Server, SocketConstructorOpts } from 'node:net'

/** The members that Node 20 to 24 have. */
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

/** Takes the handle and destroys the socket; null if the socket has none any more. */
export function takeHandleAndDestroy(socket: Socket): SendHandle | null {
  const handle = takeHandle(socket)
  // Without its handle a socket holds no resources; destroying it removes it from its server.
  socket.destroy()
  return handle
}

/** Takes the handle of a socket that others still reference: the socket stays, without a connection. */
export function takeHandle(socket: Socket): SendHandle | null {
  const internals = socket as unknown as SocketInternals
  const handle = internals._handle ?? null
  internals._handle = null
  return handle as SendHandle | null
}

export function stopReading(socket: Socket): void {
  handleOf(socket)?.readStop()
}

/** -1 where the system has no descriptors, or the handle is gone. */
export function descriptorOf(open: Socket | Server): number {
  return handleOf(open)?.fd ?? -1
}

const PROBE = Buffer.alloc(1)

/** What the kernel has received and Node has not read. */
type PendingInput = 'nothing' | 'bytes' | 'end' | 'reset'

/** Reads one byte, which is lost: the connection must be closed if there was one. */
export function probeInput(socket: Socket): PendingInput {
  const descriptor = descriptorOf(socket)
  if (descriptor < 0) return 'nothing'
  const { stackTraceLimit } = Error
  // Without a stack the usual result, EAGAIN, costs half: 5 µs.
  Error.stackTraceLimit = 0
  try {
    return readSync(descriptor, PROBE, 0, 1, null) === 0 ? 'end' : 'bytes'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 'nothing' : 'reset'
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Bytes that the kernel has not taken yet; undefined where Node does not report them. */
export function unsentBytesOf(socket: Socket): number | undefined {
  return handleOf(socket)?.writeQueueSize
}

/** Also if another process that shares the pipe set it to blocking. */
export function makeNonBlocking(socket: Socket): void {
  handleOf(socket)?.setBlocking?.(false)
}

/** The options that Node uses for sockets it creates. */
interface SocketCreateOptions {
  /** The socket reads nothing before `resume`. */
  readonly pauseOnCreate?: true
  readonly allowHalfOpen?: true
  readonly onread?: OnReadOpts
}

/** Creates a socket over a handle; over null it is a closed one. */
export function createSocket(handle: SendHandle | null, options: SocketCreateOptions): Socket {
  const all = { handle, readable: true, writable: true, ...options }
  return new Socket(all as SocketConstructorOpts)
}

export function closeHandle(handle: SendHandle): void {
  const raw = handle as unknown as SocketHandle
  raw.close()
}

function handleOf(open: object): SocketHandle | null | undefined {
  return (open as SocketInternals)._handle
}
