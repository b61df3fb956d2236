// The HTTP answers of an MCP server: messages in JSON or in an event stream, or a refusal.

import { EventStreamReader } from '../../../trace-view/timed-events.ts'
import { HttpFault, incomingIn, membersOf, textOf } from './messages.ts'
import type { Incoming } from './messages.ts'

/** Of one answer, or one event. */
const MAX_BYTES = 16_777_216
/** Of what is no message and only shown. */
const MAX_WORDS = 2_000

/** A stream that stays open behind its answer would hold one of the browser's few connections. */
const END_MS = 2_000

/** Messages of either kind of answer, as they come, until `take` has enough. */
export async function readMessages(
  response: Response,
  take: (incoming: Incoming) => 'more' | 'enough',
): Promise<void> {
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
  const reader = response.body?.getReader()
  if (reader === undefined) return
  let wish = 'more' as 'more' | 'enough'
  const give = (text: string): void => {
    for (const incoming of incomingIn(text)) wish = take(incoming)
  }
  const events = new EventStreamReader(({ kind, data }) => {
    if (kind === 'event') give(data)
  }, MAX_BYTES)
  const parts: Uint8Array[] = []
  let size = 0
  try {
    while (wish === 'more') {
      const { done, value } = await reader.read()
      if (done) break
      size += isStream ? 0 : value.length
      if (size > MAX_BYTES) throw new RangeError('the answer is too long')
      if (isStream) events.write(value)
      else parts.push(value)
    }
    if (!isStream) give(decoded(parts))
  } catch (error) {
    reader.cancel().catch(() => {})
    throw error
  }
  void letEnd(reader)
}

/** Of an answer that says nothing but that it is one. */
export async function passOver(response: Response): Promise<void> {
  const reader = response.body?.getReader()
  if (reader !== undefined) await letEnd(reader)
}

/** Nothing is to follow an answer. It is let end by itself: whoever leaves before looks as if they had given up. */
async function letEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const leave = (): void => void reader.cancel().catch(() => {})
  const timer = setTimeout(leave, END_MS)
  try {
    for (let isOver = false; !isOver;) isOver = (await reader.read()).done
  } catch {
    // It broke off, which is an end as well.
  }
  clearTimeout(timer)
}

function decoded(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder()
  const text = parts.map((part) => decoder.decode(part, { stream: true })).join('')
  return text + decoder.decode()
}

/** A refusal may be a message itself, or words of the gateway's or of a policy's. */
export async function faultOf(response: Response): Promise<Error> {
  const { status } = response
  const text = (await wordsOf(response)).trim()
  const [fault] = incomingIn(text)
  if (status !== 404 && fault?.kind === 'fault') return fault.fault
  return new HttpFault(status, wordsIn(text))
}

async function wordsOf(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  if (reader === undefined) return ''
  const parts: Uint8Array[] = []
  let size = 0
  try {
    while (size < MAX_WORDS) {
      const { done, value } = await reader.read()
      if (done) break
      parts.push(value)
      size += value.length
    }
  } catch {
    // What has come says enough.
  }
  void letEnd(reader)
  return decoded(parts).slice(0, MAX_WORDS)
}

/** `error` of the playground, of a policy with its description, or of JSON-RPC. */
function wordsIn(text: string): string {
  const { error, error_description: more } = membersOf(valueIn(text)) ?? {}
  if (typeof error === 'string') return [error, textOf(more)].filter((one) => one !== '').join(': ')
  return textOf(membersOf(error)?.['message']) || text
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
