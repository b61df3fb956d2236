// Compares what came with what a case expects. Expected text may have holes. Pure.

import { areEvents, eventsFit, eventsIn, eventsOf } from './events.ts'
import { fits } from './holes.ts'
import type { Kept } from './holes.ts'
import { jsonFits } from './json.ts'
import type { Message } from './message.ts'
import { unchunk } from './message.ts'

/** Fields a proxy may add to any response. */
const IGNORED = new Set(['date'])

export interface Expected {
  start: string
  fields: [name: string, value: string][]
  body: string
}

export function expectedOf(text: string): Expected {
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

/** What is wrong with a message, in sentences; nothing when it fits. */
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

/** Order and case of names do not count. A line `<any>` allows fields that are not listed. */
function fieldDifferences(
  expected: Expected['fields'],
  actual: Message['fields'],
  kept?: Kept,
): string[] {
  const wrong: string[] = []
  const left = [...actual]
  for (const [name, value] of expected) {
    if (name === '<any>') continue
    const at = left.findIndex(([key, given]) => key === name && fits(value, given, kept))
    if (at >= 0) left.splice(at, 1)
    else {
      const given = actual.filter(([key]) => key === name).map(([, other]) => quote(other))
      wrong.push(`no field ${name}: ${value}${given.length > 0 ? `, but ${given.join(', ')}` : ''}`)
    }
  }
  if (expected.some(([name]) => name === '<any>')) return wrong
  for (const [name, value] of left)
    if (!IGNORED.has(name)) wrong.push(`field that is not expected: ${name}: ${value}`)
  return wrong
}

function bodyFits(expected: string, actual: Message, kept?: Kept): boolean {
  if (fits(expected, actual.body, kept)) return true
  const type = actual.fields.find(([name]) => name === 'content-type')?.[1]
  if (type === 'application/json' && jsonFits(expected, actual.content, kept)) return true
  if (areEvents(expected)) return eventsFit(eventsOf(expected), eventsIn(actual.content), kept)
  // The same content in other chunks is the same content.
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
