// Watches an answer that is one JSON object, or an array of them, as Gemini streams without `alt=sse`. Only the members
// that tell usage and model are kept, of each object; the rest passes.

import { JsonPeek } from '../../../text/json-peek.ts'
import { NO_INTEREST } from '../../../text/json-members.ts'
import type { RootMember } from '../../../text/json-members.ts'
import type { Outcome } from '../../../core/types.ts'
import type { ObservedUsage } from '../llm-call-types.ts'
import type { ResponseDialect } from './usage-dialects.ts'
import {
  guessTokens,
  MAX_PARSED_BYTES,
  MAX_WATCHED_MEMBER_BYTES,
  parseJsonSlice,
  UsageFindings,
} from './extract-usage.ts'
import type { ResponseWatch } from './response-watch.ts'

const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125
/** What may stand around objects: white space, a byte order mark, and a comma between two. */
const SEPARATORS: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n\ufeff,'))

const LAST_SPACE = 32

/** `between`: in front of an object, or behind one of several. */
type JsonWatchState = 'between' | 'object' | 'over' | 'broken'

export class JsonWatch implements ResponseWatch {
  readonly #dialect: ResponseDialect
  readonly #findings: UsageFindings
  readonly #now: () => number
  #state: JsonWatchState = 'between'
  #root: 'object' | 'array' = 'object'
  #peek!: JsonPeek
  /** Of the object in work: what is kept of it, its bytes before this chunk, and where it ends, -1 until it does. */
  #members: Record<string, unknown> = {}
  #read = 0
  #closedAt = -1
  #bytes = 0
  #firstAt = 0
  #lastAt = 0

  constructor(dialect: ResponseDialect, now: () => number) {
    this.#dialect = dialect
    this.#findings = new UsageFindings(dialect)
    this.#now = now
  }

  get observed(): ObservedUsage {
    const [firstAt, lastAt] = [this.#firstAt, this.#lastAt]
    const isText = this.#dialect.content === 'text'
    const outputGuess = isText ? guessTokens(this.#bytes) : 0
    return this.#findings.toObservedUsage({ outputGuess, firstAt, lastAt })
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#lastAt = this.#now()
    if (this.#firstAt === 0) this.#firstAt = this.#lastAt
    this.#bytes += to - from
    if (this.#state === 'between' && this.#isRead(bytes, from, to)) return
    let at = from
    while (at < to) at = this[this.#state](bytes, at, to)
  }

  end(outcome: Outcome): void {
    // Cut short, it may have told all the same.
    this.#objectComplete()
    this.#findings.finish(outcome, this.#state === 'over' ? 'whole' : 'open')
  }

  whenDone(callback: () => void): void {
    callback()
  }

  private between(bytes: Buffer, at: number): number {
    const byte = bytes[at]!
    switch (byte) {
      case OPEN_BRACE:
        this.#begin()
        return at
      case OPEN_BRACKET:
        this.#state = this.#root === 'object' ? 'between' : 'broken'
        this.#root = 'array'
        return at + 1
      case CLOSE_BRACKET:
        this.#state = this.#root === 'array' ? 'over' : 'broken'
        return at + 1
    }
    if (!SEPARATORS.has(byte)) this.#state = 'broken'
    return at + 1
  }

  private object(bytes: Buffer, from: number, to: number): number {
    this.#peek.write(bytes, from, to)
    if (this.#closedAt < 0) {
      this.#read += to - from
      return to
    }
    const end = from + this.#closedAt - this.#read + 1
    this.#objectComplete()
    // Whatever the peek made of the bytes behind it: they are not for the same one.
    this.#state = this.#root === 'array' ? 'between' : 'over'
    return end
  }

  private over(_bytes: Buffer, _from: number, to: number): number {
    return to
  }

  private broken(_bytes: Buffer, _from: number, to: number): number {
    return to
  }

  /** An answer that came in one piece, as short ones do: made objects of at once, which costs a third of a peek. */
  #isRead(bytes: Buffer, from: number, to: number): boolean {
    const object = this.#root === 'object' ? parseWholeObject(bytes, from, to) : null
    if (object === null) return false
    this.#findings.readObject(object)
    this.#state = 'over'
    return true
  }

  #begin(): void {
    this.#state = 'object'
    this.#read = 0
    this.#closedAt = -1
    this.#peek = new JsonPeek({
      begin: (name) =>
        this.#dialect.memberTree.has(name) ? MAX_WATCHED_MEMBER_BYTES : NO_INTEREST,
      member: (found) => this.#keep(found),
      closed: (at) => (this.#closedAt = at),
      fault: () => (this.#state = 'broken'),
    })
  }

  #keep({ name, value }: RootMember): void {
    if (value !== null) this.#members[name] = JSON.parse(value.toString())
  }

  #objectComplete(): void {
    this.#findings.readObject(this.#members)
    this.#members = {}
  }
}

/** null for what is too long, or not one object from its first byte to its last. */
function parseWholeObject(bytes: Buffer, from: number, to: number): unknown {
  if (to - from > MAX_PARSED_BYTES || bytes[from] !== OPEN_BRACE) return null
  let last = to - 1
  while (bytes[last]! <= LAST_SPACE) last--
  return bytes[last] === CLOSE_BRACE ? parseJsonSlice(bytes, from, to) : null
}
