// The members of an outermost JSON object, as `Peek` comes by them: their names, which of them matter to its owner, and
// copies of their values as far as the owner wants to keep them.

import { Excerpt } from './excerpt.ts'

/** Returned by `begin`: the member does not matter. */
export const NO_INTEREST = -1

/** Longer names, as written, are of no interest. A name of 85 letters fits even if every one of them is escaped. */
export const MAX_NAME_BYTES = 512

/** A member of the root: its value lies from `from` to before `to`. */
export interface Found {
  readonly name: string
  readonly from: number
  readonly to: number
  /** The owner's to keep; null if it is longer than the owner wanted to keep. */
  readonly value: Buffer | null
}

export interface MembersOwner {
  /** How many bytes of the value to keep: 0 if only its place matters, NO_INTEREST if not even that. */
  begin(name: string, from: number): number
  member(found: Found): void
}

/** Places are an index into the piece in work, and offsets from the first byte of all. */
export class RootMembers {
  readonly #owner: MembersOwner
  readonly #excerpt = new Excerpt()
  /** Names that mattered; null before the first. */
  #seen: Set<string> | null = null
  /** The member we are in. */
  #name = ''
  #interest = NO_INTEREST
  #from = 0

  constructor(owner: MembersOwner) {
    this.#owner = owner
  }

  /** Another piece is in work. */
  goOn(from: number): void {
    this.#excerpt.goOn(from)
  }

  /** The piece in work has been read. */
  pieceOver(bytes: Buffer, to: number): void {
    this.#excerpt.add(bytes, to)
  }

  /** Behind the quote that opens a name. */
  nameBegins(at: number): void {
    this.#excerpt.begin(at, MAX_NAME_BYTES)
  }

  /** At the quote that closes it. What is longer than a name of interest counts as having none. */
  nameOver(bytes: Buffer, at: number): void {
    const text = this.#excerpt.endText(bytes, at) ?? ''
    this.#name = text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
  }

  /** At the first byte of the value. The name, if it matters and was there before; otherwise ''. */
  valueBegins(at: number, offset: number): string {
    const name = this.#name
    this.#from = offset
    this.#interest = name === '' ? NO_INTEREST : this.#owner.begin(name, offset)
    if (this.#interest === NO_INTEREST) return ''
    this.#seen ??= new Set()
    if (this.#seen.has(name)) return name
    this.#seen.add(name)
    if (this.#interest > 0) this.#excerpt.begin(at, this.#interest)
    return ''
  }

  /** Behind the last byte of the value. */
  valueOver(bytes: Buffer, at: number, offset: number): void {
    if (this.#interest === NO_INTEREST) return
    const value = this.#interest > 0 ? this.#excerpt.end(bytes, at) : null
    this.#owner.member({ name: this.#name, from: this.#from, to: offset, value })
  }

  drop(): void {
    this.#excerpt.drop()
  }
}
