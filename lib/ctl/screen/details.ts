// What the details pane shows of an event: the event itself, the request at that point, or what changed since the last
// look at it.

import { stringify } from 'yaml'
import { showBody } from './body.ts'
import {
  diffLines,
  factsOf,
  snapshotAt,
  snapshotName,
  stateOf,
} from '../../trace-view/snapshots.ts'
import { members } from '../../trace-view/trace-event.ts'
import type { Step } from '../../trace-view/trace-event.ts'
import { arrivalsOf, arrivalWords } from '../../trace-view/timed-events.ts'

export type Mode = 'event' | 'snapshot' | 'diff'
export type Format = 'yaml' | 'json'

const MOST_LINES = 50_000
/** Longer texts are cut: a body of megabytes is shown decoded below, and saving keeps it whole. */
const MOST_CHARS = 4_000

export function detailsOf(
  steps: readonly Step[],
  at: number,
  mode: Mode,
  format: Format,
): string[] {
  const step = steps[at]
  if (step === undefined) return []
  const lines = linesOf(steps, at, mode, format)
  const short = lines.slice(0, MOST_LINES)
  return lines.length > MOST_LINES ? [...short, `… ${lines.length - MOST_LINES} lines more`] : short
}

function linesOf(steps: readonly Step[], at: number, mode: Mode, format: Format): string[] {
  const step = steps[at]!
  if (mode === 'event') return [...render(eventOf(step), format), ...bodyLines(steps, at)]
  const now = snapshotAt(steps, at)
  if (now < 0) return ['There is no snapshot up to this step.']
  if (mode === 'snapshot') {
    if (step.event.message.type === 'bodySnapshot') return bodyLines(steps, at)
    return [`# ${snapshotName(steps, now)}`, ...render(stateOf(steps[now]!), format)]
  }
  const before = snapshotAt(steps, now - 1)
  if (before < 0)
    return [`# ${snapshotName(steps, now)}: the first snapshot, nothing to compare with`]
  const changes = diffLines(stateOf(steps[before]!), stateOf(steps[now]!))
  const title = `# ${snapshotName(steps, before)} → ${snapshotName(steps, now)}`
  return changes.length === 0 ? [title, 'no changes'] : [title, ...changes.map(cut)]
}

/** When each part of a body came would hide all else. */
function eventOf({ text, event: { message } }: Step): unknown {
  try {
    const value: unknown = JSON.parse(text)
    const arrivals = arrivalsOf(message)
    if (arrivals.list.length === 0) return value
    return { ...members(value), message: { ...message, arrivals: arrivalWords(arrivals) } }
  } catch {
    return text
  }
}

function render(value: unknown, format: Format): string[] {
  const short = shorten(value)
  const text =
    format === 'json'
      ? JSON.stringify(short, null, 2)
      : stringify(short, { lineWidth: 0, aliasDuplicateObjects: false })
  return text.trimEnd().split('\n')
}

function bodyLines(steps: readonly Step[], at: number): string[] {
  const { type, body, truncated } = steps[at]!.event.message
  if (type !== 'bodySnapshot' || typeof body !== 'string') return []
  const bytes = Buffer.from(body, 'base64')
  const { kind, lines } = showBody(bytes, factsOf(steps, at))
  const note = truncated === true ? `, the first ${bytes.length} bytes` : ''
  return [`# body, decoded: ${kind}${note}`, ...lines.map(cut)]
}

function shorten(value: unknown): unknown {
  if (typeof value === 'string') return cut(value)
  if (Array.isArray(value)) return value.map(shorten)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shorten(part)]))
}

function cut(text: string): string {
  if (text.length <= MOST_CHARS) return text
  return `${text.slice(0, MOST_CHARS)}… ${text.length - MOST_CHARS} characters more`
}
