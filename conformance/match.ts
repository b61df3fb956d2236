// Compares what came with what a case expects. Expected text may have holes. Pure.

import type { Message } from './message.ts'
import { unchunk } from './message.ts'

const HOLES: Record<string, string> = {
  '<any>': '[\\s\\S]*',
  '<number>': '\\d+',
  '<date>': '[A-Z][a-z]{2}, \\d{2} [A-Z][a-z]{2} \\d{4} \\d{2}:\\d{2}:\\d{2} GMT',
  '<base64>': '[A-Za-z0-9+/=_-]+',
}

function source(expected: string): string {
  return expected
    .split(/(<[a-z0-9]+>)/)
    .map((part) => HOLES[part] ?? part.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
    .join('')
}

export function fits(expected: string, actual: string): boolean {
  return new RegExp(`^${source(expected)}$`).test(actual)
}

/** Characters of `actual`, from its start, that fit the expected text; -1 when they do not. */
export function fitsAtStart(expected: string, actual: string): number {
  return new RegExp(`^${source(expected)}`).exec(actual)?.[0].length ?? -1
}

export function fitsWithin(expected: string, actual: string): boolean {
  return new RegExp(source(expected)).test(actual)
}

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
export function differences(expected: Expected, actual: Message): string[] {
  const wrong: string[] = []
  if (!fits(expected.start, actual.start))
    wrong.push(`start line ${quote(actual.start)}, expected ${quote(expected.start)}`)
  wrong.push(...fieldDifferences(expected.fields, actual.fields))
  if (!bodyFits(expected.body, actual))
    wrong.push(`body ${quote(actual.body)}, expected ${quote(expected.body)}`)
  return wrong
}

/** Order and case of names do not count. A line `<any>` allows fields that are not listed. */
function fieldDifferences(expected: Expected['fields'], actual: Message['fields']): string[] {
  const wrong: string[] = []
  const left = [...actual]
  for (const [name, value] of expected) {
    if (name === '<any>') continue
    const at = left.findIndex(([key, given]) => key === name && fits(value, given))
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

function bodyFits(expected: string, actual: Message): boolean {
  if (fits(expected, actual.body)) return true
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
