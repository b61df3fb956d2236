// Counts the bytes of encoded data in a text, such as an image in base64: its size says nothing about its tokens.

/** Longer runs without a space or punctuation are no words. */
export const MIN_ENCODED_BYTES = 512

/** The letters of base64 in both alphabets, and the backslash of escapes within it. */
const ENCODED = new Uint8Array(256)
for (const byte of Buffer.from(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-\\',
))
  ENCODED[byte] = 1

export class EncodedByteCounter {
  /** Bytes of the runs that have ended. */
  #counted = 0
  /** The length of the run that reaches the end of the bytes so far. */
  #open = 0

  get count(): number {
    return this.#open < MIN_ENCODED_BYTES ? this.#counted : this.#counted + this.#open
  }

  /** Text costs a few steps for each MIN_ENCODED_BYTES: the search for a run starts at its last possible byte. */
  add(bytes: Buffer, from: number, to: number): void {
    let at = this.#continueRun(bytes, from, to)
    while (at + MIN_ENCODED_BYTES <= to) {
      const start = runStart(bytes, at, at + MIN_ENCODED_BYTES)
      if (start > at) {
        at = start
        continue
      }
      const end = runEnd(bytes, at + MIN_ENCODED_BYTES, to)
      if (end === to) return void (this.#open = end - at)
      this.#counted += end - at
      at = end + 1
    }
    if (at < to) this.#open = to - runStart(bytes, at, to)
  }

  /** Returns where the search for other runs continues; `to` if all bytes belong to the open run. */
  #continueRun(bytes: Buffer, from: number, to: number): number {
    if (this.#open === 0) return from
    const end = runEnd(bytes, from, to)
    this.#open += end - from
    if (end === to) return to
    this.#counted = this.count
    this.#open = 0
    return end + 1
  }
}

/** Where the run that ends before `to` starts; `to` if there is none, and not before `from`. */
function runStart(bytes: Buffer, from: number, to: number): number {
  let at = to
  while (at > from && ENCODED[bytes[at - 1]!] === 1) at--
  return at
}

function runEnd(bytes: Buffer, from: number, to: number): number {
  let at = from
  while (at < to && ENCODED[bytes[at]!] === 1) at++
  return at
}
