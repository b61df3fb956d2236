// Compares a message with the expected text of a case, which may have placeholders. Pure.

import { areEvents, eventsFit, parseEvents, parseExpectedEvents } from './events.ts'
import { fits } from './placeholders.ts'
import type { Kept } from './placeholders.ts'
import { jsonFits } from './json.ts'
import type { Message } from './message.ts'
import { unchunk } from './message.ts'

/** Headers that a proxy may add to any response. */
const IGNORED = new Set(['date'])

export interface Expected {
  start: string
  fields: [name: string, value: string][]
  body: string
}

export function parseExpected(text: string): Expected {
  const end = text.indexOf('\r\n\r\n')
  const head = end < 0 ? text : text.substring(0, end)
  const [start = '', ...lines] = head.split('\r\n')
  const fields = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    if (colon < 0) return [line.trim().toLowerCase(), '']
    return [line.substring(0, colon).toLowerCase(), line.substring(colon + 1).trim()]
  })
  return { start, fields, body: end < 0 ? '' : text.substring(end + 4) }
}

/** Returns the differences as sentences; empty if the message matches. */
export function differences(expected: Expected, actual: Message, kept?: Kept): string[] {
  const wrong = headDifferences(expected, actual, kept)
  if (!bodyFits(expected.body, actual, kept))
    wrong.push(`body ${quote(actual.body)}, expected ${quote(expected.body)}`)
  return wrong
}

export function headDifferences(expected: Expected, actual: Message, kept?: Kept): string[] {
  const wrong = fieldDifferences(expected.fields, actual.fields, kept)
  if (!fits(expected.start, actual.start))
    wrong.unshift(`start line ${quote(actual.start)}, expected ${quote(expected.start)}`)
  return wrong
}

/** Header order and the case of names do not matter. A line `<any>` allows headers that are not listed. */
function fieldDifferences(
  expected: Expected['fields'],
  actual: Message['fields'],
  kept?: Kept,
): string[] {
  const wrong: string[] = []
  const remaining = [...actual]
  for (const [name, value] of expected) {
    if (name === '<any>') continue
    const at = remaining.findIndex(([key, other]) => key === name && fits(value, other, kept))
    if (at >= 0) remaining.splice(at, 1)
    else {
      const found = actual.filter(([key]) => key === name).map(([, other]) => quote(other))
      const note = found.length > 0 ? `, found ${found.join(', ')}` : ''
      wrong.push(`missing header ${name}: ${value}${note}`)
    }
  }
  if (expected.some(([name]) => name === '<any>')) return wrong
  for (const [name, value] of remaining)
    if (!IGNORED.has(name)) wrong.push(`unexpected header ${name}: ${value}`)
  return wrong
}

function bodyFits(expected: string, actual: Message, kept?: Kept): boolean {
  if (fits(expected, actual.body, kept)) return true
  const type = actual.fields.find(([name]) => name === 'content-type')?.[1]
  if (type === 'application/json' && jsonFits(expected, actual.content, kept)) return true
  if (areEvents(expected))
    return eventsFit(parseExpectedEvents(expected), parseEvents(actual.content), kept)
  // Different chunk sizes with the same content match.
  if (actual.content === actual.body && actual.trailers.length === 0) return false
  const chunks = unchunk(expected)
  return (
    chunks.isComplete === actual.isComplete &&
    chunks.content === actual.content &&
    fieldDifferences(chunks.trailers, actual.trailers).length === 0
  )
}

export function quote(text: string): string {
  const shown = text.length > 300 ? `${text.substring(0, 300)}…` : text
  return JSON.stringify(shown)
}
