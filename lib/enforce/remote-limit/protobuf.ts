// The few parts of the protobuf wire format that rate limit messages need.

import { Buffer } from 'node:buffer'

/** Bytes that are no protobuf message, or not one of the kind that was expected. */
export class Malformed extends Error {
  override readonly name = 'Malformed'
}

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** Seven bits a byte: 64 bits need ten of them. */
const MAX_VARINT_BYTES = 10

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Fields for one message, in the order in which they are added. Values that proto3 takes for granted are left out. */
export class MessageWriter {
  readonly #parts: Buffer[] = []

  text(field: number, value: string): void {
    if (value !== '') this.bytes(field, Buffer.from(value))
  }

  /** A whole number, at least 0 and exact. */
  number(field: number, value: number): void {
    if (value !== 0) this.#parts.push(varint(field * 8 + VARINT), varint(value))
  }

  /** Also when empty: an embedded message says something by being there. */
  bytes(field: number, value: Buffer): void {
    this.#parts.push(varint(field * 8 + BYTES), varint(value.length), value)
  }

  take(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

function varint(value: number): Buffer {
  if (value < 0x80) return Buffer.from([value])
  const bytes: number[] = []
  let left = value
  // By division: shifts lose what is above 32 bits.
  for (; left >= 0x80; left = Math.floor(left / 0x80)) bytes.push((left % 0x80) + 0x80)
  return Buffer.from([...bytes, left])
}

/** Walks over the fields of one message. Whoever does not ask for a field's value skips it. */
export class MessageReader {
  readonly #bytes: Buffer
  #at = 0
  #wire = VARINT
  #state: 'between' | 'value' = 'between'

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The number of the next field, or 0 at the end. */
  next(): number {
    if (this.#state === 'value') this.#skip()
    if (this.#at === this.#bytes.length) return 0
    const [low, high] = this.#varint()
    const field = low >>> 3
    if (field === 0 || high !== 0) throw new Malformed('a field without a number')
    this.#wire = low & 7
    this.#state = 'value'
    return field
  }

  uint32(): number {
    this.#expect(VARINT)
    return this.#varint()[0] >>> 0
  }

  /** Signed; rounded where a double ends. */
  int64(): number {
    this.#expect(VARINT)
    const [low, high] = this.#varint()
    return (high | 0) * 2 ** 32 + (low >>> 0)
  }

  /** A view, not a copy. */
  bytes(): Buffer {
    this.#expect(BYTES)
    return this.#run(this.#length())
  }

  text(): string {
    const bytes = this.bytes()
    try {
      return UTF8.decode(bytes)
    } catch (cause) {
      throw new Malformed('text that is not UTF-8', { cause })
    }
  }

  #expect(wire: number): void {
    if (this.#wire !== wire) throw new Malformed('a field of another type')
    this.#state = 'between'
  }

  #skip(): void {
    this.#state = 'between'
    switch (this.#wire) {
      case VARINT:
        this.#varint()
        break
      case FIXED64:
        this.#run(8)
        break
      case BYTES:
        this.#run(this.#length())
        break
      case FIXED32:
        this.#run(4)
        break
      default:
        // Groups are not in proto3.
        throw new Malformed('a field of an unknown type')
    }
  }

  #length(): number {
    const [low, high] = this.#varint()
    if (high !== 0) throw new Malformed('a field beyond the end')
    return low >>> 0
  }

  #run(length: number): Buffer {
    const from = this.#at
    if (length > this.#bytes.length - from) throw new Malformed('a field beyond the end')
    this.#at = from + length
    return this.#bytes.subarray(from, this.#at)
  }

  /** Low and high 32 bits. */
  #varint(): [low: number, high: number] {
    let low = 0
    let high = 0
    for (let count = 0; count < MAX_VARINT_BYTES; count++) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) throw new Malformed('a number beyond the end')
      const bits = byte & 0x7f
      const shift = count * 7
      if (shift < 32) low |= bits << shift
      if (shift > 24) high |= shift < 32 ? bits >>> (32 - shift) : bits << (shift - 32)
      if (byte < 0x80) return [low, high]
    }
    throw new Malformed('a number of more than 64 bits')
  }
}
