// HTTP/2 frames as bytes, for frames that node:http2 would not send.

import type { Socket } from 'node:net'
import { deadline } from './deadline.ts'

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

const TYPES = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  promise: 5,
  ping: 6,
  goaway: 7,
  update: 8,
  continuation: 9,
  unknown: 66,
}

export const END_STREAM = 1
export const END_HEADERS = 4
export const PADDED = 8

export function frame(
  type: keyof typeof TYPES,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = TYPES[type]
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Field lines without compression, each shorter than 127 bytes. */
export function fieldLines(...fields: readonly (readonly [string, string])[]): Buffer {
  const text = fields.map(
    ([name, value]) =>
      `\x00${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}`,
  )
  return Buffer.from(text.join(''), 'latin1')
}

/** The type and stream of each received frame. */
export function framesOf(text: string): { type: keyof typeof TYPES | ''; stream: number }[] {
  const bytes = Buffer.from(text, 'latin1')
  const found: ReturnType<typeof framesOf> = []
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    const [name = ''] = Object.entries(TYPES).find(([, code]) => code === bytes[at + 3]) ?? []
    found.push({ type: name as keyof typeof TYPES, stream: bytes.readUInt32BE(at + 5) })
  }
  return found
}

/** Waits until a half-closed peer has closed completely; only a failing write shows that. */
export async function untilGone(socket: Socket): Promise<void> {
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const pings = setInterval(() => socket.write(frame('ping', 0, 0, Buffer.alloc(8))), 50)
  try {
    await deadline(closed, 30_000, 'the other side to close its socket')
  } finally {
    clearInterval(pings)
  }
}
