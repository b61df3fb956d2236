// One socket, plain or TLS, as the connection machines use it: reads by callback, writes in as few calls as possible.
// Plain sockets are read into the one buffer of the process (−25 % CPU against 'data' events).

import type { SendHandle } from 'node:child_process'
import { connect } from 'node:net'
import type { NetConnectOpts, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { bytesInFlight } from '../core/byte-budgets.ts'
import { TCP_OPTIONS } from '../core/bounds.ts'
import {
  createSocket,
  probeInput,
  stopReading,
  takeHandle,
  takeHandleAndDestroy,
} from '../core/socket-handle.ts'
import { readBuffer } from './llhttp.ts'

export interface SocketOwner {
  /** The bytes are valid only until this returns. */
  data(bytes: Buffer, from: number, to: number): void
  drained(): void
  /** The peer will send no more. */
  ended(): void
  /** The socket is closed, after an error or not; called once, last. */
  closed(error: Error | null): void
}

export class TransportSocket {
  readonly socket: Socket
  #error: Error | null = null
  /** Bytes of it that are counted as unsent. */
  #unsent = 0
  #wasConnected = false

  private constructor(socket: Socket) {
    this.socket = socket
  }

  /** Takes over a connection that a `net.Server` with `pauseOnConnect` accepted. */
  static fromAccepted(socket: Socket, owner: SocketOwner): TransportSocket {
    // A server cannot be told to use `onread`; a new socket over the same handle can.
    const handle = takeHandleAndDestroy(socket)
    // Half open: the owner decides what the end of the peer means, because a tunnel has a second direction.
    const options = { allowHalfOpen: true, onread: readOptionsFor(owner) } as const
    return new TransportSocket(createSocket(handle, options)).#listen(owner)
  }

  /** Connects; what is written before the connection is open is sent as soon as it is. */
  static dial(options: NetConnectOpts, owner: SocketOwner, connected: () => void): TransportSocket {
    const all = { ...options, ...TCP_OPTIONS, onread: readOptionsFor(owner) }
    const wire = new TransportSocket(connect(all as NetConnectOpts))
    wire.socket.once('connect', () => {
      wire.#wasConnected = true
      connected()
    })
    return wire.#listen(owner)
  }

  /** Wraps a TLS socket, which delivers its own buffers by events. */
  static fromSecured(socket: TLSSocket, owner: SocketOwner): TransportSocket {
    socket.on('data', (bytes: Buffer) => owner.data(bytes, 0, bytes.length))
    const wire = new TransportSocket(socket)
    wire.#wasConnected = true
    return wire.#listen(owner)
  }

  #listen(owner: SocketOwner): this {
    this.socket.on('drain', () => {
      this.#updateUnsent(0)
      owner.drained()
    })
    this.socket.on('end', () => {
      // libuv reports an end if a reset arrives together with the last bytes, and leaves the error in the kernel.
      if (probeInput(this.socket) === 'reset') this.socket.destroy(resetError())
      else owner.ended()
    })
    this.socket.on('error', (error: Error) => (this.#error = error))
    this.socket.on('close', () => {
      this.#updateUnsent(0)
      owner.closed(this.#error)
    })
    return this
  }

  get wasConnected(): boolean {
    return this.#wasConnected
  }

  /** Passes the connection to HTTP/2, with bytes that were already read. */
  detachForHttp2(unread: Buffer): Socket {
    this.socket.removeAllListeners()
    const handle = takeHandle(this.socket)
    // Not half open: otherwise an HTTP/2 session would not detect that the peer has closed.
    const socket = createSocket(handle, {})
    socket.unshift(unread)
    return socket
  }

  /** Gives up the handle, unread from here; null if it is gone. No listener is called for the end of the socket. */
  detachHandle(): SendHandle | null {
    stopReading(this.socket)
    this.socket.removeAllListeners()
    return takeHandleAndDestroy(this.socket)
  }

  /** Text is sent as latin1; `done` is called when a buffer is free again. False if the peer is slow. */
  write(part: string | Buffer, done?: () => void): boolean {
    const { socket } = this
    const ok = typeof part === 'string' ? socket.write(part, 'latin1') : socket.write(part, done)
    // Node returns false for every large write; what the kernel took at once needs no wait.
    if (ok || socket.writableLength === 0) return true
    this.#updateUnsent(socket.writableLength)
    return false
  }

  /** More is queued than the peer takes; `drained` follows. */
  get isFull(): boolean {
    return this.socket.writableLength > 0 && this.socket.writableNeedDrain
  }

  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  /** Ends the connection after what was written; `flushed` is called when the kernel has all of it. */
  end(flushed: () => void): void {
    this.socket.end(() => {
      this.#updateUnsent(0)
      flushed()
    })
  }

  /** Closes when the kernel has what was written. */
  destroySoon(): void {
    this.socket.destroySoon()
  }

  destroy(): void {
    this.socket.destroy()
  }

  #updateUnsent(unsent: number): void {
    bytesInFlight.unsent += unsent - this.#unsent
    this.#unsent = unsent
  }
}

function readOptionsFor(owner: SocketOwner): {
  buffer: Buffer
  callback: (n: number, b: Uint8Array) => boolean
} {
  return {
    buffer: readBuffer,
    callback: (length) => {
      owner.data(readBuffer, 0, length)
      return true
    },
  }
}

/** A copy with its own memory: the shared pool would keep 64 KiB alive for every small copy. */
export function copyBuffer(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

function resetError(): NodeJS.ErrnoException {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
}
