// The HTTP answers of an MCP server: messages in JSON or in an event stream, or a refusal.

import { EventStreamReader } from '../../base/reading/event-stream.ts'
import { HttpFault, incomingIn, membersOf, textOf } from './mcp-messages.ts'
import type { Incoming } from './mcp-messages.ts'

/** Of one answer, or one event. */
const MAX_BYTES = 16_777_216
/** Of what is no message and only shown. */
const MAX_WORDS = 2_000

/** Messages of either kind of answer, as they come, until `take` has enough. */
export async function readMessages(
  response: Response,
  take: (incoming: Incoming) => 'more' | 'enough',
): Promise<void> {
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
  const reader = response.body?.getReader()
  if (reader === undefined) return
  let wish: 'more' | 'enough' = 'more'
  const give = (text: string): void => {
    for (const incoming of incomingIn(text)) wish = take(incoming)
  }
  const events = new EventStreamReader(({ kind, data }) => {
    if (kind === 'event') give(data)
  }, MAX_BYTES)
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      size += isStream ? 0 : value.length
      if (size > MAX_BYTES) throw new RangeError('the answer is too long')
      if (isStream) events.write(value)
      else parts.push(value)
      if ((wish as string) === 'enough') break
    }
    if (!isStream) give(decoded(parts))
  } finally {
    // Nothing follows the answer; a stream that is left open would hold one of the browser's few connections.
    await reader.cancel().catch(() => {})
  }
}

function decoded(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder()
  const text = parts.map((part) => decoder.decode(part, { stream: true })).join('')
  return text + decoder.decode()
}

/** A refusal may be a message itself, or words of the gateway's or of a policy's. */
export async function faultOf(response: Response): Promise<Error> {
  const { status } = response
  const text = (await response.text().catch(() => '')).slice(0, MAX_WORDS).trim()
  const [fault] = incomingIn(text)
  if (status !== 404 && fault?.kind === 'fault') return fault.fault
  return new HttpFault(status, wordsIn(text))
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
