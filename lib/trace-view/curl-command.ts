// Builds the curl command that repeats the request of a trace. Redacted values become shell variables.

import { bytesOf, decodeUtf8 } from './body-text.ts'
import { asRecord } from './trace-event.ts'
import type { Step } from './trace-event.ts'

export interface CurlCommand {
  readonly command: string
  /** How the command differs from the request, and what the user must fill in. */
  readonly notes: readonly string[]
}

/** A copy of the one in text/redaction.ts: importing that would make the redaction a part of the page. */
const REDACTED = '<redacted>'
const MAX_BODY_CHARS = 32_768
/** curl sets these headers itself, or they belong to one connection. */
const OMITTED_HEADERS = new Set([
  ...['host', 'content-length', 'connection', 'transfer-encoding', 'keep-alive', 'upgrade'],
])

/** Null if the trace has no request snapshot. */
export function buildCurlCommand(steps: readonly Step[]): CurlCommand | null {
  const request = findRequestSnapshot(steps)
  if (request === null) return null
  const { method, uri, headers } = request
  if (typeof method !== 'string' || typeof uri !== 'string') return null
  const notes: string[] = []
  const args = [`curl ${quoteForShell(uri)}`]
  if (/[[\]{}]/.test(uri)) args.push('--globoff')
  if (/\/\.\.?(?:\/|$)/.test(uri)) args.push('--path-as-is')
  // The response should be readable in the terminal.
  if ('accept-encoding' in asRecord(headers)) args.push('--compressed')
  if (uri.includes(REDACTED)) notes.push('A value in the URL was redacted: fill it in.')
  const body = bodyOf(steps, notes)
  if (method !== (body === null ? 'GET' : 'POST')) args.push(`-X ${quoteForShell(method)}`)
  for (const [name, value] of Object.entries(asRecord(headers)))
    for (const fieldValue of Array.isArray(value) ? value : [value])
      if (!OMITTED_HEADERS.has(name))
        args.push(`-H ${formatHeaderArgument(name, String(fieldValue), notes)}`)
  if (body !== null) args.push(`--data-raw ${quoteForShell(body)}`)
  return { command: args.join(' \\\n  '), notes }
}

function findRequestSnapshot(steps: readonly Step[]): Readonly<Record<string, unknown>> | null {
  const step = steps.find(({ event }) => event.message.type === 'requestSnapshot')
  return step === undefined
    ? null
    : asRecord(asRecord(step.event.message['requestState'])['request'])
}

function formatHeaderArgument(name: string, value: string, notes: string[]): string {
  if (!value.includes(REDACTED)) return quoteForShell(`${name}: ${value}`)
  const variable = name.toUpperCase().replace(/[^A-Z0-9]/g, '_')
  notes.push(`The header ${name} was redacted: set $${variable}.`)
  // The shell expands the variable in double quotes; other characters with a meaning there are removed.
  return `"${name.replace(/[^\w-]/g, '')}: $${variable}"`
}

/** The body that the backend received: the trace does not hold the body that the client sent. */
function bodyOf(steps: readonly Step[], notes: string[]): string | null {
  const step = steps.find(
    ({ event: { message } }) =>
      message.type === 'bodySnapshot' && message['stage'] === 'final request',
  )
  const { body, truncated } = asRecord(step?.event.message)
  if (typeof body !== 'string') return null
  const text = decodeUtf8(bytesOf(body))
  if (text === null || truncated === true || text.length > MAX_BODY_CHARS) {
    notes.push('The body is left out: it is too long, truncated or not text.')
    return null
  }
  notes.push('The body is the one that the backend received.')
  if (text.includes(REDACTED)) notes.push('A value in the body was redacted: fill it in.')
  return text
}

/** Quotes the text for a shell if it needs quotes. */
export function quoteForShell(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
