// Watches a response that is one JSON object, an array of objects, as Gemini streams without `alt=sse`, or one object on each
// line, as Ollama streams. Of each object only the members with usage and model are kept.

import { JsonPeek } from '../../../text/json-peek.ts'
import { NO_INTEREST } from '../../../text/json-members.ts'
import type { RootMember } from '../../../text/json-members.ts'
import type { Outcome } from '../../../core/types.ts'
import type { ObservedUsage } from '../llm-call-types.ts'
import type { ResponseDialect } from './usage-dialects.ts'
import {
  guessEventTokens,
  guessTokens,
  MAX_PARSED_BYTES,
  parseJsonSlice,
  TextSize,
  UsageFindings,
} from './extract-usage.ts'
import { MAX_WATCHED_MEMBER_BYTES } from './member-reader.ts'
import type { ResponseWatch } from './response-watch.ts'

const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125
/** Allowed between objects: white space, a byte order mark and commas. */
const SEPARATORS: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n\ufeff,'))

const LAST_SPACE = 32
const LF = 10

/** `between`: before the first object, or in an array. `over`: after a whole response, which another line may continue. */
type JsonWatchState = 'between' | 'object' | 'over' | 'broken'

export class JsonWatch implements ResponseWatch {
  readonly #dialect: ResponseDialect
  readonly #findings: UsageFindings
  readonly #now: () => number
  #state: JsonWatchState = 'between'
  #root: 'object' | 'array' = 'object'
  #peek!: JsonPeek
  /** The kept members of the current object. */
  #members: Record<string, unknown> = {}
  /** Bytes of the current object before this chunk. */
  #bytesBefore = 0
  /** The offset of the closing brace in the current object; -1 until it arrives. */
  #closedAt = -1
  /** Objects that started. */
  #objects = 0
  readonly #size = new TextSize()
  #firstAt = 0
  #lastAt = 0

  constructor(dialect: ResponseDialect, now: () => number) {
    this.#dialect = dialect
    this.#findings = new UsageFindings(dialect)
    this.#now = now
  }

  get observed(): ObservedUsage {
    const [firstAt, lastAt] = [this.#firstAt, this.#lastAt]
    return this.#findings.toObservedUsage({ outputGuess: this.#outputGuess, firstAt, lastAt })
  }

  /** Of several lines, each is an event of a stream. */
  get #outputGuess(): number {
    if (this.#root === 'object' && this.#objects > 1)
      return guessEventTokens(this.#objects, this.#size.bytes)
    return this.#dialect.content === 'text' ? guessTokens(this.#size.bytes) : 0
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#lastAt = this.#now()
    if (this.#firstAt === 0) this.#firstAt = this.#lastAt
    this.#size.add(bytes, from, to)
    const isBetween = this.#state === 'between' || this.#state === 'over'
    if (isBetween && this.#readWholeObject(bytes, from, to)) return
    let at = from
    while (at < to) at = this[this.#state](bytes, at, to)
  }

  end(outcome: Outcome): void {
    // A truncated object may already have reported usage.
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
        this.#startObject()
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
      this.#bytesBefore += to - from
      return to
    }
    const end = from + this.#closedAt - this.#bytesBefore + 1
    this.#objectComplete()
    // The peek may have reported a fault in the bytes after the object, which do not belong to it.
    this.#state = this.#root === 'array' ? 'between' : 'over'
    return end
  }

  private over(bytes: Buffer, at: number, to: number): number {
    if (bytes[at]! <= LAST_SPACE) return at + 1
    if (this.#root === 'array' || bytes[at] !== OPEN_BRACE) return to
    this.#startObject()
    return at
  }

  private broken(_bytes: Buffer, _from: number, to: number): number {
    return to
  }

  /** Reads a short response that arrived in one chunk with `JSON.parse`, which costs a third of a peek. */
  #readWholeObject(bytes: Buffer, from: number, to: number): boolean {
    if (this.#root === 'array' || (this.#state === 'over' && hasSeveralLines(bytes, from, to)))
      return false
    const object = parseWholeObject(bytes, from, to)
    if (object === null) return false
    this.#objects++
    this.#findings.readObject(object)
    this.#state = 'over'
    return true
  }

  #startObject(): void {
    this.#state = 'object'
    this.#objects++
    this.#bytesBefore = 0
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

function hasSeveralLines(bytes: Buffer, from: number, to: number): boolean {
  const lineEnd = bytes.indexOf(LF, from)
  return lineEnd >= 0 && lineEnd < to - 1
}

/** null if the bytes are too long, or not exactly one object. */
function parseWholeObject(bytes: Buffer, from: number, to: number): unknown {
  if (to - from > MAX_PARSED_BYTES || bytes[from] !== OPEN_BRACE) return null
  let last = to - 1
  while (bytes[last]! <= LAST_SPACE) last--
  return bytes[last] === CLOSE_BRACE ? parseJsonSlice(bytes, from, to) : null
}
