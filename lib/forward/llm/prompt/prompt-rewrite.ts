// Applies the edits of one attempt to the request body: members are replaced, or added before the closing brace; all other bytes
// are unchanged. The outline has always read at least the bytes that pass here.

import type { ByteBudget } from '../../../core/byte-budgets.ts'
import { ByteBuffer } from '../../../text/byte-buffer.ts'
import { applyEdits } from '../../../text/json-edit.ts'
import type { JsonEdit } from '../../../text/json-edit.ts'
import type { BodyEdits } from '../llm-call-types.ts'
import { MAX_USAGE_OPTION_BYTES, setIncludeUsage, USAGE_OPTION } from './prompt-outline.ts'
import type { PromptMember, PromptOutline } from './prompt-outline.ts'

/** Bytes from `stream_options` on that are held until `stream` is known; a body with more is refused. */
export const MAX_UNDECIDED_BYTES = 65_536

const STREAM_OPTIONS = 'stream_options'
const STREAM_TOO_LATE = `'stream' more than ${MAX_UNDECIDED_BYTES} bytes after '${STREAM_OPTIONS}' (put it before them)`
const COMMA_BYTES = 1
const NOTHING = Buffer.alloc(0)

export class PromptRewrite {
  readonly #outline: PromptOutline
  readonly #edits: BodyEdits
  /** Members to add where they are missing. */
  readonly #defaultMembers: readonly (readonly [name: string, text: string])[]
  /** `asked`: the bytes sent so far ask for usage, which the client did not do. */
  #usage: 'asked' | 'possible' | 'unchanged'
  /** The offset of the next byte. */
  #offset = 0
  /** The index of the first member that does not end before `#offset`. */
  #memberIndex = 0
  /** Replaces the `stream_options` of the client; null keeps them. */
  #usageOptions: string | null = null
  /** The bytes from `stream_options` on, until it is known whether they change. */
  readonly #undecided: KeptBytes

  constructor(outline: PromptOutline, edits: BodyEdits, budget: ByteBudget) {
    this.#outline = outline
    this.#edits = edits
    const { set, defaults } = edits
    this.#defaultMembers = [...set, ...[...defaults].filter(([name]) => !set.has(name))]
    this.#undecided = new KeptBytes(budget)
    // `stream_options` from the configuration are not changed.
    this.#usage = edits.usage !== 'leave' && !set.has(STREAM_OPTIONS) ? 'possible' : 'unchanged'
  }

  get asksForUsage(): boolean {
    return this.#usage === 'asked'
  }

  /** The body asks for usage, or will if the request turns out to stream. */
  get mayAskForUsage(): boolean {
    return this.#usage !== 'unchanged' && this.#streams() !== false
  }

  /** The growth of the body in bytes: exact if the whole body is known, otherwise the maximum. */
  get growth(): number {
    const isKnown = this.#outline.closedAt >= 0
    let growth = isKnown ? Buffer.byteLength(this.#addedMembers()) : this.#maxAddedBytes()
    if (this.#undecidedFrom() < Infinity) growth += MAX_USAGE_OPTION_BYTES
    for (const member of this.#outline.members) {
      const text = this.#replacementFor(member)
      const length = member.to < 0 ? 0 : member.to - member.from
      if (text !== null) growth += Buffer.byteLength(text) - length
    }
    return growth
  }

  /** Returns the bytes to send, from the held bytes and the new ones. */
  rewrite(bytes: Buffer, from: number, to: number): Buffer {
    const fresh = bytes.subarray(from, to)
    if (this.#undecided.length === 0) return this.#rewriteBytes(fresh)
    const isLong = this.#undecided.length > MAX_UNDECIDED_BYTES
    const isUndecided = this.#undecidedFrom() < Infinity
    if (isUndecided && !isLong && this.#undecided.add(bytes, from, to)) return NOTHING
    if (isUndecided) {
      this.#usage = 'unchanged'
      // Without the option the cost is not reported. The body is incomplete, so the provider has not started.
      if (isLong && this.#edits.usage === 'ask') this.#outline.fault(STREAM_TOO_LATE, this.#offset)
    }
    const joined = Buffer.concat([...this.#undecided.pieces(), fresh])
    this.#undecided.release()
    return this.#rewriteBytes(joined)
  }

  /** Returns the held bytes at the end of the body. */
  flush(): Buffer {
    return this.rewrite(NOTHING, 0, 0)
  }

  release(): void {
    this.#undecided.release()
  }

  #rewriteBytes(input: Buffer): Buffer {
    const undecided = this.#undecidedFrom()
    let bytes = input
    if (undecided < this.#offset + input.length) {
      const from = undecided - this.#offset
      if (this.#undecided.add(input, from, input.length)) bytes = input.subarray(0, from)
      else this.#usage = 'unchanged'
    }
    const edits = this.#createEdits(bytes)
    this.#offset += bytes.length
    return applyEdits(bytes, edits)
  }

  /** The edits of the next bytes, with offsets from the start of `bytes`. */
  #createEdits(bytes: Buffer): JsonEdit[] {
    const from = this.#offset
    const to = from + bytes.length
    const { members, closedAt } = this.#outline
    const edits: JsonEdit[] = []
    for (; this.#memberIndex < members.length; this.#memberIndex++) {
      const member = members[this.#memberIndex]!
      if (member.from >= to) break
      const text = this.#replacementFor(member)
      const end = member.to < 0 ? to : Math.min(member.to, to)
      // The replacement of a value that started earlier is already sent; the rest of the value is removed.
      if (text !== null && member.from >= from)
        edits.push({ from: member.from - from, to: end - from, text })
      else if (text !== null) edits.push({ from: 0, to: end - from, text: '' })
      if (member.to < 0 || member.to > to) break
    }
    if (closedAt >= from && closedAt < to)
      edits.push({ from: closedAt - from, to: closedAt - from, text: this.#addedMembers() })
    return edits
  }

  #replacementFor({ name }: PromptMember): string | null {
    if (name === STREAM_OPTIONS && this.#usageOptions !== null) return this.#usageOptions
    const { set, replace } = this.#edits
    return set.get(name) ?? replace.get(name) ?? null
  }

  /** The start of `stream_options` while it is not known whether they change; Infinity otherwise. */
  #undecidedFrom(): number {
    if (this.#usage !== 'possible') return Infinity
    const options = this.#outline.findMember(STREAM_OPTIONS)
    if (options === undefined) return Infinity
    const streams = this.#streams()
    const isDecided = streams !== null || this.#outline.includeUsage === true
    if (options.to < 0 || !isDecided) return options.from
    this.#usageOptions =
      streams === true && options.value !== null ? setIncludeUsage(options.value) : null
    this.#usage = this.#usageOptions === null ? 'unchanged' : 'asked'
    return Infinity
  }

  /** Whether the edited request asks for a stream; null while that is not known. */
  #streams(): boolean | null {
    const { set, defaults } = this.#edits
    const text = set.get('stream')
    if (text !== undefined) return text === 'true'
    const stream = this.#outline.findMember('stream')
    if (stream !== undefined) return stream.to < 0 ? null : this.#outline.stream === true
    return this.#outline.closedAt < 0 ? null : defaults.get('stream') === 'true'
  }

  /** The text to add before the closing brace, once all members are known. */
  #addedMembers(): string {
    const members: string[] = []
    for (const [name, text] of this.#defaultMembers)
      if (this.#outline.findMember(name) === undefined) members.push(formatMember(name, text))
    const hasOptions =
      this.#edits.defaults.has(STREAM_OPTIONS) ||
      this.#outline.findMember(STREAM_OPTIONS) !== undefined
    if (!hasOptions && this.#usage !== 'unchanged' && this.#streams() === true) {
      members.push(formatMember(STREAM_OPTIONS, USAGE_OPTION))
      this.#usage = 'asked'
    }
    if (members.length === 0) return ''
    return (this.#outline.hasMembers ? ',' : '') + members.join(',')
  }

  /** The most bytes that edits can add, while more members may arrive. */
  #maxAddedBytes(): number {
    const mayAddOption =
      this.#usage === 'possible' && this.#outline.findMember(STREAM_OPTIONS) === undefined
    let maxBytes = mayAddOption && this.#streams() !== false ? MAX_USAGE_OPTION_BYTES : 0
    for (const [name, text] of this.#defaultMembers)
      if (this.#outline.findMember(name) === undefined)
        maxBytes += COMMA_BYTES + Buffer.byteLength(formatMember(name, text))
    for (const [name, text] of this.#edits.replace)
      if (this.#outline.findMember(name) === undefined) maxBytes += Buffer.byteLength(text)
    return maxBytes
  }
}

function formatMember(name: string, text: string): string {
  return `${JSON.stringify(name)}:${text}`
}

/**
 * Bytes of a request in memory, charged to a budget that all requests share. The buffer grows by doubling: while a body arrives
 * in pieces, it may be twice as large as the charge.
 */
export class KeptBytes {
  readonly #budget: ByteBudget
  readonly #buffer = new ByteBuffer()
  /** The pieces that `pieces` has already returned. */
  #parts: Buffer[] = []
  #length = 0

  constructor(budget: ByteBudget) {
    this.#budget = budget
  }

  get budgetLimit(): number {
    return this.#budget.maxBytes
  }

  get length(): number {
    return this.#length
  }

  /** Returns false and adds nothing if the shared budget is used up. */
  add(bytes: Buffer, from: number, to: number): boolean {
    if (!this.#budget.tryReserve(to - from)) return false
    this.#length += to - from
    this.#buffer.append(bytes, from, to)
    return true
  }

  /** All bytes in few pieces: one more for each call after new bytes. The caller must not change them. */
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
