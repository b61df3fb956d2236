// One socket, plain or TLS, as the connection machines use it: bytes in by callback, bytes out by as few
// writes as can be. Plain sockets are read into the process's one buffer (−25 % CPU against 'data' events).

import type { SendHandle } from 'node:child_process'
import { connect } from 'node:net'
import type { NetConnectOpts, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { bytesInFlight } from '../core/byte-budgets.ts'
import { TCP_OPTIONS } from '../core/bounds.ts'
import {
  createSocket,
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
  /** The socket is gone, after an error or not; comes once, last. */
  closed(error: Error | null): void
}

export class TransportSocket {
  readonly socket: Socket
  #error: Error | null = null
  /** What is counted of it as waiting for the peer. */
  #unsent = 0
  #wasConnected = false

  private constructor(socket: Socket) {
    this.socket = socket
  }

  /** Takes over a connection that a `net.Server` with `pauseOnConnect` accepted. */
  static fromAccepted(socket: Socket, owner: SocketOwner): TransportSocket {
    // A server cannot be told to use `onread`; a socket made anew over the same handle can.
    const handle = takeHandleAndDestroy(socket)
    // Half open: the owner decides what a goodbye means, for a tunnel has a second direction.
    const ways = { allowHalfOpen: true, onread: readOptionsFor(owner) } as const
    return new TransportSocket(createSocket(handle, ways)).#listen(owner)
  }

  /** What is written before the connection stands leaves as soon as it does. */
  static dial(options: NetConnectOpts, owner: SocketOwner, connected: () => void): TransportSocket {
    const ways = { ...options, ...TCP_OPTIONS, onread: readOptionsFor(owner) }
    const wire = new TransportSocket(connect(ways as NetConnectOpts))
    wire.socket.once('connect', () => {
      wire.#wasConnected = true
      connected()
    })
    return wire.#listen(owner)
  }

  /** A TLS socket delivers owned buffers by events. */
  static fromSecured(socket: TLSSocket, owner: SocketOwner): TransportSocket {
    socket.on('data', (bytes: Buffer) => owner.data(bytes, 0, bytes.length))
    const wire = new TransportSocket(socket)
    wire.#wasConnected = true
    return wire.#listen(owner)
  }

  #listen(owner: SocketOwner): this {
    this.socket.on('drain', () => {
      this.#weigh(0)
      owner.drained()
    })
    this.socket.on('end', () => owner.ended())
    this.socket.on('error', (error: Error) => (this.#error = error))
    this.socket.on('close', () => {
      this.#weigh(0)
      owner.closed(this.#error)
    })
    return this
  }

  get wasConnected(): boolean {
    return this.#wasConnected
  }

  /** Hands the socket to somebody else (HTTP/2), with bytes that were read already. */
  detachForHttp2(unread: Buffer): Socket {
    this.socket.removeAllListeners()
    const handle = takeHandle(this.socket)
    // Not half open: with no end of its own, an HTTP/2 session would not hear that the peer has left.
    const socket = createSocket(handle, {})
    socket.unshift(unread)
    return socket
  }

  /** Gives up what the socket stands on, unread from here; null when it is gone. Nobody hears of the socket's end. */
  detachHandle(): SendHandle | null {
    stopReading(this.socket)
    this.socket.removeAllListeners()
    return takeHandleAndDestroy(this.socket)
  }

  /** Text goes out as latin1; `done` is called when a buffer is free again. False when the peer is slow. */
  write(part: string | Buffer, done?: () => void): boolean {
    const { socket } = this
    const ok = typeof part === 'string' ? socket.write(part, 'latin1') : socket.write(part, done)
    // Node says false for every large write; what the kernel took at once needs no wait.
    if (ok || socket.writableLength === 0) return true
    this.#weigh(socket.writableLength)
    return false
  }

  /** More is waiting to go out than the peer takes; `drained` follows. */
  get isFull(): boolean {
    return this.socket.writableLength > 0 && this.socket.writableNeedDrain
  }

  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  /** Says goodbye after what was written; `gone` is called when the kernel has all of it. */
  end(gone: () => void): void {
    this.socket.end(() => {
      this.#weigh(0)
      gone()
    })
  }

  /** Ends when the kernel has what was written. */
  destroySoon(): void {
    this.socket.destroySoon()
  }

  destroy(): void {
    this.socket.destroy()
  }

  #weigh(unsent: number): void {
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

/** A buffer of its own memory: the shared pool would keep 64 KiB alive for every small copy. */
export function copyBuffer(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
