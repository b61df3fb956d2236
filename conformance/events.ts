// Parses and compares server-sent events, event by event and with any line ends. Pure.

import { fits } from './placeholders.ts'
import type { Kept } from './placeholders.ts'
import { jsonFits } from './json.ts'

/** Field values by name; repeated fields are joined by line breaks, as `data` is. */
type Event = ReadonlyMap<string, string>

/** Whether an expected body is written as events and not as chunked bytes. */
export function areEvents(text: string): boolean {
  return /^(?:event|data|id|retry):/.test(text)
}

/** Parses the complete events; comments are skipped. */
export function parseEvents(text: string): Event[] {
  const lines = text.split(/\r\n|\n|\r/)
  const events: Event[] = []
  let event = new Map<string, string>()
  // The text after the last line break is not a complete line.
  for (const line of lines.slice(0, -1)) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
    if (line === '' && event.size > 0) {
      events.push(event)
      event = new Map()
    } else if (name !== '') {
      const previous = event.get(name)
      event.set(name, previous === undefined ? value : `${previous}\n${value}`)
    }
  }
  return events
}

/** Parses the events of a case, whose last event needs no empty line. */
export function parseExpectedEvents(text: string): Event[] {
  return parseEvents(`${text}\n\n`)
}

export function eventsFit(
  expected: readonly Event[],
  actual: readonly Event[],
  kept?: Kept,
): boolean {
  if (expected.length !== actual.length) return false
  return expected.every((event, index) => eventFits(event, actual[index]!, kept))
}

function eventFits(expected: Event, actual: Event, kept: Kept | undefined): boolean {
  if (expected.size !== actual.size) return false
  return [...expected].every(([name, expectedValue]) => {
    const actualValue = actual.get(name)
    if (actualValue === undefined) return false
    return (
      fits(expectedValue, actualValue, kept) ||
      (name === 'data' && jsonFits(expectedValue, actualValue, kept))
    )
  })
}

export function formatEvents(events: readonly Event[]): string {
  return events
    .map((event) => [...event].map(([name, value]) => `${name}: ${value}`).join('\n'))
    .join('\n\n')
}
