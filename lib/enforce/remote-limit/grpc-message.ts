// How gRPC lays messages on a stream: one byte that says whether it is compressed, four for its length, the message.

import { Malformed } from './protobuf.ts'

const PREFIX_BYTES = 5

/** More than an answer with a page for a body needs. */
export const MAX_ANSWER_BYTES = 262_144

export function framed(message: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
  bytes[0] = 0
  bytes.writeUInt32BE(message.length, 1)
  message.copy(bytes, PREFIX_BYTES)
  return bytes
}

/** Reads the one message of an answer, wherever its bytes are cut. */
export class MessageIn {
  readonly #prefix = Buffer.alloc(PREFIX_BYTES)
  #message: Buffer | null = null
  #state: 'prefix' | 'message' | 'over' = 'prefix'
  /** Bytes of the prefix or of the message that are there. */
  #have = 0

  /** The bytes are copied. Throws `Malformed`. */
  write(bytes: Buffer): void {
    let from = 0
    while (from < bytes.length) from = this.#take(bytes, from)
  }

  /** The whole message. Throws `Malformed`. */
  end(): Buffer {
    if (this.#state !== 'over') throw new Malformed('no whole message')
    return this.#message!
  }

  #take(bytes: Buffer, from: number): number {
    if (this.#state === 'over') throw new Malformed('more than one message')
    const target = this.#message ?? this.#prefix
    const taken = bytes.copy(target, this.#have, from)
    this.#have += taken
    if (this.#have === target.length) this.#filled()
    return from + taken
  }

  #filled(): void {
    if (this.#state === 'message') {
      this.#state = 'over'
      return
    }
    // It was not offered, so there is no telling what it would be compressed with.
    if (this.#prefix[0] !== 0) throw new Malformed('a compressed message')
    const length = this.#prefix.readUInt32BE(1)
    if (length > MAX_ANSWER_BYTES) throw new Malformed('a message that is too long')
    this.#message = Buffer.allocUnsafe(length)
    this.#have = 0
    this.#state = length === 0 ? 'over' : 'message'
  }
}
