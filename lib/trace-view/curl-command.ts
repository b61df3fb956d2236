// Builds the curl command that repeats the request of a trace. Redacted values become shell variables.

import { bytesOf, decodeUtf8 } from './body-text.ts'
import { members } from './trace-event.ts'
import type { Step } from './trace-event.ts'

export interface CurlCommand {
  readonly command: string
  /** How the command differs from the request, and what the user must fill in. */
  readonly notes: readonly string[]
}

const REDACTED = '<redacted>'
const MAX_BODY_CHARS = 32_768
/** curl sets these headers itself, or they belong to one connection. */
const OMITTED_HEADERS = new Set([
  ...['host', 'content-length', 'connection', 'transfer-encoding', 'keep-alive', 'upgrade'],
])

/** Null if the trace has no request snapshot. */
export function curlOf(steps: readonly Step[]): CurlCommand | null {
  const request = initialRequest(steps)
  if (request === null) return null
  const { method, uri, headers } = request
  if (typeof method !== 'string' || typeof uri !== 'string') return null
  const notes: string[] = []
  const args = [`curl ${shellWord(uri)}`]
  if (/[[\]{}]/.test(uri)) args.push('--globoff')
  if (/\/\.\.?(?:\/|$)/.test(uri)) args.push('--path-as-is')
  // The response should be readable in the terminal.
  if ('accept-encoding' in members(headers)) args.push('--compressed')
  if (uri.includes(REDACTED)) notes.push('A value in the URL was redacted: fill it in.')
  const body = bodyOf(steps, notes)
  if (method !== (body === null ? 'GET' : 'POST')) args.push(`-X ${shellWord(method)}`)
  for (const [name, value] of Object.entries(members(headers)))
    for (const one of Array.isArray(value) ? value : [value])
      if (!OMITTED_HEADERS.has(name)) args.push(`-H ${headerWord(name, String(one), notes)}`)
  if (body !== null) args.push(`--data-raw ${shellWord(body)}`)
  return { command: args.join(' \\\n  '), notes }
}

function initialRequest(steps: readonly Step[]): Readonly<Record<string, unknown>> | null {
  const step = steps.find(({ event }) => event.message.type === 'requestSnapshot')
  return step === undefined ? null : members(members(step.event.message['requestState'])['request'])
}

function headerWord(name: string, value: string, notes: string[]): string {
  if (!value.includes(REDACTED)) return shellWord(`${name}: ${value}`)
  const variable = name.toUpperCase().replace(/[^A-Z0-9]/g, '_')
  notes.push(`The header ${name} was redacted: set $${variable}.`)
  // Inside double quotes only characters without a meaning in the shell are safe.
  return `"${name.replace(/[^\w-]/g, '')}: $${variable}"`
}

/** The body that the backend received: the trace does not hold the body that the client sent. */
function bodyOf(steps: readonly Step[], notes: string[]): string | null {
  const step = steps.find(
    ({ event: { message } }) =>
      message.type === 'bodySnapshot' && message['stage'] === 'final request',
  )
  const { body, truncated } = members(step?.event.message)
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
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
