// What a request's body says, as far as it was read: what is asked, and where the members lie that edits may change.

import assert from 'node:assert'
import { GatewayError } from '../../../base/errors.ts'
import { Peek } from '../../../base/json/peek.ts'
import type { PeekOwner } from '../../../base/json/peek.ts'
import { NO_INTEREST } from '../../../base/json/root-members.ts'
import type { Found } from '../../../base/json/root-members.ts'
import type { PromptFacts } from '../types.ts'
import { includeUsageIn, isUnclear } from './usage-option.ts'
import { MAX_MODEL_BYTES, MAX_OPTIONS_BYTES, folded } from './watched.ts'
import type { Watched } from './watched.ts'

/** Members of the root: no request has as many, and each costs more than its bytes. */
export const MAX_MEMBERS = 1_024

/** A member's value, in bytes of the body. */
export interface Place {
  readonly name: string
  readonly from: number
  /** -1 while its end is not known. */
  to: number
  /** null if it was not to be kept, or is too long. */
  value: Buffer | null
}

export class Outline implements PeekOwner, PromptFacts {
  model: string | null = null
  stream: boolean | null = null
  includeUsage: boolean | null = null
  maxTokens: number | null = null
  /** In the order of the body; as many as are watched, at most. */
  readonly places: Place[] = []
  /** Where the closing brace is; -1 until it is known. */
  closedAt = -1
  /** Why it cannot be used. */
  error: GatewayError | null = null
  /** Members whose values are known; it grows whenever there is something to learn. */
  known = 0
  #members = 0
  readonly #watched: Watched
  readonly #named: string | null
  readonly #peek = new Peek(this)

  /** `named`: the only model it may name; null for any. */
  constructor(watched: Watched, named: string | null = null) {
    this.#watched = watched
    this.#named = named
  }

  get hasMembers(): boolean {
    return this.#peek.hasMembers
  }

  write(bytes: Buffer, from: number, to: number): void {
    if (this.error === null) this.#peek.write(bytes, from, to)
  }

  end(): void {
    if (this.error === null) this.#peek.end()
  }

  /** The member of that name, if it has begun. */
  placeOf(name: string): Place | undefined {
    if (!this.#watched.bounds.has(name)) throw new Error(`'${name}' was not watched`)
    return this.places.find((place) => place.name === name)
  }

  /** Whether the value of a member is known, or the member known to be missing. */
  isSettled(name: string): boolean {
    return this.closedAt >= 0 || (this.placeOf(name)?.to ?? -1) >= 0
  }

  begin(name: string, from: number): number {
    if (++this.#members > MAX_MEMBERS) this.fault(`more than ${MAX_MEMBERS} members`, from)
    if (this.error !== null) return NO_INTEREST
    const { bounds, spellings } = this.#watched
    const bytes = bounds.get(name)
    if (bytes === undefined) {
      const other = spellings.get(folded(name))
      if (other !== undefined) this.fault(`another spelling of '${other}'`, from)
      return NO_INTEREST
    }
    // One that comes twice is a fault, which is told behind this.
    if (!this.places.some((place) => place.name === name))
      this.places.push({ name, from, to: -1, value: null })
    return bytes
  }

  member({ name, to, value }: Found): void {
    if (this.error !== null) return
    const place = this.places.at(-1)
    assert(place?.name === name, 'a member ends before the next begins')
    place.to = to
    place.value = value
    this.known++
    this.#read(place)
  }

  closed(at: number): void {
    this.closedAt = at
  }

  fault(what: string, at: number): void {
    this.error ??= new GatewayError(
      'LLM_REQUEST',
      `failed to process LLM request: the body has ${what} at byte ${at}`,
    )
  }

  #read({ name, from, value }: Place): void {
    switch (name) {
      case 'model':
        return this.#readModel(value, from)
      case 'stream':
        this.stream = booleanOf(value)
        return
      case 'stream_options':
        return this.#readOptions(value, from)
      case 'max_tokens':
      case 'max_completion_tokens':
      case 'max_output_tokens': {
        const tokens = countOf(value)
        if (tokens !== null) this.maxTokens = Math.max(this.maxTokens ?? 0, tokens)
      }
    }
  }

  #readOptions(value: Buffer | null, from: number): void {
    if (value === null)
      return this.fault(`'stream_options' longer than ${MAX_OPTIONS_BYTES} bytes`, from)
    if (isUnclear(value))
      return this.fault(`'include_usage' twice, or in another spelling, in 'stream_options'`, from)
    this.includeUsage = includeUsageIn(value)
  }

  /** What is no name may become one on its way, and another than any that was allowed. */
  #readModel(value: Buffer | null, from: number): void {
    if (value === null) return this.fault(`a 'model' longer than ${MAX_MODEL_BYTES} bytes`, from)
    const model: unknown = JSON.parse(value.toString())
    if (model === null) return
    if (typeof model !== 'string') return this.fault(`a 'model' that is no string`, from)
    const named = this.#named
    // Gemini's names have a word in front.
    if (named !== null && model !== named && model !== `models/${named}`)
      return this.fault(`another 'model' than its path or query`, from)
    this.model = model
  }
}

function booleanOf(value: Buffer | null): boolean | null {
  const text = value?.toString()
  return text === 'true' || text === 'false' ? text === 'true' : null
}

/** A number of tokens. */
function countOf(value: Buffer | null): number | null {
  const count = Number(value?.toString() ?? NaN)
  return Number.isFinite(count) && count > 0 ? count : null
}
