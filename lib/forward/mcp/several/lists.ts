// Lists: a target's own with its items renamed and filtered, or those of several targets joined into one.

import { spansAt } from '../../../base/json/edit.ts'
import type { Message } from '../message.ts'
import { CODES } from '../rpc.ts'
import type { Call } from '../session/call.ts'
import type { Session } from '../session/session.ts'
import type { Target } from '../session/target.ts'
import { collect, listed } from './collect.ts'
import type { Listed } from './collect.ts'
import { failuresText } from './failures.ts'
import { LISTS } from './methods.ts'
import type { ItemKind } from './names.ts'

/** Answers a list request. */
export function list(session: Session, call: Call): void {
  const [target, ...others] = session.targets
  if (others.length > 0) return join(session, call)
  const { names } = session.group
  const { rules } = call.visit
  call.ask(target!, (idText) => call.message.withId(idText), {
    answered: (answer) => {
      const isAsItIs = names.style === 'plain' && rules.length === 0
      if (isAsItIs || answer.result === null) call.answer(answer.withId(call.idText))
      else call.answer(page(session, call, target!, answer))
    },
    failed: (reason, reply) => call.failed(reason, reply, target!.name),
  })
}

/** Asks for lists only to learn who owns what, before `then`. */
export function learnNames(session: Session, call: Call, kind: ItemKind, then: () => void): void {
  const wanted = [...LISTS].filter(([, method]) => method.kind === kind)
  const next = (): void => {
    const [name, method] = wanted.shift() ?? []
    if (name === undefined || method === undefined) return then()
    collect(session, call, { name, method }, ({ found }) => {
      session.directory.learn(name, kind, unambiguous(found.flat()))
      next()
    })
  }
  next()
}

/** One target's page, with the items that may be seen under the names they have here. */
function page(session: Session, call: Call, target: Target, answer: Message): Buffer {
  const method = LISTS.get(call.message.method)!
  const [array] = spansAt(answer.bytes, answer.result!, [method.key])
  if (array === undefined) return answer.withId(call.idText)
  const items = listed(session, call, { target: target.name, answer, method })
  const text = `[${items.map((item) => item.text).join(',')}]`
  return answer.withId(call.idText, { from: array.from, to: array.to, text })
}

function join(session: Session, call: Call): void {
  const name = call.message.method
  const method = LISTS.get(name)!
  const { names, config } = session.group
  collect(session, call, { name, method }, ({ found, failures }) => {
    session.tellOf(failures)
    const [first] = failures
    if (first !== undefined && (config.failureMode === 'failClosed' || found.length === 0))
      return call.error({ code: CODES.server, message: first.reason, data: { failures } })
    const all = found.flat()
    const items = names.style === 'shared' ? unambiguous(all) : all
    if (names.style === 'shared') session.directory.learn(name, method.kind, items)
    const meta = failures.length === 0 ? '' : `,"_meta":${failuresText(failures)}`
    call.result(`{"${method.key}":[${items.map(({ text }) => text).join(',')}]${meta}}`)
  })
}

/** Without prefixes a name of two targets could mean either: it is left out. */
function unambiguous(items: readonly Listed[]): Listed[] {
  const owners = new Map<string, string>()
  const twice = new Set<string>()
  for (const { name, target } of items) {
    const owner = owners.get(name) ?? target
    owners.set(name, owner)
    if (owner !== target) twice.add(name)
  }
  return items.filter(({ name }) => !twice.has(name))
}
