// Reads the watched members of a JSON object that arrives in pieces, without holding the object: of an image in an event, only
// the usage next to it is kept.

import { NO_INTEREST } from '../../../text/json-members.ts'
import type { RootMember } from '../../../text/json-members.ts'
import { JsonPeek } from '../../../text/json-peek.ts'
import type { MemberTree } from './usage-dialects.ts'

/** Of one member: a longer one is searched for watched members below it, or skipped if it has none. */
export const MAX_WATCHED_MEMBER_BYTES = 65_536

export class MemberReader {
  readonly #tree: MemberTree
  readonly #peek: JsonPeek
  #members: Record<string, unknown> | null = {}
  /** The current watched member, if it has watched members below it: its reader, and the offset up to which it has read. */
  #inner: MemberReader | null = null
  #innerFrom = 0
  /** Offset of the first byte of the current piece, and its place in the buffer. */
  #pieceOffset = 0
  #pieceFrom = 0
  #bytes!: Buffer
  #read = 0

  constructor(tree: MemberTree) {
    this.#tree = tree
    this.#peek = new JsonPeek({
      begin: (name, from) => this.#begin(name, from),
      member: (found) => this.#keep(found),
      closed: () => {},
      fault: () => (this.#members = null),
    })
  }

  /** The bytes are read before this returns, and not kept. */
  write(bytes: Buffer, from: number, to: number): void {
    if (this.#members === null) return
    this.#bytes = bytes
    this.#pieceOffset = this.#read
    this.#pieceFrom = from
    this.#read += to - from
    this.#peek.write(bytes, from, to)
    this.#writeInner(this.#read)
  }

  /** The watched members, by name; null if the bytes were not one JSON object. */
  end(): Record<string, unknown> | null {
    this.#peek.end()
    return this.#members
  }

  #begin(name: string, from: number): number {
    const tree = this.#tree.get(name)
    if (tree === undefined) return NO_INTEREST
    this.#inner = tree.size > 0 ? new MemberReader(tree) : null
    this.#innerFrom = from
    return MAX_WATCHED_MEMBER_BYTES
  }

  #keep({ name, to, value }: RootMember): void {
    this.#writeInner(to)
    const inner = this.#inner
    this.#inner = null
    if (this.#members === null) return
    this.#members[name] = value === null ? (inner?.end() ?? null) : JSON.parse(value.toString())
  }

  /** Passes the bytes of the current member up to an offset to its reader. */
  #writeInner(to: number): void {
    if (this.#inner === null) return
    const from = Math.max(this.#innerFrom, this.#pieceOffset)
    const shift = this.#pieceFrom - this.#pieceOffset
    this.#innerFrom = to
    if (from < to) this.#inner.write(this.#bytes, from + shift, to + shift)
  }
}
