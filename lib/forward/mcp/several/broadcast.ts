// Requests that are everybody's (ping, log level): asked of all, answered once.

import { CODES } from '../rpc.ts'
import type { Call } from '../session/call.ts'
import type { Session } from '../session/session.ts'
import { failuresText } from './failures.ts'
import { gather } from './gather.ts'
import { SHARED } from './methods.ts'

export function broadcast(session: Session, call: Call): void {
  const { message } = call
  const { group } = session
  const capability = SHARED.get(message.method) ?? null
  gather<null>(
    {
      call,
      targets: session.targets.filter(
        ({ profile }) => capability === null || profile?.offers(capability) === true,
      ),
      timeout: group.limits.listTimeout,
      ask: (inquiry) =>
        inquiry.ask(
          (idText) => message.withId(idText),
          () => inquiry.settle(null),
        ),
    },
    ({ found, failures }) => {
      session.tellOf(failures)
      const [first] = failures
      const isFailure = group.config.failureMode === 'failClosed' || found.length === 0
      if (first !== undefined && isFailure)
        return call.error({ code: CODES.server, message: first.reason, data: { failures } })
      session.memory.keep(message, null, [])
      call.result(failures.length === 0 ? '{}' : `{"_meta":${failuresText(failures)}}`)
    },
  )
}
