// The members of an outermost JSON object, as `JsonPeek` comes by them: their names, which of them matter to its owner, and
// copies of their values as far as the owner wants to keep them.

import { ByteBuffer } from './byte-buffer.ts'

/** Returned by `begin`: the member does not matter. */
export const NO_INTEREST = -1

/** Longer names, as written, are of no interest. A name of 85 letters fits even if every one of them is escaped. */
export const MAX_NAME_BYTES = 512

/** A member of the root: its value lies from `from` to before `to`. */
export interface RootMember {
  readonly name: string
  readonly from: number
  readonly to: number
  /** The owner's to keep; null if it is longer than the owner wanted to keep. */
  readonly value: Buffer | null
}

export interface RootMembersOwner {
  /** How many bytes of the value to keep: 0 if only its place matters, NO_INTEREST if not even that. */
  begin(name: string, from: number): number
  member(found: RootMember): void
}

/** Places are an index into the piece in work, and offsets from the first byte of all. */
export class RootMembers {
  readonly #owner: RootMembersOwner
  readonly #excerpt = new Excerpt()
  /** Names that mattered; null before the first. */
  #seen: Set<string> | null = null
  /** The member we are in. */
  #name = ''
  #interest = NO_INTEREST
  #from = 0

  constructor(owner: RootMembersOwner) {
    this.#owner = owner
  }

  /** Another piece is in work. */
  continueAt(from: number): void {
    this.#excerpt.continueAt(from)
  }

  /** The piece in work has been read. */
  endPiece(bytes: Buffer, to: number): void {
    this.#excerpt.add(bytes, to)
  }

  /** Behind the quote that opens a name. */
  startName(at: number): void {
    this.#excerpt.begin(at, MAX_NAME_BYTES)
  }

  /** At the quote that closes it. What is longer than a name of interest counts as having none. */
  endName(bytes: Buffer, at: number): void {
    const text = this.#excerpt.endText(bytes, at) ?? ''
    this.#name = text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
  }

  /** At the first byte of the value. The name, if it matters and was there before; otherwise ''. */
  startValue(at: number, offset: number): string {
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
  endValue(bytes: Buffer, at: number, offset: number): void {
    if (this.#interest === NO_INTEREST) return
    const value = this.#interest > 0 ? this.#excerpt.end(bytes, at) : null
    this.#owner.member({ name: this.#name, from: this.#from, to: offset, value })
  }

  discard(): void {
    this.#excerpt.discard()
  }
}

// A stretch of bytes that may begin in one piece and end in another, copied up to a bound.

class Excerpt {
  readonly #pile = new ByteBuffer()
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
  continueAt(from: number): void {
    if (this.#from >= 0) this.#from = from
  }

  /** The piece in work has been read up to there. */
  add(bytes: Buffer, to: number): void {
    if (this.#from < 0 || this.#room < 0) return
    this.#room -= to - this.#from
    if (this.#room >= 0) this.#pile.append(bytes, this.#from, to)
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
    const text = internName(bytes, this.#from, to)
    this.#from = -1
    return text
  }

  discard(): void {
    this.#from = -1
    this.#pile.take()
  }
}

// Names of members as text. The same few come with every body, and to compare one with its bytes costs a tenth of what it
// costs to make a string of them: so the strings made last are kept, each at a place that its bytes decide.

interface InternedName {
  readonly bytes: Uint8Array
  readonly text: string
}

/** A power of two. */
const PLACES = 256

/** A longer name is made anew each time. */
const MAX_KNOWN_BYTES = 32

const known: (InternedName | undefined)[] = Array.from({ length: PLACES })

/** The text of the bytes from `from` to before `to`. */
export function internName(bytes: Buffer, from: number, to: number): string {
  const length = to - from
  if (length === 0 || length > MAX_KNOWN_BYTES) return bytes.toString('utf8', from, to)
  const place = slotOf(bytes, from, to)
  const found = known[place]
  if (found !== undefined && hasSameBytes(found.bytes, bytes, from, length)) return found.text
  const text = bytes.toString('utf8', from, to)
  known[place] = { bytes: Uint8Array.from(bytes.subarray(from, to)), text }
  return text
}

/** By the length, the first byte, the one in the middle and the last: names that share all of them take turns. */
function slotOf(bytes: Buffer, from: number, to: number): number {
  const middle = (from + to) >> 1
  const mixed = bytes[from]! * 7 + bytes[middle]! * 31 + bytes[to - 1]! * 13 + (to - from) * 3
  return mixed & (PLACES - 1)
}

function hasSameBytes(name: Uint8Array, bytes: Buffer, from: number, length: number): boolean {
  if (name.length !== length) return false
  for (let at = 0; at < length; at++) if (name[at] !== bytes[from + at]) return false
  return true
}
