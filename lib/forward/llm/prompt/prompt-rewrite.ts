// How one try's body is made of what the client sent: members replaced, members added in front of the closing brace, and
// every other byte as it came. It follows the outline, which always knows at least what has passed here.

import type { ByteBudget } from '../../../core/byte-budgets.ts'
import { ByteBuffer } from '../../../text/byte-buffer.ts'
import { applyEdits } from '../../../text/json-edit.ts'
import type { JsonEdit } from '../../../text/json-edit.ts'
import type { BodyEdits } from '../llm-call-types.ts'
import { MAX_USAGE_OPTION_BYTES, setIncludeUsage, USAGE_OPTION } from './prompt-outline.ts'
import type { PromptMember, PromptOutline } from './prompt-outline.ts'

/** How much may wait behind `stream_options` until `stream` is known; above that it is refused. */
export const MAX_UNDECIDED_BYTES = 65_536

const STREAM_OPTIONS = 'stream_options'
const STREAM_TOO_LATE = `'stream' more than ${MAX_UNDECIDED_BYTES} bytes behind '${STREAM_OPTIONS}', write it in front,`
const COMMA_BYTES = 1
const NOTHING = Buffer.alloc(0)

export class PromptRewrite {
  readonly #outline: PromptOutline
  readonly #edits: BodyEdits
  /** What is added where it is missing. */
  readonly #defaultMembers: readonly (readonly [name: string, text: string])[]
  /** `asked`: as far as it has passed, it asks for usage on the client's behalf. */
  #usage: 'asked' | 'possible' | 'left'
  /** Offset of the next byte, and the first place that does not end before it. */
  #at = 0
  #next = 0
  /** What replaces the client's own options; null leaves them. */
  #usageOptions: string | null = null
  /** From the options on, while nobody knows what becomes of them. */
  readonly #undecided: KeptBytes

  constructor(outline: PromptOutline, edits: BodyEdits, together: ByteBudget) {
    this.#outline = outline
    this.#edits = edits
    const { set, defaults } = edits
    this.#defaultMembers = [...set, ...[...defaults].filter(([name]) => !set.has(name))]
    this.#undecided = new KeptBytes(together)
    // Options that the configuration sets are its own word.
    this.#usage = edits.usage === 'ask' && !set.has(STREAM_OPTIONS) ? 'possible' : 'left'
  }

  get asksForUsage(): boolean {
    return this.#usage === 'asked'
  }

  /** It asks, or will if the request turns out to stream. */
  get mayAskForUsage(): boolean {
    return this.#usage !== 'left' && this.#streams() !== false
  }

  /** By how much the body grows: exactly, when all of it is known; until then, at most. */
  get growth(): number {
    const isKnown = this.#outline.closedAt >= 0
    let growth = isKnown ? Buffer.byteLength(this.#addedMembers()) : this.#maxAddedBytes()
    if (this.#undecidedFrom() < Infinity) growth += MAX_USAGE_OPTION_BYTES
    for (const place of this.#outline.members) {
      const text = this.#replacementFor(place)
      const length = place.to < 0 ? 0 : place.to - place.from
      if (text !== null) growth += Buffer.byteLength(text) - length
    }
    return growth
  }

  /** What goes on, of what waits and what comes now. */
  rewrite(bytes: Buffer, from: number, to: number): Buffer {
    const fresh = bytes.subarray(from, to)
    if (this.#undecided.length === 0) return this.#rewriteBytes(fresh)
    const isLong = this.#undecided.length > MAX_UNDECIDED_BYTES
    const isUndecided = this.#undecidedFrom() < Infinity
    if (isUndecided && !isLong && this.#undecided.add(bytes, from, to)) return NOTHING
    if (isUndecided) {
      this.#usage = 'left'
      // Nobody would count what it costs. All of it is not here yet, so no provider takes it for a request.
      if (isLong) this.#outline.fault(STREAM_TOO_LATE, this.#at)
    }
    const all = Buffer.concat([...this.#undecided.pieces(), fresh])
    this.#undecided.release()
    return this.#rewriteBytes(all)
  }

  /** What waited, when nothing more comes. */
  flush(): Buffer {
    return this.rewrite(NOTHING, 0, 0)
  }

  release(): void {
    this.#undecided.release()
  }

  #rewriteBytes(all: Buffer): Buffer {
    const undecided = this.#undecidedFrom()
    let bytes = all
    if (undecided < this.#at + all.length) {
      const from = undecided - this.#at
      if (this.#undecided.add(all, from, all.length)) bytes = all.subarray(0, from)
      else this.#usage = 'left'
    }
    const edits = this.#editsOf(bytes)
    this.#at += bytes.length
    return applyEdits(bytes, edits)
  }

  /** Of the bytes that come next. */
  #editsOf(bytes: Buffer): JsonEdit[] {
    const from = this.#at
    const to = from + bytes.length
    const { members: places, closedAt } = this.#outline
    const edits: JsonEdit[] = []
    for (; this.#next < places.length; this.#next++) {
      const place = places[this.#next]!
      if (place.from >= to) break
      const text = this.#replacementFor(place)
      const end = place.to < 0 ? to : Math.min(place.to, to)
      // What began before was replaced then, and is only left out now.
      if (text !== null && place.from >= from)
        edits.push({ from: place.from - from, to: end - from, text })
      else if (text !== null) edits.push({ from: 0, to: end - from, text: '' })
      if (place.to < 0 || place.to > to) break
    }
    if (closedAt >= from && closedAt < to)
      edits.push({ from: closedAt - from, to: closedAt - from, text: this.#addedMembers() })
    return edits
  }

  #replacementFor(place: PromptMember): string | null {
    if (place.name === STREAM_OPTIONS && this.#usageOptions !== null) return this.#usageOptions
    const { set, replace } = this.#edits
    return set.get(place.name) ?? replace.get(place.name) ?? null
  }

  /** Where the options begin of which nobody knows yet what becomes of them; Infinity if there are none. */
  #undecidedFrom(): number {
    if (this.#usage !== 'possible') return Infinity
    const place = this.#outline.findMember(STREAM_OPTIONS)
    if (place === undefined) return Infinity
    const streams = this.#streams()
    const isDecided = streams !== null || this.#outline.includeUsage === true
    if (place.to < 0 || !isDecided) return place.from
    this.#usageOptions =
      streams === true && place.value !== null ? setIncludeUsage(place.value) : null
    this.#usage = this.#usageOptions === null ? 'left' : 'asked'
    return Infinity
  }

  /** Whether the request streams, with its edits; null while that is not known. */
  #streams(): boolean | null {
    const { set, defaults } = this.#edits
    const text = set.get('stream')
    if (text !== undefined) return text === 'true'
    const place = this.#outline.findMember('stream')
    if (place !== undefined) return place.to < 0 ? null : this.#outline.stream === true
    return this.#outline.closedAt < 0 ? null : defaults.get('stream') === 'true'
  }

  /** What stands in front of the closing brace, once all members are known. */
  #addedMembers(): string {
    const members: string[] = []
    for (const [name, text] of this.#defaultMembers)
      if (this.#outline.findMember(name) === undefined) members.push(formatMember(name, text))
    const hasOptions =
      this.#edits.defaults.has(STREAM_OPTIONS) ||
      this.#outline.findMember(STREAM_OPTIONS) !== undefined
    if (!hasOptions && this.#usage !== 'left' && this.#streams() === true) {
      members.push(formatMember(STREAM_OPTIONS, USAGE_OPTION))
      this.#usage = 'asked'
    }
    if (members.length === 0) return ''
    return (this.#outline.hasMembers ? ',' : '') + members.join(',')
  }

  /** The most bytes that can be missing, while members may still come. */
  #maxAddedBytes(): number {
    const isOpen =
      this.#usage === 'possible' && this.#outline.findMember(STREAM_OPTIONS) === undefined
    let most = isOpen && this.#streams() !== false ? MAX_USAGE_OPTION_BYTES : 0
    for (const [name, text] of this.#defaultMembers)
      if (this.#outline.findMember(name) === undefined)
        most += COMMA_BYTES + Buffer.byteLength(formatMember(name, text))
    for (const [name, text] of this.#edits.replace)
      if (this.#outline.findMember(name) === undefined) most += Buffer.byteLength(text)
    return most
  }
}

function formatMember(name: string, text: string): string {
  return `${JSON.stringify(name)}:${text}`
}

// Bytes of a request kept in memory, charged to what all requests may keep together. The room they lie in grows by doubling:
// while a body comes in pieces it may be twice as large as what is charged.

export class KeptBytes {
  readonly #budget: ByteBudget
  readonly #buffer = new ByteBuffer()
  /** What was put together already. */
  #parts: Buffer[] = []
  #length = 0

  constructor(together: ByteBudget) {
    this.#budget = together
  }

  /** Of all requests together. */
  get budgetLimit(): number {
    return this.#budget.maxBytes
  }

  get length(): number {
    return this.#length
  }

  /** False when all requests keep too much; nothing was added then. */
  add(bytes: Buffer, from: number, to: number): boolean {
    if (!this.#budget.tryReserve(to - from)) return false
    this.#length += to - from
    this.#buffer.append(bytes, from, to)
    return true
  }

  /** All of it, in few pieces: one more each time that this is called with something new. They are not to be changed. */
  pieces(): readonly Buffer[] {
    if (this.#buffer.length > 0) this.#parts.push(this.#buffer.take())
    return this.#parts
  }

  release(): void {
    this.#budget.release(this.#length)
    this.#length = 0
    this.#parts = []
    this.#buffer.take()
  }
}
