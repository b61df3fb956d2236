// Sockets that read into one buffer shared by the whole process (`onread`), on both sides.
import { Socket, connect, type Server, createServer } from 'node:net'

/** Called for each read; the bytes are only valid during the call. False pauses the socket. */
export type OnBytes = (count: number, buffer: Buffer) => boolean

const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)
const LARGEST_STRING_WRITE = 8192

export function dial(port: number, onBytes: OnBytes): Socket {
  const onread = {
    buffer: READ_BUFFER,
    // The types say Uint8Array; the value is READ_BUFFER itself.
    callback: (count: number) => onBytes(count, READ_BUFFER),
  }
  return connect({ host: '127.0.0.1', port, noDelay: true, onread })
}

/** A server whose sockets read by `onread`, which `net.createServer` does not offer. */
export function serve(accepted: (adopt: (onBytes: OnBytes) => Socket) => void): Server {
  return createServer({ noDelay: true, pauseOnConnect: true }, (outer) => {
    // The handle moves to a second Socket made with `onread`; there is no public way to do this.
    const holder = outer as unknown as { _handle: unknown }
    const handle = holder._handle
    holder._handle = null
    accepted((onBytes) => adopt(handle, onBytes))
  })
}

function adopt(handle: unknown, onBytes: OnBytes): Socket {
  const onread = { buffer: READ_BUFFER, callback: (count: number) => onBytes(count, READ_BUFFER) }
  const options = { handle, readable: true, writable: true, onread }
  return new Socket(options as ConstructorParameters<typeof Socket>[0])
}

/** Writes a copy of what was read; a latin1 string is the cheapest copy while it is small. */
export function writeCopy(socket: Socket, buffer: Buffer, count: number): boolean {
  if (count <= LARGEST_STRING_WRITE) {
    return socket.write(buffer.toString('latin1', 0, count), 'latin1')
  }
  return socket.write(Buffer.from(buffer.subarray(0, count)))
}
