// Forwards a request that names a tool, prompt, resource or task to the target that owns it, and broadcasts ping and
// log level to all targets.

import type { JsonEdit } from '../../../text/json-edit.ts'
import { RPC_CODES } from '../json-rpc.ts'
import type { RpcMessage } from '../json-rpc.ts'
import { isItemPermitted } from '../mcp-authorization.ts'
import type { ClientCall } from '../session/client-call.ts'
import type { McpSession } from '../session/session.ts'
import { formatTargetFailures, gatherFromTargets } from './gather.ts'
import { createClientNameEdits, createTargetNameEdits } from './item-names.ts'
import type { ItemKind, OwnedName } from './item-names.ts'
import { learnNames } from './lists.ts'
import {
  BROADCAST_METHODS,
  findSingleMember,
  hasDuplicateMembers,
  parseNamedItem,
  RELATED_TASK_PATH,
} from './methods.ts'
import type { NamedItem } from './methods.ts'

export function useItem(session: McpSession, call: ClientCall): void {
  const named = parseNamedItem(call.message)
  if (typeof named === 'string')
    return call.refuse(400, { code: RPC_CODES.invalidParams, message: named })
  const { kind, text } = named
  const owned = session.group.names.toOwnedName(kind, text) ?? session.directory.find(kind, text)
  if (owned !== undefined || session.group.names.style !== 'shared')
    return askItemOwner(session, call, named, owned)
  // Without prefixes, only the lists show which target owns the name.
  learnNames(session, call, kind, () =>
    askItemOwner(session, call, named, session.directory.find(kind, text)),
  )
}

function askItemOwner(
  session: McpSession,
  call: ClientCall,
  named: NamedItem,
  owned: OwnedName | undefined,
): void {
  const { kind, text } = named
  const { message, httpRequest } = call
  const target = owned === undefined ? undefined : session.target(owned.target)
  if (owned === undefined || target === undefined) return answerUnknownItem(call, kind, text)
  session.recordFacts(httpRequest.exchange, { [kind]: owned })
  const toolArguments = readToolArguments(call)
  if (typeof toolArguments === 'string')
    return call.refuse(400, { code: RPC_CODES.invalidParams, message: toolArguments })
  if (!isItemPermitted(call, { kind, ...owned, ...toolArguments }, 'use'))
    return answerUnknownItem(call, kind, text)
  const edits = createRequestEdits(session, message, named, owned)
  call.sendToTarget(target, (idText) => message.withId(idText, ...edits), {
    answered: (answer) => {
      if (answer.result !== null) session.clientSetup.remember(message, target, edits)
      call.answer(
        rewriteItemAnswer(session, target.name, answer, { ...named, idText: call.idText }),
      )
    },
    failed: (reason, reply, code) => call.failed(target.name, reason, reply, code),
  })
}

function createRequestEdits(
  { group }: McpSession,
  message: RpcMessage,
  named: NamedItem,
  owned: OwnedName,
): JsonEdit[] {
  if (owned.name === named.text) return []
  const value = message.params!
  return [
    { ...named.span, text: JSON.stringify(owned.name) },
    ...createTargetNameEdits(group.names, message, { value, places: [RELATED_TASK_PATH] }),
  ]
}

function rewriteItemAnswer(
  { group }: McpSession,
  target: string,
  answer: RpcMessage,
  { results, idText }: Pick<NamedItem, 'results'> & { idText: string },
): Buffer {
  const { result } = answer
  if (result === null) return answer.withId(idText)
  const edits = createClientNameEdits(group.names, target, answer, {
    value: result,
    places: results,
  })
  return answer.withId(idText, ...edits)
}

/** A forbidden item is answered like an unknown one (reference.md 3.2). */
function answerUnknownItem(call: ClientCall, kind: ItemKind, text: string): void {
  call.refuse(400, { code: RPC_CODES.invalidParams, message: `Unknown ${kind}: ${text}` })
}

/** Parses the arguments only if rules may read them; returns a string if they are ambiguous. */
function readToolArguments({ httpRequest, message }: ClientCall): { arguments?: unknown } | string {
  const { method, params, bytes } = message
  if (httpRequest.ruleSets.length === 0 || method !== 'tools/call' || params === null) return {}
  const span = findSingleMember(bytes, params, 'arguments')
  if (span === undefined || typeof span === 'string') return span ?? {}
  if (hasDuplicateMembers(bytes, span)) return "params: a member of 'arguments' is ambiguous"
  return { arguments: JSON.parse(message.text(span)) }
}

/** Sends `ping` or `logging/setLevel` to all targets and answers once. */
export function broadcastRequest(session: McpSession, call: ClientCall): void {
  const { message } = call
  const { group } = session
  const capability = BROADCAST_METHODS.get(message.method) ?? null
  gatherFromTargets<null>(
    {
      call,
      targets: session.targets.filter(
        ({ profile }) => capability === null || profile?.offers(capability) === true,
      ),
      timeout: group.limits.listTimeout,
      ask: (query) =>
        query.ask(
          (idText) => message.withId(idText),
          () => query.settle(null),
        ),
    },
    ({ found, failures }) => {
      session.notifyOfFailures(failures)
      const [first] = failures
      const isFailure = group.config.failureMode === 'failClosed' || found.length === 0
      if (first !== undefined && isFailure)
        return call.error({ code: RPC_CODES.server, message: first.reason, data: { failures } })
      session.clientSetup.remember(message, null, [])
      call.result(failures.length === 0 ? '{}' : `{"_meta":${formatTargetFailures(failures)}}`)
    },
  )
}
