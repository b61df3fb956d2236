// Cuts a stream of bytes into lines. It works on bytes, so that no read can split a character, and a line that comes
// in pieces is joined once, however small they are.

import { bytesInFlight } from '../../../core/byte-budgets.ts'

export interface LineOwner {
  /** A line without its end, and never an empty one. The bytes are the owner's to keep. */
  line(bytes: Buffer): void
  /** A line above the bound: its beginning, as long as the bound. The rest of it is skipped, unless `stop` is called. */
  tooLong(beginning: Buffer): void
}

/** `skipping`: what is left of a line that is too long. */
type LineSplitterState = 'reading' | 'skipping' | 'stopped'

const LF = 10
const CR = 13

/** Pieces below `SMALL_BYTES` gather in blocks, for one object per byte would weigh a hundred times the line. */
const BLOCK_BYTES = 16_384
const SMALL_BYTES = 4_096

export class LineSplitter {
  readonly #owner: LineOwner
  readonly #maxBytes: number
  #state: LineSplitterState = 'reading'
  /** Pieces of a line whose end has not come, and behind them what has gathered in the block. */
  #pieces: Buffer[] = []
  #block: Buffer | null = null
  #from = 0
  #to = 0
  /** Bytes of pieces and block. */
  #held = 0

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
      else if (this.#held === 0) this.#takeWholeLine(rest, chunk.length)
      else this.#takeLastPiece(rest)
    }
  }

  /** No more bytes will come: what is held is the last line. */
  end(): void {
    if (this.#state === 'reading' && this.#held > 0) this.#deliver(this.#join())
    this.stop()
  }

  /** Whatever comes now is dropped. */
  stop(): void {
    this.#state = 'stopped'
    this.#clear()
    this.#block = null
  }

  /** A line within one chunk. As a slice it would keep the whole chunk in memory, so a small part is copied. */
  #takeWholeLine(bytes: Buffer, chunkLength: number): void {
    this.#deliver(bytes.length * 2 < chunkLength ? Buffer.from(bytes) : bytes)
  }

  /** The last piece of a line. */
  #takeLastPiece(piece: Buffer): void {
    this.#hold(piece)
    // The bound may have been passed just now, and this was its end.
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
    this.#held += piece.length
    bytesInFlight.retained += piece.length
    if (piece.length >= SMALL_BYTES) {
      this.#closeBlock()
      this.#pieces.push(piece)
    } else this.#gather(piece)
    // One byte more is allowed for here: it may be the CR of the line's end.
    if (this.#held <= this.#maxBytes + 1) return
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

  /** What is held, in memory of its own: the block is used again. */
  #join(): Buffer {
    this.#closeBlock()
    const line = Buffer.concat(this.#pieces, this.#held)
    this.#clear()
    return line
  }

  #clear(): void {
    this.#pieces = []
    bytesInFlight.retained -= this.#held
    this.#held = 0
    this.#from = this.#to = 0
  }
}
