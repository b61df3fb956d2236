// How one try's body is made of what the client sent: members replaced, members added in front of the closing brace, and
// every other byte as it came. It follows the outline, which always knows at least what has passed here.

import type { Budget } from '../../../base/bounds/budget.ts'
import { edited } from '../../../base/json/edit.ts'
import type { Edit } from '../../../base/json/edit.ts'
import type { BodyEdits } from '../types.ts'
import { Kept } from './kept.ts'
import type { Outline, Place } from './outline.ts'
import { MOST_USAGE_BYTES, USAGE_OPTION, withUsage } from './usage-option.ts'

/** How much may wait behind `stream_options` until `stream` is known; above that it is refused. */
export const MAX_WAITING_BYTES = 65_536

const OPTIONS = 'stream_options'
const TOO_FAR = `'stream' more than ${MAX_WAITING_BYTES} bytes behind '${OPTIONS}', write it in front,`
const COMMA_BYTES = 1
const NOTHING = Buffer.alloc(0)

export class Rewrite {
  readonly #outline: Outline
  readonly #edits: BodyEdits
  /** What is added where it is missing. */
  readonly #wanted: readonly (readonly [name: string, text: string])[]
  /** `asked`: as far as it has passed, it asks for usage on the client's behalf. */
  #usage: 'asked' | 'possible' | 'left'
  /** Offset of the next byte, and the first place that does not end before it. */
  #at = 0
  #next = 0
  /** What replaces the client's own options; null leaves them. */
  #asking: string | null = null
  /** From the options on, while nobody knows what becomes of them. */
  readonly #waiting: Kept

  constructor(outline: Outline, edits: BodyEdits, together: Budget) {
    this.#outline = outline
    this.#edits = edits
    const { set, defaults } = edits
    this.#wanted = [...set, ...[...defaults].filter(([name]) => !set.has(name))]
    this.#waiting = new Kept(together)
    // Options that the configuration sets are its own word.
    this.#usage = edits.usage === 'ask' && !set.has(OPTIONS) ? 'possible' : 'left'
  }

  get isAsking(): boolean {
    return this.#usage === 'asked'
  }

  /** It asks, or will if the request turns out to stream. */
  get mayAsk(): boolean {
    return this.#usage !== 'left' && this.#streams() !== false
  }

  /** By how much the body grows: exactly, when all of it is known; until then, at most. */
  get growth(): number {
    const isKnown = this.#outline.closedAt >= 0
    let growth = isKnown ? Buffer.byteLength(this.#missing()) : this.#mostMissing()
    if (this.#undecidedFrom() < Infinity) growth += MOST_USAGE_BYTES
    for (const place of this.#outline.places) {
      const text = this.#textFor(place)
      const length = place.to < 0 ? 0 : place.to - place.from
      if (text !== null) growth += Buffer.byteLength(text) - length
    }
    return growth
  }

  /** What goes on, of what waits and what comes now. */
  pass(bytes: Buffer, from: number, to: number): Buffer {
    const fresh = bytes.subarray(from, to)
    if (this.#waiting.length === 0) return this.#go(fresh)
    const isLong = this.#waiting.length > MAX_WAITING_BYTES
    const isUndecided = this.#undecidedFrom() < Infinity
    if (isUndecided && !isLong && this.#waiting.add(bytes, from, to)) return NOTHING
    if (isUndecided) {
      this.#usage = 'left'
      // Nobody would count what it costs. All of it is not here yet, so no provider takes it for a request.
      if (isLong) this.#outline.fault(TOO_FAR, this.#at)
    }
    const all = Buffer.concat([...this.#waiting.pieces(), fresh])
    this.#waiting.drop()
    return this.#go(all)
  }

  /** What waited, when nothing more comes. */
  rest(): Buffer {
    return this.pass(NOTHING, 0, 0)
  }

  drop(): void {
    this.#waiting.drop()
  }

  #go(all: Buffer): Buffer {
    const undecided = this.#undecidedFrom()
    let bytes = all
    if (undecided < this.#at + all.length) {
      const from = undecided - this.#at
      if (this.#waiting.add(all, from, all.length)) bytes = all.subarray(0, from)
      else this.#usage = 'left'
    }
    const edits = this.#editsOf(bytes)
    this.#at += bytes.length
    return edited(bytes, edits)
  }

  /** Of the bytes that come next. */
  #editsOf(bytes: Buffer): Edit[] {
    const from = this.#at
    const to = from + bytes.length
    const { places, closedAt } = this.#outline
    const edits: Edit[] = []
    for (; this.#next < places.length; this.#next++) {
      const place = places[this.#next]!
      if (place.from >= to) break
      const text = this.#textFor(place)
      const end = place.to < 0 ? to : Math.min(place.to, to)
      // What began before was replaced then, and is only left out now.
      if (text !== null && place.from >= from)
        edits.push({ from: place.from - from, to: end - from, text })
      else if (text !== null) edits.push({ from: 0, to: end - from, text: '' })
      if (place.to < 0 || place.to > to) break
    }
    if (closedAt >= from && closedAt < to)
      edits.push({ from: closedAt - from, to: closedAt - from, text: this.#missing() })
    return edits
  }

  #textFor(place: Place): string | null {
    if (place.name === OPTIONS && this.#asking !== null) return this.#asking
    const { set, replace } = this.#edits
    return set.get(place.name) ?? replace.get(place.name) ?? null
  }

  /** Where the options begin of which nobody knows yet what becomes of them; Infinity if there are none. */
  #undecidedFrom(): number {
    if (this.#usage !== 'possible') return Infinity
    const place = this.#outline.placeOf(OPTIONS)
    if (place === undefined) return Infinity
    const streams = this.#streams()
    const isDecided = streams !== null || this.#outline.includeUsage === true
    if (place.to < 0 || !isDecided) return place.from
    this.#asking = streams === true && place.value !== null ? withUsage(place.value) : null
    this.#usage = this.#asking === null ? 'left' : 'asked'
    return Infinity
  }

  /** Whether the request streams, with its edits; null while that is not known. */
  #streams(): boolean | null {
    const { set, defaults } = this.#edits
    const text = set.get('stream')
    if (text !== undefined) return text === 'true'
    const place = this.#outline.placeOf('stream')
    if (place !== undefined) return place.to < 0 ? null : this.#outline.stream === true
    return this.#outline.closedAt < 0 ? null : defaults.get('stream') === 'true'
  }

  /** What stands in front of the closing brace, once all members are known. */
  #missing(): string {
    const members: string[] = []
    for (const [name, text] of this.#wanted)
      if (this.#outline.placeOf(name) === undefined) members.push(memberOf(name, text))
    const hasOptions =
      this.#edits.defaults.has(OPTIONS) || this.#outline.placeOf(OPTIONS) !== undefined
    if (!hasOptions && this.#usage !== 'left' && this.#streams() === true) {
      members.push(memberOf(OPTIONS, USAGE_OPTION))
      this.#usage = 'asked'
    }
    if (members.length === 0) return ''
    return (this.#outline.hasMembers ? ',' : '') + members.join(',')
  }

  /** The most bytes that can be missing, while members may still come. */
  #mostMissing(): number {
    const isOpen = this.#usage === 'possible' && this.#outline.placeOf(OPTIONS) === undefined
    let most = isOpen && this.#streams() !== false ? MOST_USAGE_BYTES : 0
    for (const [name, text] of this.#wanted)
      if (this.#outline.placeOf(name) === undefined)
        most += COMMA_BYTES + Buffer.byteLength(memberOf(name, text))
    for (const [name, text] of this.#edits.replace)
      if (this.#outline.placeOf(name) === undefined) most += Buffer.byteLength(text)
    return most
  }
}

function memberOf(name: string, text: string): string {
  return `${JSON.stringify(name)}:${text}`
}
