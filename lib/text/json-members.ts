// Reads the members of the outermost JSON object for `JsonPeek`: their names, and copies of the values that the
// owner wants, up to a bound.

import { ByteBuffer } from './byte-buffer.ts'

/** Returned by `begin`: the owner does not need this member. */
export const NO_INTEREST = -1

/** Longer names, as written, are ignored. A name of 85 letters fits even if every letter is escaped. */
export const MAX_NAME_BYTES = 512

/** A member of the root object: its value has the bytes from `from` to before `to`. */
export interface RootMember {
  readonly name: string
  readonly from: number
  readonly to: number
  /** A copy the owner may keep; null if the value is longer than the owner wanted. */
  readonly value: Buffer | null
}

export interface RootMembersOwner {
  /** How many bytes of the value to copy: 0 for its position only, NO_INTEREST for neither. */
  begin(name: string, from: number): number
  member(found: RootMember): void
}

/** `at` is an index into the current chunk; `offset` counts from the first byte of the document. */
export class RootMembers {
  readonly #owner: RootMembersOwner
  readonly #excerpt = new Excerpt()
  /** Names of interest so far; null before the first. */
  #seen: Set<string> | null = null
  /** The current member. */
  #name = ''
  #interest = NO_INTEREST
  #from = 0

  constructor(owner: RootMembersOwner) {
    this.#owner = owner
  }

  /** A new chunk starts. */
  continueAt(from: number): void {
    this.#excerpt.continueAt(from)
  }

  /** The current chunk has been read. */
  endPiece(bytes: Buffer, to: number): void {
    this.#excerpt.add(bytes, to)
  }

  /** Called after the opening quote of a name. */
  startName(at: number): void {
    this.#excerpt.begin(at, MAX_NAME_BYTES)
  }

  /** Called at the closing quote. A name longer than MAX_NAME_BYTES becomes ''. */
  endName(bytes: Buffer, at: number): void {
    const text = this.#excerpt.endText(bytes, at) ?? ''
    this.#name = text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
  }

  /** Called at the first byte of a value. Returns the name if it is of interest and occurred before; otherwise ''. */
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

  /** Called after the last byte of a value. */
  endValue(bytes: Buffer, at: number, offset: number): void {
    if (this.#interest === NO_INTEREST) return
    const value = this.#interest > 0 ? this.#excerpt.end(bytes, at) : null
    this.#owner.member({ name: this.#name, from: this.#from, to: offset, value })
  }

  discard(): void {
    this.#excerpt.discard()
  }
}

/** A range of bytes that may span several chunks, copied up to a bound. */
class Excerpt {
  readonly #copy = new ByteBuffer()
  /** Where the range continues in the current chunk; -1 while nothing is copied. */
  #from = -1
  /** Bytes that still fit; negative once the range is too long. */
  #remaining = 0

  /** The range starts at `from` in the current chunk and may have `maxBytes` bytes. */
  begin(from: number, maxBytes: number): void {
    this.#from = from
    this.#remaining = maxBytes
  }

  /** A new chunk starts. */
  continueAt(from: number): void {
    if (this.#from >= 0) this.#from = from
  }

  /** The current chunk has been read up to `to`. */
  add(bytes: Buffer, to: number): void {
    if (this.#from < 0 || this.#remaining < 0) return
    this.#remaining -= to - this.#from
    if (this.#remaining >= 0) this.#copy.append(bytes, this.#from, to)
    else this.#copy.take()
  }

  /** Ends the range: returns a copy that the caller may keep, or null if the range was too long. */
  end(bytes: Buffer, to: number): Buffer | null {
    this.add(bytes, to)
    this.#from = -1
    return this.#remaining < 0 ? null : this.#copy.take()
  }

  /** The same as text; without a copy if the range is in one chunk. */
  endText(bytes: Buffer, to: number): string | null {
    if (this.#copy.length > 0 || this.#remaining < to - this.#from)
      return this.end(bytes, to)?.toString() ?? null
    const text = internName(bytes, this.#from, to)
    this.#from = -1
    return text
  }

  discard(): void {
    this.#from = -1
    this.#copy.take()
  }
}

// Member names repeat in every body. Comparing bytes with a cached name costs a tenth of creating a string, so the
// latest strings are cached in slots that are chosen by their bytes.

interface InternedName {
  readonly bytes: Uint8Array
  readonly text: string
}

/** A power of two. */
const SLOTS = 256

/** Longer names are not cached. */
const MAX_CACHED_BYTES = 32

const nameCache: (InternedName | undefined)[] = Array.from({ length: SLOTS })

/** The text of the bytes from `from` to before `to`. */
export function internName(bytes: Buffer, from: number, to: number): string {
  const length = to - from
  if (length === 0 || length > MAX_CACHED_BYTES) return bytes.toString('utf8', from, to)
  const slot = slotOf(bytes, from, to)
  const cached = nameCache[slot]
  if (cached !== undefined && hasSameBytes(cached.bytes, bytes, from, length)) return cached.text
  const text = bytes.toString('utf8', from, to)
  nameCache[slot] = { bytes: Uint8Array.from(bytes.subarray(from, to)), text }
  return text
}

/** Hashes the length and the first, middle and last byte; names that share all of them replace each other. */
function slotOf(bytes: Buffer, from: number, to: number): number {
  const middle = (from + to) >> 1
  const mixed = bytes[from]! * 7 + bytes[middle]! * 31 + bytes[to - 1]! * 13 + (to - from) * 3
  return mixed & (SLOTS - 1)
}

function hasSameBytes(name: Uint8Array, bytes: Buffer, from: number, length: number): boolean {
  if (name.length !== length) return false
  for (let at = 0; at < length; at++) if (name[at] !== bytes[from + at]) return false
  return true
}
