// What a model said in a stream of events, whichever dialect it speaks, and how fast it said it.

import { timeText } from './amounts.ts'
import { members } from './step.ts'
import type { Step } from './step.ts'
import type { TimedEvent } from './stream-times.ts'

export interface Talk {
  /** As far as the bound. */
  readonly text: string
  readonly isCut: boolean
  /** When the first and the last of it came, in microseconds since the request was accepted. */
  readonly first: number | null
  readonly last: number | null
}

const MOST_LETTERS = 100_000

/** Null for a stream in which no model speaks. */
export function talkOf(events: readonly TimedEvent[]): Talk | null {
  const pieces: string[] = []
  let letters = 0
  let [first, last]: (number | null)[] = [null, null]
  for (const { data, at } of events) {
    const piece = pieceOf(data)
    if (piece === '') continue
    first ??= at
    last = at
    letters += piece.length
    if (letters <= MOST_LETTERS) pieces.push(piece)
  }
  if (letters === 0) return null
  return {
    text: pieces.join(''),
    isCut: letters > MOST_LETTERS,
    first: first ?? null,
    last: last ?? null,
  }
}

/** Tokens that were answered, by what the gateway counted; null when it did not. */
export function outputTokensOf(steps: readonly Step[]): number | null {
  const usage = steps.findLast(({ event }) => event.message.type === 'llmUsage')
  const { output, outputTokens } = members(usage?.event.message['usage'])
  const tokens = outputTokens ?? output
  return typeof tokens === 'number' ? tokens : null
}

/** In one sentence; '' when nobody knows. */
export function talkWords({ first, last }: Talk, tokens: number | null): string {
  if (first === null || last === null) return tokens === null ? '' : `${tokens} tokens.`
  const begun = `First token after ${timeText(first)}`
  if (tokens === null) return `${begun}, the last after ${timeText(last)}.`
  const span = last - first
  // Those behind the first took that long.
  const rate = tokens > 1 && span > 0 ? (tokens - 1) / (span / 1_000_000) : null
  const pace = rate === null ? '' : ` in ${timeText(span)}: ${rateText(rate)} tokens per second`
  return `${begun}, ${tokens} tokens${pace}.`
}

function rateText(rate: number): string {
  return rate < 100 ? rate.toFixed(1) : String(Math.round(rate))
}

/** What a model says in the data of one event; '' for nothing. */
export function pieceOf(data: string): string {
  if (!data.startsWith('{')) return ''
  let value: Readonly<Record<string, unknown>>
  try {
    value = members(JSON.parse(data))
  } catch {
    return ''
  }
  const { choices, candidates, delta, type } = value
  if (Array.isArray(choices)) return choices.map(choicePiece).join('')
  if (Array.isArray(candidates)) return candidates.map(candidatePiece).join('')
  if (typeof type !== 'string' || !type.endsWith('delta')) return ''
  return typeof delta === 'string' ? delta : firstText(members(delta))
}

function choicePiece(choice: unknown): string {
  const { delta, text } = members(choice)
  return typeof text === 'string' ? text : firstText(members(delta))
}

function candidatePiece(candidate: unknown): string {
  const { parts } = members(members(candidate)['content'])
  return Array.isArray(parts) ? parts.map((part) => firstText(members(part))).join('') : ''
}

/** What is thought or written as arguments counts: the model speaks. */
function firstText(delta: Readonly<Record<string, unknown>>): string {
  const { content, text, thinking, reasoning_content, partial_json, tool_calls } = delta
  const said = [content, text, thinking, reasoning_content, partial_json].find(
    (part) => typeof part === 'string' && part !== '',
  )
  if (typeof said === 'string') return said
  if (!Array.isArray(tool_calls)) return ''
  return tool_calls
    .map((call) => members(members(call)['function'])['arguments'])
    .filter((part) => typeof part === 'string')
    .join('')
}
