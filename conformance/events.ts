// Events of a stream, as a case writes them and as they came: compared event by event, whatever ends the lines. Pure.

import { fits } from './holes.ts'
import type { Kept } from './holes.ts'
import { jsonFits } from './json.ts'

/** Its fields by name; several of a name are joined by line breaks, as `data` is. */
type Event = ReadonlyMap<string, string>

/** Whether a body in a case is written as events, and not as the bytes of chunks. */
export function areEvents(text: string): boolean {
  return /^(?:event|data|id|retry):/.test(text)
}

/** Those that are whole; comments are none. */
export function eventsIn(text: string): Event[] {
  const lines = text.split(/\r\n|\n|\r/)
  const events: Event[] = []
  let event = new Map<string, string>()
  // What stands behind the last line break is no line yet.
  for (const line of lines.slice(0, -1)) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
    if (line === '' && event.size > 0) {
      events.push(event)
      event = new Map()
    } else if (name !== '') {
      const before = event.get(name)
      event.set(name, before === undefined ? value : `${before}\n${value}`)
    }
  }
  return events
}

/** As a case writes them: the last needs no empty line. */
export function eventsOf(text: string): Event[] {
  return eventsIn(`${text}\n\n`)
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
  return [...expected].every(([name, wanted]) => {
    const given = actual.get(name)
    if (given === undefined) return false
    return fits(wanted, given, kept) || (name === 'data' && jsonFits(wanted, given, kept))
  })
}

export function sayEvents(events: readonly Event[]): string {
  return events
    .map((event) => [...event].map(([name, value]) => `${name}: ${value}`).join('\n'))
    .join('\n\n')
}
