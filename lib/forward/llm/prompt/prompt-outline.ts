// What a request's body says, as far as it was read: what is asked, and where the members lie that edits may change.

import assert from 'node:assert'
import { GatewayError } from '../../../core/errors.ts'
import { applyEdits } from '../../../text/json-edit.ts'
import { NO_INTEREST } from '../../../text/json-members.ts'
import type { RootMember } from '../../../text/json-members.ts'
import { JsonPeek } from '../../../text/json-peek.ts'
import type { JsonPeekOwner } from '../../../text/json-peek.ts'
import { findJsonValue, listMembers } from '../../../text/json-scan.ts'
import type { PromptFacts } from '../llm-call-types.ts'

/** Members of the root: no request has as many, and each costs more than its bytes. */
export const MAX_PROMPT_MEMBERS = 1_024

/** A member's value, in bytes of the body. */
export interface PromptMember {
  readonly name: string
  readonly from: number
  /** -1 while its end is not known. */
  to: number
  /** null if it was not to be kept, or is too long. */
  value: Buffer | null
}

export class PromptOutline implements JsonPeekOwner, PromptFacts {
  model: string | null = null
  stream: boolean | null = null
  includeUsage: boolean | null = null
  maxTokens: number | null = null
  /** In the order of the body; as many as are watched, at most. */
  readonly members: PromptMember[] = []
  /** Where the closing brace is; -1 until it is known. */
  closedAt = -1
  /** Why it cannot be used. */
  error: GatewayError | null = null
  /** Members whose values are known; it grows whenever there is something to learn. */
  knownCount = 0
  #memberCount = 0
  readonly #watchedMembers: WatchedMembers
  readonly #onlyModel: string | null
  readonly #peek = new JsonPeek(this)

  /** `named`: the only model it may name; null for any. */
  constructor(watched: WatchedMembers, named: string | null = null) {
    this.#watchedMembers = watched
    this.#onlyModel = named
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
  findMember(name: string): PromptMember | undefined {
    if (!this.#watchedMembers.bounds.has(name)) throw new Error(`'${name}' was not watched`)
    return this.members.find((place) => place.name === name)
  }

  /** Whether the value of a member is known, or the member known to be missing. */
  isKnown(name: string): boolean {
    return this.closedAt >= 0 || (this.findMember(name)?.to ?? -1) >= 0
  }

  begin(name: string, from: number): number {
    if (++this.#memberCount > MAX_PROMPT_MEMBERS)
      this.fault(`more than ${MAX_PROMPT_MEMBERS} members`, from)
    if (this.error !== null) return NO_INTEREST
    const { bounds, spellings } = this.#watchedMembers
    const bytes = bounds.get(name)
    if (bytes === undefined) {
      const other = spellings.get(foldMemberName(name))
      if (other !== undefined) this.fault(`another spelling of '${other}'`, from)
      return NO_INTEREST
    }
    // One that comes twice is a fault, which is told behind this.
    if (!this.members.some((place) => place.name === name))
      this.members.push({ name, from, to: -1, value: null })
    return bytes
  }

  member({ name, to, value }: RootMember): void {
    if (this.error !== null) return
    const place = this.members.at(-1)
    assert(place?.name === name, 'a member ends before the next begins')
    place.to = to
    place.value = value
    this.knownCount++
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

  #read({ name, from, value }: PromptMember): void {
    switch (name) {
      case 'model':
        return this.#readModel(value, from)
      case 'stream':
        this.stream = parseBoolean(value)
        return
      case 'stream_options':
        return this.#readOptions(value, from)
      case 'max_tokens':
      case 'max_completion_tokens':
      case 'max_output_tokens': {
        const tokens = parseTokenCount(value)
        if (tokens !== null) this.maxTokens = Math.max(this.maxTokens ?? 0, tokens)
      }
    }
  }

  #readOptions(value: Buffer | null, from: number): void {
    if (value === null)
      return this.fault(`'stream_options' longer than ${MAX_OPTIONS_BYTES} bytes`, from)
    if (isAmbiguousOption(value))
      return this.fault(`'include_usage' twice, or in another spelling, in 'stream_options'`, from)
    this.includeUsage = readIncludeUsage(value)
  }

  /** What is no name may become one on its way, and another than any that was allowed. */
  #readModel(value: Buffer | null, from: number): void {
    if (value === null) return this.fault(`a 'model' longer than ${MAX_MODEL_BYTES} bytes`, from)
    const model: unknown = JSON.parse(value.toString())
    if (model === null) return
    if (typeof model !== 'string') return this.fault(`a 'model' that is no string`, from)
    const named = this.#onlyModel
    // Gemini's names have a word in front.
    if (named !== null && model !== named && model !== `models/${named}`)
      return this.fault(`another 'model' than its path or query`, from)
    this.model = model
  }
}

function parseBoolean(value: Buffer | null): boolean | null {
  const text = value?.toString()
  return text === 'true' || text === 'false' ? text === 'true' : null
}

/** A number of tokens. */
function parseTokenCount(value: Buffer | null): number | null {
  const count = Number(value?.toString() ?? NaN)
  return Number.isFinite(count) && count > 0 ? count : null
}

// `stream_options` with `include_usage` set, all else in it left as it was written.

const NAME = 'include_usage'
const MEMBER = `"${NAME}":true`
const OPEN_BRACE = 123

/** What it is where the request has no options. */
export const USAGE_OPTION = `{${MEMBER}}`

/** The most that asking can add to a body: the member as a whole, with a comma. */
export const MAX_USAGE_OPTION_BYTES = `,"stream_options":${USAGE_OPTION}`.length

/** What the options say themselves; null if nothing, or nothing that can be understood. */
function readIncludeUsage(options: Buffer): boolean | null {
  const value: unknown = JSON.parse(options.toString())
  if (typeof value !== 'object' || value === null) return null
  const said = (value as Record<string, unknown>)[NAME]
  return typeof said === 'boolean' ? said : null
}

/** Whether readers of JSON may differ about what they say: of several the last counts to most, but not to all. */
function isAmbiguousOption(options: Buffer): boolean {
  const value = findJsonValue(options)
  if (value === null) return false
  const said = listMembers(options, value).filter(({ key }) => foldMemberName(key) === NAME)
  return said.length > 1 || said.some(({ key }) => key !== NAME)
}

/** The options with usage asked for, which `isAmbiguousOption` has passed; null if they do so already, or are no options at all. */
export function setIncludeUsage(options: Buffer): string | null {
  if (readIncludeUsage(options) === true) return null
  const value = findJsonValue(options)
  if (value === null) return null
  if (options.toString() === 'null') return USAGE_OPTION
  if (options[value.from] !== OPEN_BRACE) return null
  const members = listMembers(options, value)
  const said = members.find(({ key }) => key === NAME)
  const edit =
    said === undefined
      ? { from: 1, to: 1, text: members.length === 0 ? MEMBER : `${MEMBER},` }
      : { from: said.from, to: said.to, text: 'true' }
  return applyEdits(options, [edit]).toString()
}

// The members of a request's body that are looked for: those that tell what is asked, and those that edits may name.

/** A longer one is refused: it is no model's name. */
const MAX_MODEL_BYTES = 1_024
/** Longer options are refused as well. */
const MAX_OPTIONS_BYTES = 16_384
const MAX_SCALAR_BYTES = 64

/** How much is kept of the values that tell what is asked. */
const FACT_MEMBERS: readonly [name: string, bytes: number][] = [
  ['model', MAX_MODEL_BYTES],
  ['stream', MAX_SCALAR_BYTES],
  ['stream_options', MAX_OPTIONS_BYTES],
  ['max_tokens', MAX_SCALAR_BYTES],
  ['max_completion_tokens', MAX_SCALAR_BYTES],
  ['max_output_tokens', MAX_SCALAR_BYTES],
]

export interface WatchedMembers {
  /** By name: how many bytes of the value are kept, 0 where only its place matters. */
  readonly bounds: ReadonlyMap<string, number>
  /** Each name as `folded` has it, and as it is written. */
  readonly spellings: ReadonlyMap<string, string>
}

/** Made once for all requests of a route; `names` are all that its edits may name. */
export function createWatchedMembers(names: Iterable<string>): WatchedMembers {
  const bounds = new Map<string, number>()
  for (const name of names) bounds.set(name, 0)
  for (const [name, bytes] of FACT_MEMBERS) bounds.set(name, bytes)
  return {
    bounds,
    spellings: new Map([...bounds.keys()].map((name) => [foldMemberName(name), name])),
  }
}

/** Some readers of JSON, Go's among them, take names for equal that differ in case only; ſ is an s to them, and K a k. */
function foldMemberName(name: string): string {
  return name.toUpperCase().toLowerCase()
}
