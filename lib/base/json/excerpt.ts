// A stretch of bytes that may begin in one piece and end in another, copied up to a bound.

import { Pile } from '../pile.ts'
import { nameIn } from './names.ts'

export class Excerpt {
  readonly #pile = new Pile()
  /** Where it goes on in the piece in work; -1 while nothing is to be copied. */
  #from = -1
  /** What may still come; below 0 it has grown too long. */
  #room = 0

  /** It begins there in the piece in work, and may have so many bytes. */
  begin(from: number, most: number): void {
    this.#from = from
    this.#room = most
  }

  /** Another piece is in work. */
  goOn(from: number): void {
    if (this.#from >= 0) this.#from = from
  }

  /** The piece in work has been read up to there. */
  add(bytes: Buffer, to: number): void {
    if (this.#from < 0 || this.#room < 0) return
    this.#room -= to - this.#from
    if (this.#room >= 0) this.#pile.add(bytes, this.#from, to)
    else this.#pile.take()
  }

  /** It ends there: all of it, the caller's to keep, or null if it has grown too long. */
  end(bytes: Buffer, to: number): Buffer | null {
    this.add(bytes, to)
    this.#from = -1
    return this.#room < 0 ? null : this.#pile.take()
  }

  /** The same as text, for what comes again and again; without a copy where it lies in one piece. */
  endText(bytes: Buffer, to: number): string | null {
    if (this.#pile.length > 0 || this.#room < to - this.#from)
      return this.end(bytes, to)?.toString() ?? null
    const text = nameIn(bytes, this.#from, to)
    this.#from = -1
    return text
  }

  drop(): void {
    this.#from = -1
    this.#pile.take()
  }
}
