// Reads usage, model and service tier from the JSON objects of a response, and guesses token counts where none is reported.
// Of large events only the watched members are parsed, so that each byte is read at most twice.

import type { Outcome } from '../../../core/types.ts'
import { EncodedByteCounter } from '../../../text/encoded-bytes.ts'
import type { InputCountMeaning, ObservedUsage, RawUsage } from '../llm-call-types.ts'
import { MemberReader } from './member-reader.ts'
import {
  mergeUsage,
  parseRootUsage,
  parseUsage,
  readCountAt,
  readTextAt,
  readValueAt,
} from './raw-usage.ts'
import type { ParsedUsage } from './raw-usage.ts'
import type { MemberTree, ResponseDialect } from './usage-dialects.ts'

/** Up to this size, `JSON.parse` of everything is fastest, and no content can make it slow. */
export const MAX_PARSED_BYTES = 16_384

/** `text` is `data` as latin1. */
export function extractUsage(findings: UsageFindings, data: Buffer, text: string): void {
  if (!containsMarker(text, findings.markers)) return
  if (data.length <= MAX_PARSED_BYTES)
    return findings.readEvent(parseJsonSlice(data, 0, data.length))
  const reader = new MemberReader(findings.memberTree)
  reader.write(data, 0, data.length)
  findings.readEvent(reader.end())
}

/** null if the bytes are not JSON. */
export function parseJsonSlice(data: Buffer, from: number, to: number): unknown {
  try {
    return JSON.parse(data.toString('utf8', from, to))
  } catch {
    // Another dialect, or truncated.
    return null
  }
}

/** What a watch measures from the bytes of a response. */
export type UsageMeasurements = Pick<ObservedUsage, 'outputGuess' | 'firstAt' | 'lastAt'>

/**
 * Collects what the objects of a response report: the events of a stream, or one JSON response. A later count replaces an
 * earlier one; the first model and tier are kept.
 */
export class UsageFindings {
  readonly #dialect: ResponseDialect
  #usage: RawUsage | null
  #counts: InputCountMeaning
  #outputCount: ObservedUsage['outputCount'] = 'whole'
  #model: string | null = null
  #tier: string | null = null
  #countTokens: number | null = null
  #ending: ObservedUsage['ending'] = 'missing'

  constructor(dialect: ResponseDialect) {
    this.#dialect = dialect
    this.#usage = dialect.headerUsage?.usage ?? null
    this.#counts = dialect.headerUsage?.counts ?? dialect.counts
  }

  /** Every object with new information contains one of these. */
  get markers(): readonly string[] {
    return this.#model === null ? this.#dialect.firstMarkers : this.#dialect.markers
  }

  get memberTree(): MemberTree {
    return this.#dialect.memberTree
  }

  /** Reads only the members that the dialect defines. */
  readObject(object: unknown): void {
    const { usage, rootUsage, model, tier, count } = this.#dialect
    if (rootUsage === 'read') this.#mergeUsage(parseRootUsage(object), 'whole')
    for (const path of usage)
      this.#mergeUsage(
        parseUsage(readValueAt(object, path)),
        path === this.#dialect.begun ? 'begun' : 'whole',
      )
    this.#model ??= firstText(object, model)
    this.#tier ??= firstText(object, tier)
    if (count !== null) this.#countTokens = readCountAt(object, count) ?? this.#countTokens
  }

  /** Reads the same, and the `type` of an event. */
  readEvent(object: unknown): void {
    this.readObject(object)
    this.readEnding(readTextAt(object, ['type']) ?? '')
  }

  /** `text` is the name of an event, or all of its data. */
  readEnding(text: string): void {
    if (this.#dialect.endings.has(text)) this.#ending = 'seen'
  }

  /** Called at the end of the response; `whole`: its format shows that it is complete. */
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
      countTokens: this.#countTokens,
      isFree: this.#dialect.isFree,
      ending: this.#ending,
      ...measured,
    }
  }

  #mergeUsage(report: ParsedUsage | null, outputCount: ObservedUsage['outputCount']): void {
    if (report === null) return
    this.#usage = mergeUsage(this.#usage, report.usage)
    this.#counts = report.counts ?? this.#counts
    if (report.usage.output !== undefined) this.#outputCount = outputCount
  }
}

function firstText(object: unknown, paths: readonly (readonly string[])[]): string | null {
  for (const path of paths) {
    const text = readTextAt(object, path)
    if (text !== undefined) return text
  }
  return null
}

const NEWLINE = '\n'
const SPACE = ' '
const TAB = '\t'
const RETURN = '\r'

/** Whether the text contains a marker, except as the name of a null member; text without one is not parsed. */
export function containsMarker(text: string, markers: readonly string[]): boolean {
  for (const marker of markers) {
    let at = text.indexOf(marker)
    while (at >= 0) {
      if (!isNullMember(text, at + marker.length)) return true
      at = text.indexOf(marker, at + marker.length)
    }
  }
  return false
}

/** With `include_usage`, OpenAI sends `"usage":null` in every chunk but the last. */
function isNullMember(text: string, nameEnd: number): boolean {
  const colon = skipJsonSpace(text, nameEnd)
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

/** An average. */
const BYTES_PER_TOKEN = 4

/** The size of an event with one token, with its names, ids and padding. */
const USUAL_EVENT_BYTES = 512

/** The size of a response for such an estimate: without encoded data, such as images in base64. */
export class TextSize {
  readonly #encoded = new EncodedByteCounter()
  #received = 0

  get bytes(): number {
    return this.#received - this.#encoded.count
  }

  add(bytes: Buffer, from: number, to: number): void {
    this.#received += to - from
    this.#encoded.add(bytes, from, to)
  }
}

/** Estimates the tokens of a text whose provider reports none. */
export function guessTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

/** One token for each event, and more for bytes above the usual size; 0 without events. */
export function guessEventTokens(events: number, bytes: number): number {
  if (events === 0) return 0
  return events + guessTokens(Math.max(0, bytes - events * USUAL_EVENT_BYTES))
}
