// A growing buffer for bytes that are valid only during a call. Its capacity doubles, so many small appends
// cost neither a copy of everything before them nor an object each.

const NOTHING = Buffer.alloc(0)

export class ByteBuffer {
  #storage = NOTHING
  #length = 0

  get length(): number {
    return this.#length
  }

  append(bytes: Buffer, from: number, to: number): void {
    const length = this.#length + to - from
    if (length > this.#storage.length) {
      // The first append is often the only one: it allocates exactly what it needs.
      const storage = Buffer.allocUnsafe(Math.max(length, this.#storage.length * 2))
      this.#storage.copy(storage, 0, 0, this.#length)
      this.#storage = storage
    }
    bytes.copy(this.#storage, this.#length, from, to)
    this.#length = length
  }

  /** Returns all bytes, which the caller may keep, and empties the buffer. */
  take(): Buffer {
    const [storage, length] = [this.#storage, this.#length]
    this.#storage = NOTHING
    this.#length = 0
    return length === storage.length ? storage : Buffer.from(storage.subarray(0, length))
  }
}
