// `statefulMode: stateless`: every request gets a session of its own, begun by the gateway and ended with the answer.

import type { McpBackend } from '../backend.ts'
import { accepted, CODES, refusal } from '../rpc.ts'
import { ONE_REQUEST } from '../group.ts'
import type { Visit } from '../session/call.ts'
import { greetingOf } from './greeting.ts'
import { batchFault } from './messages.ts'
import type { Posted } from './messages.ts'
import { BATCHES, NEWEST, versionFault, versionOf } from './versions.ts'

export function stateless(backend: McpBackend, visit: Visit, posted: Posted): void {
  const { exchange, attempt } = visit
  const version = versionOf(exchange.request)
  const fault = versionFault(version) ?? batchFault(posted, version ?? BATCHES)
  const [first] = posted.messages
  if (fault !== null) return attempt.answer(refusal(400, fault, first?.idText))
  // Whatever it says, nobody is left to hear it.
  if (!posted.messages.some(({ kind }) => kind === 'request')) return attempt.answer(accepted())
  const isGreeting = first?.method === 'initialize'
  const greeting = isGreeting ? first : greetingOf(version ?? NEWEST)
  const session = backend.group.begin(greeting, backend.about(exchange))
  if (typeof session === 'string')
    return attempt.answer(refusal(503, { code: CODES.server, message: session }, first?.idText))
  if (isGreeting) session.begin(visit, [])
  else session.serve(posted.messages, visit)
  session.retire(ONE_REQUEST)
}
