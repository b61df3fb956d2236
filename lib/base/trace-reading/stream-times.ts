// When each event of a streamed body came. A trace tells when so many bytes were there: an event came with its last byte.

import { timeText } from './amounts.ts'
import { EventStreamReader } from './stream-events.ts'
import type { StreamEvent } from './stream-events.ts'

export interface TimedEvent extends StreamEvent {
  /** Microseconds since the request was accepted; null where nobody knows. */
  readonly at: number | null
  /** Since the one before. */
  readonly gap: number | null
}

export interface TimedEvents {
  readonly events: readonly TimedEvent[]
  /** Events above the bound. */
  readonly left: number
}

/** `[bytes, microseconds]`: so many were there then. */
type Arrival = readonly [bytes: number, at: number]

export interface Arrivals {
  readonly list: readonly Arrival[]
  /** How many parts each of them stands for. */
  readonly step: number
}

const MOST_EVENTS = 10_000
const MOST_EVENT_BYTES = 16 * 1024 * 1024

export function timedEvents(bytes: Uint8Array, arrivals: Arrivals['list']): TimedEvents {
  const events: TimedEvent[] = []
  let left = 0
  let next = 0
  const hear = (event: StreamEvent): void => {
    if (events.length >= MOST_EVENTS) return void left++
    while (next < arrivals.length && arrivals[next]![0] < event.end) next++
    const at = arrivals[next]?.[1] ?? null
    const before = events.at(-1)?.at ?? null
    events.push({ ...event, at, gap: at === null || before === null ? null : at - before })
  }
  const reader = new EventStreamReader(hear, MOST_EVENT_BYTES)
  try {
    reader.write(bytes)
    reader.end()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    left++
  }
  return { events, left }
}

/** Of a body's event; none when there are none, or they make no sense. */
export function arrivalsOf(message: Readonly<Record<string, unknown>>): Arrivals {
  const { arrivals, arrivalStep } = message
  const step = typeof arrivalStep === 'number' && arrivalStep > 1 ? arrivalStep : 1
  const list: unknown[] = Array.isArray(arrivals) ? arrivals : []
  return { list: list.every(isArrival) ? (list as Arrival[]) : [], step }
}

function isArrival(value: unknown, at: number, list: readonly unknown[]): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false
  const [bytes, time] = value as unknown[]
  if (typeof bytes !== 'number' || typeof time !== 'number' || time < 0) return false
  const before = at === 0 ? null : (list[at - 1] as Arrival)
  return before === null || (before[0] <= bytes && before[1] <= time)
}

/** How many parts came: `18`, or `about 4000` where each stands for several. */
export function partCount({ list, step }: Arrivals): string {
  return step > 1 ? `about ${list.length * step}` : `${list.length}`
}

/** Of at least one: `18, after 12.4 ms to 889.0 ms`. */
export function arrivalWords(arrivals: Arrivals): string {
  const [first, last] = [arrivals.list[0]!, arrivals.list.at(-1)!]
  const until = first === last ? '' : ` to ${timeText(last[1])}`
  return `${partCount(arrivals)}, after ${timeText(first[1])}${until}`
}

/** In one sentence. */
export function streamWords({ events, left }: TimedEvents): string {
  const whole = events.filter(({ kind }) => kind === 'event')
  const count = whole.length + left
  const counted = count === 1 ? '1 event' : `${count} events`
  const [first, last] = [whole[0]?.at ?? null, whole.at(-1)?.at ?? null]
  if (first === null || last === null) return `${counted}; when they came is not known.`
  if (whole.length === 1) return `${counted}, after ${timeText(first)}.`
  const pause = longestPause(events)
  const paused =
    pause === null
      ? ''
      : `; the longest pause was ${timeText(pause.gap)}, before number ${pause.number}`
  return `${counted} in ${timeText(last - first)}, the first after ${timeText(first)}${paused}.`
}

/** `number` counts from 1, as they are listed. */
function longestPause(events: readonly TimedEvent[]): { gap: number; number: number } | null {
  let longest: { gap: number; number: number } | null = null
  for (const [at, { gap }] of events.entries())
    if (gap !== null && gap > (longest?.gap ?? 0)) longest = { gap, number: at + 1 }
  return longest
}
