// Reads of an event's data what its dialect has a place for. Of a long one no objects are made but of that: whatever a
// provider sends, it costs one look at each byte, or two.

import type { Outcome } from '../../../core/types.ts'
import { NO_INTEREST } from '../../../text/json-members.ts'
import type { RootMember } from '../../../text/json-members.ts'
import { JsonPeek } from '../../../text/json-peek.ts'
import type { InputCountMeaning, ObservedUsage, RawUsage } from '../llm-call-types.ts'
import { mergeUsage, parseUsage, readCountAt, readTextAt, readValueAt } from './raw-usage.ts'
import type { MemberTree, ResponseDialect } from './usage-dialects.ts'

/** Of one member; into a longer one is looked, if there are places in it, and else it passes unread. */
export const MAX_WATCHED_MEMBER_BYTES = 65_536

/** Up to this, nothing is faster than making objects of all of it, and nothing in it can make that slow. */
export const MAX_PARSED_BYTES = 16_384

const OPEN_BRACE = 123

/** `text`: the same data, byte by byte. */
export function extractUsage(findings: UsageFindings, data: Buffer, text: string): void {
  if (!containsMarker(text, findings.markers)) return
  const object =
    data.length > MAX_PARSED_BYTES
      ? readWatchedMembers(data, findings.memberTree)
      : parseJsonSlice(data, 0, data.length)
  findings.readObject(object)
  findings.readEnding(readTextAt(object, ['type']) ?? '')
}

/** null if it is no JSON. */
export function parseJsonSlice(data: Buffer, from: number, to: number): unknown {
  try {
    return JSON.parse(data.toString('utf8', from, to))
  } catch {
    // Somebody else's dialect, or cut short.
    return null
  }
}

/** null if the data is no JSON object. */
function readWatchedMembers(data: Buffer, places: MemberTree): Record<string, unknown> | null {
  let found: RootMember[] | null = []
  const peek = new JsonPeek({
    begin: (name) => (places.has(name) ? 0 : NO_INTEREST),
    member: (one) => found?.push(one),
    closed: () => {},
    fault: () => (found = null),
  })
  peek.write(data, 0, data.length)
  peek.end()
  return found === null
    ? null
    : Object.fromEntries(found.map((one) => readWatchedMember(data, one, places)))
}

function readWatchedMember(
  data: Buffer,
  { name, from, to }: RootMember,
  places: MemberTree,
): [string, unknown] {
  if (to - from <= MAX_WATCHED_MEMBER_BYTES)
    return [name, JSON.parse(data.toString('utf8', from, to))]
  const inner = places.get(name)!
  const isWorthIt = inner.size > 0 && data[from] === OPEN_BRACE
  return [name, isWorthIt ? readWatchedMembers(data.subarray(from, to), inner) : null]
}

// What an answer has told so far, put together from the objects in it: the events of a stream, or all of an answer in one
// piece. A count told again replaces the one before; the first model and tier stay.

/** What only those know who read the bytes. */
export type UsageMeasurements = Pick<ObservedUsage, 'outputGuess' | 'firstAt' | 'lastAt'>

export class UsageFindings {
  readonly #dialect: ResponseDialect
  #usage: RawUsage | null = null
  #counts: InputCountMeaning
  #outputCount: ObservedUsage['outputCount'] = 'whole'
  #model: string | null = null
  #tier: string | null = null
  #count: number | null = null
  #ending: ObservedUsage['ending'] = 'missing'

  constructor(dialect: ResponseDialect) {
    this.#dialect = dialect
    this.#counts = dialect.counts
  }

  /** An object that tells something new has one of these in it. */
  get markers(): readonly string[] {
    return this.#model === null ? this.#dialect.firstMarkers : this.#dialect.markers
  }

  get memberTree(): MemberTree {
    return this.#dialect.memberTree
  }

  /** Looks at nothing but the places the dialect has for it, whatever else the object says. */
  readObject(object: unknown): void {
    const { usage, model, tier, count } = this.#dialect
    for (const path of usage) this.#mergeUsageAt(object, path)
    this.#model ??= firstText(object, model)
    this.#tier ??= firstText(object, tier)
    if (count !== null) this.#count = readCountAt(object, count) ?? this.#count
  }

  /** The name of an event, or all of its data. */
  readEnding(text: string): void {
    if (this.#dialect.endings.has(text)) this.#ending = 'seen'
  }

  /** Nothing more comes; `whole`: what came is complete by its own form. */
  finish(outcome: Outcome, form: 'whole' | 'open'): void {
    const isPlainEnd = outcome === 'complete' && this.#dialect.plainEnd === 'whole'
    if (form === 'whole' || isPlainEnd) this.#ending = 'seen'
  }

  toObservedUsage(measured: UsageMeasurements): ObservedUsage {
    return {
      usage: this.#usage,
      counts: this.#counts,
      model: this.#model,
      serviceTier: this.#tier,
      outputCount: this.#outputCount,
      countTokens: this.#count,
      isFree: this.#dialect.isFree,
      ending: this.#ending,
      ...measured,
    }
  }

  #mergeUsageAt(object: unknown, path: readonly string[]): void {
    const report = parseUsage(readValueAt(object, path))
    if (report === null) return
    this.#usage = mergeUsage(this.#usage, report.usage)
    this.#counts = report.counts ?? this.#counts
    if (report.usage.output === undefined) return
    this.#outputCount = path === this.#dialect.begun ? 'begun' : 'whole'
  }
}

function firstText(object: unknown, paths: readonly (readonly string[])[]): string | null {
  for (const path of paths) {
    const text = readTextAt(object, path)
    if (text !== undefined) return text
  }
  return null
}

// Tells at a glance that a stretch of an event stream holds nothing worth parsing: by the words that would have to be in it.

const NEWLINE = '\n'
const SPACE = ' '
const TAB = '\t'
const RETURN = '\r'

/** Whether one of the words is there, other than as the name of a member that is null. */
export function containsMarker(text: string, words: readonly string[]): boolean {
  for (const word of words) {
    let at = text.indexOf(word)
    while (at >= 0) {
      if (!isNullMember(text, at + word.length)) return true
      at = text.indexOf(word, at + word.length)
    }
  }
  return false
}

/** OpenAI sends `"usage":null` in every chunk but the last, once it was asked for usage. */
function isNullMember(text: string, behind: number): boolean {
  const colon = skipJsonSpace(text, behind)
  return text[colon] === ':' && text.startsWith('null', skipJsonSpace(text, colon + 1))
}

function skipJsonSpace(text: string, from: number): number {
  let at = from
  while (isSpace(text[at])) at++
  return at
}

function isSpace(letter: string | undefined): boolean {
  return letter === SPACE || letter === NEWLINE || letter === RETURN || letter === TAB
}

// What bytes are taken for if nobody counts their tokens.

/** On the average. */
const BYTES_PER_TOKEN = 4

/** Of an event with one token in it: all else is names, ids and padding. */
const USUAL_EVENT_BYTES = 512

export function guessTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

/** A token for each, and more for those that are longer than usual. What brings none is no answer. */
export function guessEventTokens(events: number, bytes: number): number {
  if (events === 0) return 0
  return events + guessTokens(Math.max(0, bytes - events * USUAL_EVENT_BYTES))
}
