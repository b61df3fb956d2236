// Splits a byte stream into lines. It works on bytes, so that no read can split a character, and joins the pieces of a
// line only once, however small they are.

import { bytesInFlight } from '../../../core/byte-budgets.ts'

export interface LineOwner {
  /** A non-empty line without its line end. The owner may keep the bytes. */
  line(bytes: Buffer): void
  /** The first bytes, up to the bound, of a line above the bound. The rest is skipped. */
  tooLong(beginning: Buffer): void
}

/** `skipping`: drops the rest of a line that is too long. */
type LineSplitterState = 'reading' | 'skipping' | 'stopped'

const LF = 10
const CR = 13

/** Pieces below `SMALL_BYTES` are copied into blocks: one Buffer per byte would cost a hundred times the line. */
const BLOCK_BYTES = 16_384
const SMALL_BYTES = 4_096

export class LineSplitter {
  readonly #owner: LineOwner
  readonly #maxBytes: number
  #state: LineSplitterState = 'reading'
  /** Pieces of an incomplete line, followed by the block bytes from `#from` to `#to`. */
  #pieces: Buffer[] = []
  #block: Buffer | null = null
  #from = 0
  #to = 0
  /** Bytes in pieces and block. */
  #heldBytes = 0

  constructor(owner: LineOwner, maxBytes: number) {
    this.#owner = owner
    this.#maxBytes = maxBytes
  }

  push(chunk: Buffer): void {
    let from = 0
    while (from < chunk.length && this.#state !== 'stopped') {
      const at = chunk.indexOf(LF, from)
      const rest = chunk.subarray(from, at < 0 ? chunk.length : at)
      if (at < 0) return this.#hold(rest)
      from = at + 1
      if (this.#state === 'skipping') this.#state = 'reading'
      else if (this.#heldBytes === 0) this.#takeWholeLine(rest, chunk.length)
      else this.#takeLastPiece(rest)
    }
  }

  /** The input ended: delivers the last line if it has no line end. */
  end(): void {
    if (this.#state === 'reading' && this.#heldBytes > 0) this.#deliver(this.#join())
    this.stop()
  }

  /** Drops all further input. */
  stop(): void {
    this.#state = 'stopped'
    this.#clear()
    this.#block = null
  }

  /** A line within one chunk. A slice would keep the whole chunk in memory, so a small line is copied. */
  #takeWholeLine(bytes: Buffer, chunkLength: number): void {
    this.#deliver(bytes.length * 2 < chunkLength ? Buffer.from(bytes) : bytes)
  }

  #takeLastPiece(piece: Buffer): void {
    this.#hold(piece)
    // This piece may have passed the bound; its line has ended all the same.
    if (this.#state === 'skipping') this.#state = 'reading'
    else if (this.#state === 'reading') this.#deliver(this.#join())
  }

  #deliver(line: Buffer): void {
    const length = line.at(-1) === CR ? line.length - 1 : line.length
    if (length > this.#maxBytes) this.#owner.tooLong(Buffer.from(line.subarray(0, this.#maxBytes)))
    else if (length > 0) this.#owner.line(line.subarray(0, length))
  }

  #hold(piece: Buffer): void {
    if (this.#state !== 'reading') return
    this.#heldBytes += piece.length
    bytesInFlight.retained += piece.length
    if (piece.length >= SMALL_BYTES) {
      this.#closeBlock()
      this.#pieces.push(piece)
    } else this.#gather(piece)
    // One extra byte is allowed: it may be the CR of the line end.
    if (this.#heldBytes <= this.#maxBytes + 1) return
    const beginning = this.#join().subarray(0, this.#maxBytes)
    this.#state = 'skipping'
    this.#owner.tooLong(beginning)
  }

  #gather(piece: Buffer): void {
    if (this.#block === null || this.#block.length - this.#to < piece.length) {
      this.#closeBlock()
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      this.#from = this.#to = 0
    }
    this.#to += piece.copy(this.#block, this.#to)
  }

  #closeBlock(): void {
    if (this.#block !== null && this.#to > this.#from)
      this.#pieces.push(this.#block.subarray(this.#from, this.#to))
    this.#from = this.#to
  }

  /** Joins the held bytes in a new Buffer, since the block is reused. */
  #join(): Buffer {
    this.#closeBlock()
    const line = Buffer.concat(this.#pieces, this.#heldBytes)
    this.#clear()
    return line
  }

  #clear(): void {
    this.#pieces = []
    bytesInFlight.retained -= this.#heldBytes
    this.#heldBytes = 0
    this.#from = this.#to = 0
  }
}
