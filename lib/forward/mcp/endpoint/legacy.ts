// The transport of 2024-11-05 for old clients: a GET that stays open and brings everything, and POSTs that are merely
// accepted (reference.md 4.10). The session lives as long as the stream.

import type { McpBackend } from '../backend.ts'
import { principalOf } from '../principal.ts'
import { CODES, refusal } from '../rpc.ts'
import type { RpcError } from '../rpc.ts'
import type { Visit } from '../session/call.ts'
import { greetingOf } from './greeting.ts'
import type { Posted } from './messages.ts'
import { getFault, refused } from './transport.ts'

export const LEGACY_PATH = '/sse'
const LEGACY_VERSION = '2024-11-05'

export function legacyGet(backend: McpBackend, { exchange, attempt }: Visit): void {
  const fault = getFault(exchange.request)
  if (fault !== null) return attempt.answer(fault)
  const session = backend.group.begin(greetingOf(LEGACY_VERSION), backend.about(exchange))
  if (typeof session === 'string') return attempt.answer(refused(503, session))
  const [path] = exchange.target.split('?')
  session.serveOld(attempt, `${path}?sessionId=${session.id}`)
}

export function legacyPost(backend: McpBackend, visit: Visit, { messages }: Posted): void {
  const { exchange, attempt } = visit
  const id = new URLSearchParams(exchange.request.query).get('sessionId')
  if (id === null)
    return attempt.answer(refused(422, 'failed to process session_id query parameter'))
  const session = backend.group.findOld(id, principalOf(exchange.facts))
  const [first] = messages
  const refuse = (status: number, error: RpcError): void =>
    attempt.answer(refusal(status, error, first?.idText))
  if (session === undefined)
    return refuse(404, { code: CODES.noSession, message: 'session not found' })
  const isGreeting = first?.method === 'initialize'
  const isEarly = session.state !== 'open' && messages.some(({ kind }) => kind === 'request')
  if (isGreeting ? session.state !== 'new' : isEarly) {
    const message = isGreeting ? 'the session is initialized' : 'the session is not initialized'
    return refuse(400, { code: CODES.invalidRequest, message })
  }
  session.fields = backend.fieldsOf(exchange)
  if (isGreeting) session.greet(first, visit)
  else session.receive(messages, visit)
}
