// The lines of the details pane: an event with its decoded body, the request at that step, or what changed since the
// previous snapshot.

import { brotliDecompressSync, constants, gunzipSync, inflateSync } from 'node:zlib'
import { stringify } from 'yaml'
import { bodyLines, hexLines, readBody } from '../trace-view/body-text.ts'
import { diffLines, factsOf, snapshotAt, snapshotName, stateOf } from '../trace-view/snapshots.ts'
import type { BodyFacts } from '../trace-view/snapshots.ts'
import { arrivalsOf, arrivalWords } from '../trace-view/timed-events.ts'
import { asRecord } from '../trace-view/trace-event.ts'
import type { Step } from '../trace-view/trace-event.ts'

export type DetailsMode = 'event' | 'snapshot' | 'diff'
export type DetailsFormat = 'yaml' | 'json'

interface FormattedBody {
  /** `JSON`, `events`, `text` or `binary`, with the content encoding. */
  readonly kind: string
  readonly lines: readonly string[]
}

const MAX_LINES = 50_000
/** Longer values are cut: the decoded body follows below, and a saved trace holds everything. */
const MAX_VALUE_CHARS = 4_000
const MAX_DECOMPRESSED_BYTES = 16 * 1024 * 1024

export function buildDetails(
  steps: readonly Step[],
  at: number,
  mode: DetailsMode,
  format: DetailsFormat,
): string[] {
  if (steps[at] === undefined) return []
  const lines = linesFor(steps, at, mode, format)
  const kept = lines.slice(0, MAX_LINES)
  return lines.length > MAX_LINES ? [...kept, `… ${lines.length - MAX_LINES} more lines`] : kept
}

function linesFor(
  steps: readonly Step[],
  at: number,
  mode: DetailsMode,
  format: DetailsFormat,
): string[] {
  const step = steps[at]!
  if (mode === 'event')
    return [...formatValue(eventValue(step), format), ...decodedBodyLines(steps, at)]
  const current = snapshotAt(steps, at)
  if (current < 0) return ['There is no snapshot up to this step.']
  if (mode === 'snapshot') {
    if (step.event.message.type === 'bodySnapshot') return decodedBodyLines(steps, at)
    return [`# ${snapshotName(steps, current)}`, ...formatValue(stateOf(steps[current]!), format)]
  }
  const previous = snapshotAt(steps, current - 1)
  if (previous < 0)
    return [`# ${snapshotName(steps, current)}: the first snapshot, nothing to compare with`]
  const changes = diffLines(stateOf(steps[previous]!), stateOf(steps[current]!))
  const title = `# ${snapshotName(steps, previous)} → ${snapshotName(steps, current)}`
  return changes.length === 0 ? [title, 'no changes'] : [title, ...changes.map(cut)]
}

/** The list of arrivals is summarised, because it would fill the pane. */
function eventValue({ text, event: { message } }: Step): unknown {
  try {
    const value: unknown = JSON.parse(text)
    const arrivals = arrivalsOf(message)
    if (arrivals.list.length === 0) return value
    return { ...asRecord(value), message: { ...message, arrivals: arrivalWords(arrivals) } }
  } catch {
    return text
  }
}

function formatValue(value: unknown, format: DetailsFormat): string[] {
  const short = cutValues(value)
  const text =
    format === 'json'
      ? JSON.stringify(short, null, 2)
      : stringify(short, { lineWidth: 0, aliasDuplicateObjects: false })
  return text.trimEnd().split('\n')
}

function cutValues(value: unknown): unknown {
  if (typeof value === 'string') return cut(value)
  if (Array.isArray(value)) return value.map(cutValues)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, cutValues(part)]))
}

function cut(text: string): string {
  if (text.length <= MAX_VALUE_CHARS) return text
  return `${text.slice(0, MAX_VALUE_CHARS)}… ${text.length - MAX_VALUE_CHARS} more characters`
}

function decodedBodyLines(steps: readonly Step[], at: number): string[] {
  const { type, body, truncated } = steps[at]!.event.message
  if (type !== 'bodySnapshot' || typeof body !== 'string') return []
  const bytes = Buffer.from(body, 'base64')
  const { kind, lines } = formatBody(bytes, factsOf(steps, at))
  const note = truncated === true ? `, the first ${bytes.length} bytes` : ''
  return [`# body, decoded: ${kind}${note}`, ...lines.map(cut)]
}

export function formatBody(bytes: Buffer, facts: BodyFacts): FormattedBody {
  const encoding = facts.encoding.trim().toLowerCase()
  const content = decompress(bytes, encoding)
  if (content === null || (content.length === 0 && bytes.length > 0))
    return { kind: `binary, ${encoding}`, lines: hexLines(bytes) }
  const note = encoding === '' || encoding === 'identity' ? '' : `, ${encoding}`
  const body = readBody(content, facts.type)
  return { kind: body.kind + note, lines: bodyLines(content, body) }
}

/** A truncated body is decompressed as far as possible; null if the encoding is unknown or wrong. */
function decompress(bytes: Buffer, encoding: string): Buffer | null {
  const maxOutputLength = MAX_DECOMPRESSED_BYTES
  const options = { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH }
  const finishFlush = constants.BROTLI_OPERATION_FLUSH
  try {
    switch (encoding) {
      case '':
      case 'identity':
        return bytes
      case 'gzip':
      case 'x-gzip':
        return gunzipSync(bytes, options)
      case 'deflate':
        return inflateSync(bytes, options)
      case 'br':
        return brotliDecompressSync(bytes, { maxOutputLength, finishFlush })
      default:
        return null
    }
  } catch {
    return null
  }
}
