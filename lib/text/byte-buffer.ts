// Bytes put together from pieces that are gone after the call. The room doubles, so that many small pieces cost
// neither a copy of all before them nor an object each.

const NOTHING = Buffer.alloc(0)

export class ByteBuffer {
  #room = NOTHING
  #length = 0

  get length(): number {
    return this.#length
  }

  append(bytes: Buffer, from: number, to: number): void {
    const length = this.#length + to - from
    if (length > this.#room.length) {
      // The first piece is often the only one: it gets what it needs and is not copied again.
      const room = Buffer.allocUnsafe(Math.max(length, this.#room.length * 2))
      this.#room.copy(room, 0, 0, this.#length)
      this.#room = room
    }
    bytes.copy(this.#room, this.#length, from, to)
    this.#length = length
  }

  /** All of it, the caller's to keep. The pile is empty afterwards. */
  take(): Buffer {
    const [room, length] = [this.#room, this.#length]
    this.#room = NOTHING
    this.#length = 0
    return length === room.length ? room : Buffer.from(room.subarray(0, length))
  }
}
