// Extracts the text that a model generated from a stream of events, in the format of any provider, and its token rate.

import { timeText } from './amounts.ts'
import type { TimedEvent } from './timed-events.ts'
import { asRecord } from './trace-event.ts'
import type { Step } from './trace-event.ts'

export interface ModelOutput {
  /** The generated text, up to a limit. */
  readonly text: string
  readonly isCut: boolean
  /** When the first and the last text arrived, in microseconds since the request was accepted. */
  readonly first: number | null
  readonly last: number | null
}

const MAX_CHARS = 100_000

/** Null if the stream holds no output of a model. */
export function modelOutputOf(events: readonly TimedEvent[]): ModelOutput | null {
  const texts: string[] = []
  let chars = 0
  let [first, last]: (number | null)[] = [null, null]
  for (const { data, at } of events) {
    const text = outputTextOf(data)
    if (text === '') continue
    first ??= at
    last = at
    chars += text.length
    if (chars <= MAX_CHARS) texts.push(text)
  }
  if (chars === 0) return null
  return {
    text: texts.join(''),
    isCut: chars > MAX_CHARS,
    first: first ?? null,
    last: last ?? null,
  }
}

/** The output tokens that the gateway counted; null if it counted none. */
export function outputTokensOf(steps: readonly Step[]): number | null {
  const usage = steps.findLast(({ event }) => event.message.type === 'llmUsage')
  const { output, outputTokens } = asRecord(usage?.event.message['usage'])
  const tokens = outputTokens ?? output
  return typeof tokens === 'number' ? tokens : null
}

/** Time to first token and token rate in one sentence; empty if both are unknown. */
export function tokenRateText({ first, last }: ModelOutput, tokens: number | null): string {
  if (first === null || last === null) return tokens === null ? '' : `${tokens} tokens.`
  const start = `First token after ${timeText(first)}`
  if (tokens === null) return `${start}, the last after ${timeText(last)}.`
  const duration = last - first
  // The first token arrived at the start of the duration, so it does not count.
  const rate = tokens > 1 && duration > 0 ? (tokens - 1) / (duration / 1_000_000) : null
  const pace = rate === null ? '' : ` in ${timeText(duration)}: ${rateText(rate)} tokens per second`
  return `${start}, ${tokens} tokens${pace}.`
}

function rateText(rate: number): string {
  return rate < 100 ? rate.toFixed(1) : String(Math.round(rate))
}

/** The generated text in the data of one event; empty if there is none. */
export function outputTextOf(data: string): string {
  if (!data.startsWith('{')) return ''
  let value: Readonly<Record<string, unknown>>
  try {
    value = asRecord(JSON.parse(data))
  } catch {
    return ''
  }
  const { choices, candidates, delta, type } = value
  if (Array.isArray(choices)) return choices.map(choiceText).join('')
  if (Array.isArray(candidates)) return candidates.map(candidateText).join('')
  if (typeof type !== 'string' || !type.endsWith('delta')) return ''
  return typeof delta === 'string' ? delta : deltaText(asRecord(delta))
}

function choiceText(choice: unknown): string {
  const { delta, text } = asRecord(choice)
  return typeof text === 'string' ? text : deltaText(asRecord(delta))
}

function candidateText(candidate: unknown): string {
  const { parts } = asRecord(asRecord(candidate)['content'])
  return Array.isArray(parts) ? parts.map((part) => deltaText(asRecord(part))).join('') : ''
}

/** Reasoning and the arguments of tool calls count as output too. */
function deltaText(delta: Readonly<Record<string, unknown>>): string {
  const { content, text, thinking, reasoning_content, partial_json, tool_calls } = delta
  const found = [content, text, thinking, reasoning_content, partial_json].find(
    (part) => typeof part === 'string' && part !== '',
  )
  if (typeof found === 'string') return found
  if (!Array.isArray(tool_calls)) return ''
  return tool_calls
    .map((call) => asRecord(asRecord(call)['function'])['arguments'])
    .filter((part) => typeof part === 'string')
    .join('')
}
