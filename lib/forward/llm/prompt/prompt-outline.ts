// Reads the JSON of an LLM request body while it arrives: model, streaming, token limits, and the positions of the members that
// edits may change.

import assert from 'node:assert'
import { GatewayError } from '../../../core/errors.ts'
import { applyEdits } from '../../../text/json-edit.ts'
import { NO_INTEREST } from '../../../text/json-members.ts'
import type { RootMember } from '../../../text/json-members.ts'
import { JsonPeek } from '../../../text/json-peek.ts'
import type { JsonPeekOwner } from '../../../text/json-peek.ts'
import { findJsonValue, listMembers } from '../../../text/json-scan.ts'
import type { PromptFacts } from '../llm-call-types.ts'

/** Members of the root: no real request has as many, and each costs more memory than its bytes. */
export const MAX_PROMPT_MEMBERS = 1_024

/** The position of a member's value in the body. */
export interface PromptMember {
  readonly name: string
  readonly from: number
  /** -1 until the end of the value is known. */
  to: number
  /** null if the value is not kept, or is too long. */
  value: Buffer | null
}

export class PromptOutline implements JsonPeekOwner, PromptFacts {
  model: string | null = null
  stream: boolean | null = null
  includeUsage: boolean | null = null
  maxTokens: number | null = null
  /** The watched members, in the order of the body. */
  readonly members: PromptMember[] = []
  /** The position of the closing brace; -1 until it is known. */
  closedAt = -1
  /** Why the body cannot be used. */
  error: GatewayError | null = null
  /** The number of members with a known value; it grows whenever a fact may have become known. */
  knownCount = 0
  #memberCount = 0
  readonly #watchedMembers: WatchedMembers
  readonly #onlyModel: string | null
  readonly #peek = new JsonPeek(this)

  /** `onlyModel`: the only model that the body may name; null for any. */
  constructor(watchedMembers: WatchedMembers, onlyModel: string | null = null) {
    this.#watchedMembers = watchedMembers
    this.#onlyModel = onlyModel
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

  /** The member, if its value has started. */
  findMember(name: string): PromptMember | undefined {
    if (!this.#watchedMembers.bounds.has(name)) throw new Error(`'${name}' is not watched`)
    return this.members.find((member) => member.name === name)
  }

  /** Whether the value of a member is known, or the member is known to be missing. */
  isKnown(name: string): boolean {
    return this.closedAt >= 0 || (this.findMember(name)?.to ?? -1) >= 0
  }

  begin(name: string, from: number): number {
    if (++this.#memberCount > MAX_PROMPT_MEMBERS)
      this.fault(`more than ${MAX_PROMPT_MEMBERS} members`, from)
    if (this.error !== null) return NO_INTEREST
    const { bounds, spellings } = this.#watchedMembers
    const maxBytes = bounds.get(name)
    if (maxBytes === undefined) {
      const other = spellings.get(foldMemberName(name))
      if (other !== undefined) this.fault(`use the exact member name '${other}'`, from)
      return NO_INTEREST
    }
    // The peek reports a duplicate member as a fault after this call.
    if (!this.members.some((member) => member.name === name))
      this.members.push({ name, from, to: -1, value: null })
    return maxBytes
  }

  member({ name, to, value }: RootMember): void {
    if (this.error !== null) return
    const member = this.members.at(-1)
    assert(member?.name === name, 'a member ends before the next begins')
    member.to = to
    member.value = value
    this.knownCount++
    this.#readFact(member)
  }

  closed(at: number): void {
    this.closedAt = at
  }

  fault(what: string, at: number): void {
    this.error ??= new GatewayError(
      'LLM_REQUEST',
      `failed to process LLM request: invalid body at byte ${at}: ${what}`,
    )
  }

  #readFact({ name, from, value }: PromptMember): void {
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
      return this.fault(`'stream_options' is longer than ${MAX_OPTIONS_BYTES} bytes`, from)
    if (isAmbiguousOption(value))
      return this.fault(`'stream_options' must have 'include_usage' once, in this spelling`, from)
    this.includeUsage = readIncludeUsage(value)
  }

  /** A model that is not a string is refused: a provider might convert it to a name that is not allowed. */
  #readModel(value: Buffer | null, from: number): void {
    if (value === null) return this.fault(`'model' is longer than ${MAX_MODEL_BYTES} bytes`, from)
    const model: unknown = JSON.parse(value.toString())
    if (model === null) return
    if (typeof model !== 'string') return this.fault(`'model' is not a string`, from)
    const onlyModel = this.#onlyModel
    // Gemini has a prefix in front of its names.
    if (onlyModel !== null && model !== onlyModel && model !== `models/${onlyModel}`)
      return this.fault(`'model' differs from the path or query`, from)
    this.model = model
  }
}

function parseBoolean(value: Buffer | null): boolean | null {
  const text = value?.toString()
  return text === 'true' || text === 'false' ? text === 'true' : null
}

function parseTokenCount(value: Buffer | null): number | null {
  const count = Number(value?.toString() ?? NaN)
  return Number.isFinite(count) && count > 0 ? count : null
}

const INCLUDE_USAGE = 'include_usage'
const INCLUDE_USAGE_MEMBER = `"${INCLUDE_USAGE}":true`
const OPEN_BRACE = 123

/** `stream_options` for a request that has none. */
export const USAGE_OPTION = `{${INCLUDE_USAGE_MEMBER}}`

/** The most bytes that asking for usage can add to a body: the whole member with a comma. */
export const MAX_USAGE_OPTION_BYTES = `,"stream_options":${USAGE_OPTION}`.length

/** null if the options do not have the member, or its value is not a boolean. */
function readIncludeUsage(options: Buffer): boolean | null {
  const value: unknown = JSON.parse(options.toString())
  if (typeof value !== 'object' || value === null) return null
  const includeUsage = (value as Record<string, unknown>)[INCLUDE_USAGE]
  return typeof includeUsage === 'boolean' ? includeUsage : null
}

/** Whether JSON parsers may read different values: of duplicate members most use the last, but not all. */
function isAmbiguousOption(options: Buffer): boolean {
  const value = findJsonValue(options)
  if (value === null) return false
  const found = listMembers(options, value).filter(
    ({ key }) => foldMemberName(key) === INCLUDE_USAGE,
  )
  return found.length > 1 || found.some(({ key }) => key !== INCLUDE_USAGE)
}

/** Sets `include_usage` in options that are not ambiguous; null if it is true already, or if they are not an object. */
export function setIncludeUsage(options: Buffer): string | null {
  if (readIncludeUsage(options) === true) return null
  const value = findJsonValue(options)
  if (value === null) return null
  if (options.toString() === 'null') return USAGE_OPTION
  if (options[value.from] !== OPEN_BRACE) return null
  const members = listMembers(options, value)
  const found = members.find(({ key }) => key === INCLUDE_USAGE)
  const added = members.length === 0 ? INCLUDE_USAGE_MEMBER : `${INCLUDE_USAGE_MEMBER},`
  const edit =
    found === undefined
      ? { from: 1, to: 1, text: added }
      : { from: found.from, to: found.to, text: 'true' }
  return applyEdits(options, [edit]).toString()
}

/** A longer `model` is refused. */
const MAX_MODEL_BYTES = 1_024
/** Longer `stream_options` are refused. */
const MAX_OPTIONS_BYTES = 16_384
const MAX_SCALAR_BYTES = 64

/** The members with facts about the request, and how many bytes of their values are kept. */
const FACT_MEMBERS: readonly [name: string, bytes: number][] = [
  ['model', MAX_MODEL_BYTES],
  ['stream', MAX_SCALAR_BYTES],
  ['stream_options', MAX_OPTIONS_BYTES],
  ['max_tokens', MAX_SCALAR_BYTES],
  ['max_completion_tokens', MAX_SCALAR_BYTES],
  ['max_output_tokens', MAX_SCALAR_BYTES],
]

/** The members that are searched for: those with facts about the request, and those that edits may change. */
export interface WatchedMembers {
  /** By name: how many bytes of the value are kept; 0 where only its position matters. */
  readonly bounds: ReadonlyMap<string, number>
  /** From `foldMemberName` of a name to the name. */
  readonly spellings: ReadonlyMap<string, string>
}

/** Created once for each route; `names` are all members that its edits may change. */
export function createWatchedMembers(names: Iterable<string>): WatchedMembers {
  const bounds = new Map<string, number>()
  for (const name of names) bounds.set(name, 0)
  for (const [name, bytes] of FACT_MEMBERS) bounds.set(name, bytes)
  return {
    bounds,
    spellings: new Map([...bounds.keys()].map((name) => [foldMemberName(name), name])),
  }
}

/** Some JSON parsers, such as Go's, ignore the case of names; they also read ſ as s and the Kelvin sign as k. */
function foldMemberName(name: string): string {
  return name.toUpperCase().toLowerCase()
}
