// Methods that use one thing (a tool, a prompt, a resource, a task): its owner is asked, under the name it knows.

import type { Edit } from '../../../base/json/edit.ts'
import { isPermitted } from '../authorize.ts'
import type { Message } from '../message.ts'
import { CODES } from '../rpc.ts'
import type { Call } from '../session/call.ts'
import type { Session } from '../session/session.ts'
import { learnNames } from './lists.ts'
import { RELATED_TASK } from './methods.ts'
import { isAmbiguous, memberAt, namedBy } from './named.ts'
import type { Named } from './named.ts'
import type { ItemKind, Owned } from './names.ts'
import { inwardEdits, outwardEdits } from './rename.ts'

export function useItem(session: Session, call: Call): void {
  const named = namedBy(call.message)
  if (typeof named === 'string')
    return call.refuse(400, { code: CODES.invalidParams, message: named })
  const { kind, text } = named
  const owned = session.group.names.inward(kind, text) ?? session.directory.find(kind, text)
  if (owned !== undefined || session.group.names.style !== 'shared')
    return ask(session, call, named, owned)
  // Names without prefix: only the lists know whose it is.
  learnNames(session, call, kind, () =>
    ask(session, call, named, session.directory.find(kind, text)),
  )
}

function ask(session: Session, call: Call, named: Named, owned: Owned | undefined): void {
  const { kind, text } = named
  const { message, visit } = call
  const target = owned === undefined ? undefined : session.target(owned.target)
  if (owned === undefined || target === undefined) return unknown(call, kind, text)
  session.note(visit.exchange, { [kind]: owned })
  const written = argumentsOf(call)
  if (typeof written === 'string')
    return call.refuse(400, { code: CODES.invalidParams, message: written })
  if (!isPermitted(call, { kind, ...owned, ...written }, 'use')) return unknown(call, kind, text)
  const edits = editsOf(session, message, named, owned)
  call.ask(target, (idText) => message.withId(idText, ...edits), {
    answered: (answer) => {
      if (answer.result !== null) session.memory.keep(message, target, edits)
      call.answer(outward(session, target.name, answer, { ...named, idText: call.idText }))
    },
    failed: (reason, reply) => call.failed(reason, reply, target.name),
  })
}

function editsOf({ group }: Session, message: Message, named: Named, owned: Owned): Edit[] {
  if (owned.name === named.text) return []
  const value = message.params!
  return [
    { ...named.span, text: JSON.stringify(owned.name) },
    ...inwardEdits(group.names, message, { value, places: [RELATED_TASK] }),
  ]
}

function outward(
  { group }: Session,
  target: string,
  answer: Message,
  { results, idText }: Pick<Named, 'results'> & { idText: string },
): Buffer {
  const { result } = answer
  if (result === null) return answer.withId(idText)
  const edits = outwardEdits(group.names, target, answer, { value: result, places: results })
  return answer.withId(idText, ...edits)
}

/** A thing that may not be used is a thing that does not exist (reference.md 3.2). */
function unknown(call: Call, kind: ItemKind, text: string): void {
  call.refuse(400, { code: CODES.invalidParams, message: `Unknown ${kind}: ${text}` })
}

/** Only where a rule may read them; a text says what is wrong with how they are written. */
function argumentsOf({ visit, message }: Call): { arguments?: unknown } | string {
  const { method, params, bytes } = message
  if (visit.rules.length === 0 || method !== 'tools/call' || params === null) return {}
  const span = memberAt(bytes, params, 'arguments')
  if (span === undefined || typeof span === 'string') return span ?? {}
  if (isAmbiguous(bytes, span)) return "params: a member of 'arguments' is ambiguous"
  return { arguments: JSON.parse(message.text(span)) }
}
