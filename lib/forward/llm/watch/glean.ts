// Reads of an event's data what its dialect has a place for. Of a long one no objects are made but of that: whatever a
// provider sends, it costs one look at each byte, or two.

import { Peek } from '../../../base/json/peek.ts'
import { NO_INTEREST } from '../../../base/json/root-members.ts'
import type { Found } from '../../../base/json/root-members.ts'
import type { Places } from '../usage/dialects.ts'
import { textAt } from '../usage/raw-usage.ts'
import type { Findings } from '../usage/findings.ts'
import { hasWord } from './words.ts'

/** Of one member; into a longer one is looked, if there are places in it, and else it passes unread. */
export const MAX_WATCHED_MEMBER_BYTES = 65_536

/** Up to this, nothing is faster than making objects of all of it, and nothing in it can make that slow. */
export const MAX_PARSED_BYTES = 16_384

const OPEN_BRACE = 123

/** `text`: the same data, byte by byte. */
export function glean(findings: Findings, data: Buffer, text: string): void {
  if (!hasWord(text, findings.words)) return
  const object =
    data.length > MAX_PARSED_BYTES ? membersAt(data, findings.places) : parsed(data, 0, data.length)
  findings.note(object)
  findings.noteEnding(textAt(object, ['type']) ?? '')
}

/** null if it is no JSON. */
export function parsed(data: Buffer, from: number, to: number): unknown {
  try {
    return JSON.parse(data.toString('utf8', from, to))
  } catch {
    // Somebody else's dialect, or cut short.
    return null
  }
}

/** null if the data is no JSON object. */
function membersAt(data: Buffer, places: Places): Record<string, unknown> | null {
  let found: Found[] | null = []
  const peek = new Peek({
    begin: (name) => (places.has(name) ? 0 : NO_INTEREST),
    member: (one) => found?.push(one),
    closed: () => {},
    fault: () => (found = null),
  })
  peek.write(data, 0, data.length)
  peek.end()
  return found === null ? null : Object.fromEntries(found.map((one) => memberOf(data, one, places)))
}

function memberOf(data: Buffer, { name, from, to }: Found, places: Places): [string, unknown] {
  if (to - from <= MAX_WATCHED_MEMBER_BYTES)
    return [name, JSON.parse(data.toString('utf8', from, to))]
  const inner = places.get(name)!
  const isWorthIt = inner.size > 0 && data[from] === OPEN_BRACE
  return [name, isWorthIt ? membersAt(data.subarray(from, to), inner) : null]
}
