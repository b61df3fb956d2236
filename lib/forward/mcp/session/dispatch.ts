// Where a client's request goes: to the target that owns what it names, to all of them, or to the only one.

import { CODES } from '../rpc.ts'
import { broadcast } from '../several/broadcast.ts'
import { list } from '../several/lists.ts'
import { LISTS, SHARED } from '../several/methods.ts'
import { namesItem } from '../several/named.ts'
import { useItem } from '../several/use-item.ts'
import type { Call } from './call.ts'
import type { Session } from './session.ts'
import type { Target } from './target.ts'

export function dispatch(session: Session, call: Call): void {
  const { method } = call.message
  if (LISTS.has(method)) return list(session, call)
  if (namesItem(method)) return useItem(session, call)
  const [target, ...others] = session.targets
  if (others.length === 0) return pass(session, call, target!)
  if (SHARED.has(method)) return broadcast(session, call)
  call.error({ code: CODES.methodNotFound, message: `Method not found: ${method}` })
}

function pass(session: Session, call: Call, target: Target): void {
  const { message } = call
  call.ask(target, (idText) => message.withId(idText), {
    answered: (answer) => {
      if (answer.result !== null) session.memory.keep(message, target, [])
      call.answer(answer.withId(call.idText))
    },
    failed: (reason, reply) => call.failed(reason, reply, target.name),
  })
}
