// The request of a trace as a command that sends it again. What was hidden stands for a variable of the shell.

import { bytesOf, textOf } from './bytes.ts'
import { members } from './step.ts'
import type { Step } from './step.ts'

export interface CurlCommand {
  readonly command: string
  /** What is not as it was, and what to fill in. */
  readonly notes: readonly string[]
}

const REDACTED = '<redacted>'
const MOST_BODY_LETTERS = 32_768
/** curl makes them itself, or they are of one connection. */
const OWN = new Set([
  ...['host', 'content-length', 'connection', 'transfer-encoding', 'keep-alive', 'upgrade'],
])

/** Null without a request to begin with. */
export function curlOf(steps: readonly Step[]): CurlCommand | null {
  const request = initialRequest(steps)
  if (request === null) return null
  const { method, uri, headers } = request
  if (typeof method !== 'string' || typeof uri !== 'string') return null
  const notes: string[] = []
  const words = [`curl ${shellWord(uri)}`]
  if (/[[\]{}]/.test(uri)) words.push('--globoff')
  if (/\/\.\.?(?:\/|$)/.test(uri)) words.push('--path-as-is')
  // What comes back is to be read by people.
  if ('accept-encoding' in members(headers)) words.push('--compressed')
  if (uri.includes(REDACTED)) notes.push('A value in the URL was hidden: fill it in.')
  const body = bodyOf(steps, notes)
  if (method !== (body === null ? 'GET' : 'POST')) words.push(`-X ${shellWord(method)}`)
  for (const [name, value] of Object.entries(members(headers)))
    for (const one of Array.isArray(value) ? value : [value])
      if (!OWN.has(name)) words.push(`-H ${headerWord(name, String(one), notes)}`)
  if (body !== null) words.push(`--data-raw ${shellWord(body)}`)
  return { command: words.join(' \\\n  '), notes }
}

function initialRequest(steps: readonly Step[]): Readonly<Record<string, unknown>> | null {
  const step = steps.find(({ event }) => event.message.type === 'requestSnapshot')
  return step === undefined ? null : members(members(step.event.message['requestState'])['request'])
}

function headerWord(name: string, value: string, notes: string[]): string {
  if (!value.includes(REDACTED)) return shellWord(`${name}: ${value}`)
  const variable = name.toUpperCase().replace(/[^A-Z0-9]/g, '_')
  notes.push(`Its ${name} was hidden: set $${variable}.`)
  // Of a header's name only letters can be in it.
  return `"${name.replace(/[^\w-]/g, '')}: $${variable}"`
}

/** As the backend got it: that of the client is not in a trace. */
function bodyOf(steps: readonly Step[], notes: string[]): string | null {
  const step = steps.find(
    ({ event: { message } }) =>
      message.type === 'bodySnapshot' && message['stage'] === 'final request',
  )
  const { body, truncated } = members(step?.event.message)
  if (typeof body !== 'string') return null
  const text = textOf(bytesOf(body))
  if (text === null || truncated === true || text.length > MOST_BODY_LETTERS) {
    notes.push('Its body is left out: it is too long, was cut, or is no text.')
    return null
  }
  notes.push('The body is as the backend got it.')
  if (text.includes(REDACTED)) notes.push('A value in the body was hidden: fill it in.')
  return text
}

/** For a shell, whatever is in it. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
