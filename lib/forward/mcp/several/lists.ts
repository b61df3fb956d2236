// List methods: forwards one target's list with items renamed and filtered, or joins the lists of several targets.

import { applyEdits, findSpans } from '../../../text/json-edit.ts'
import { listItems, readJsonString } from '../../../text/json-scan.ts'
import type { ByteSpan } from '../../../text/json-scan.ts'
import { RPC_CODES } from '../json-rpc.ts'
import type { RpcMessage } from '../json-rpc.ts'
import { isItemPermitted } from '../mcp-authorization.ts'
import { MAX_LIST_PAGES } from '../mcp-bounds.ts'
import type { ClientCall } from '../session/client-call.ts'
import type { McpSession } from '../session/session.ts'
import type { SessionTarget } from '../session/target.ts'
import { formatTargetFailures, gatherFromTargets } from './gather.ts'
import type { GatheredResults, TargetQuery } from './gather.ts'
import { createClientNameEdits } from './item-names.ts'
import type { ItemKind, OwnedName } from './item-names.ts'
import { LIST_METHODS } from './methods.ts'
import type { ListMethod } from './methods.ts'

export function answerListRequest(session: McpSession, call: ClientCall): void {
  const [target, ...others] = session.targets
  if (others.length > 0) return answerJoinedList(session, call)
  const { names } = session.group
  const { ruleSets } = call.httpRequest
  call.sendToTarget(target!, (idText) => call.message.withId(idText), {
    answered: (answer) => {
      const isUnchanged = names.style === 'plain' && ruleSets.length === 0
      if (isUnchanged || answer.result === null) call.answer(answer.withId(call.idText))
      else call.answer(rewriteListPage(session, call, target!, answer))
    },
    failed: (reason, reply, code) => call.failed(target!.name, reason, reply, code),
  })
}

/** Requests the lists of this kind to learn which target owns which item, then calls `then`. */
export function learnNames(
  session: McpSession,
  call: ClientCall,
  kind: ItemKind,
  then: () => void,
): void {
  const methods = [...LIST_METHODS].filter(([, method]) => method.kind === kind)
  const next = (): void => {
    const [name, method] = methods.shift() ?? []
    if (name === undefined || method === undefined) return then()
    collectItems(session, call, { name, method }, ({ found }) => {
      session.directory.learn(name, kind, removeAmbiguousItems(found.flat()))
      next()
    })
  }
  next()
}

/** Rewrites one target's page to the permitted items with their client names. */
function rewriteListPage(
  session: McpSession,
  call: ClientCall,
  target: SessionTarget,
  answer: RpcMessage,
): Buffer {
  const method = LIST_METHODS.get(call.message.method)!
  const [array] = findSpans(answer.bytes, answer.result!, [method.key])
  if (array === undefined) return answer.withId(call.idText)
  const items = selectVisibleItems(session, call, { target: target.name, answer, method })
  const text = `[${items.map((item) => item.text).join(',')}]`
  return answer.withId(call.idText, { from: array.from, to: array.to, text })
}

function answerJoinedList(session: McpSession, call: ClientCall): void {
  const name = call.message.method
  const method = LIST_METHODS.get(name)!
  const { names, config } = session.group
  collectItems(session, call, { name, method }, ({ found, failures }) => {
    session.notifyOfFailures(failures)
    const [first] = failures
    if (first !== undefined && (config.failureMode === 'failClosed' || found.length === 0))
      return call.error({ code: RPC_CODES.server, message: first.reason, data: { failures } })
    const all = found.flat()
    const items = names.style === 'shared' ? removeAmbiguousItems(all) : all
    if (names.style === 'shared') session.directory.learn(name, method.kind, items)
    const meta = failures.length === 0 ? '' : `,"_meta":${formatTargetFailures(failures)}`
    call.result(`{"${method.key}":[${items.map(({ text }) => text).join(',')}]${meta}}`)
  })
}

/** Without prefixes, a name that two targets share is ambiguous and left out. */
function removeAmbiguousItems(items: readonly ListedItem[]): ListedItem[] {
  const owners = new Map<string, string>()
  const ambiguous = new Set<string>()
  for (const { name, target } of items) {
    const owner = owners.get(name) ?? target
    owners.set(name, owner)
    if (owner !== target) ambiguous.add(name)
  }
  return items.filter(({ name }) => !ambiguous.has(name))
}

/** An item as JSON text for clients, with its owner. */
interface ListedItem extends OwnedName {
  readonly text: string
}

export interface ListRequest {
  /** Such as `tools/list`. */
  readonly name: string
  readonly method: ListMethod
}

/** Collects all pages of a list from every target that offers it. */
function collectItems(
  session: McpSession,
  call: ClientCall,
  { name, method }: ListRequest,
  done: (all: GatheredResults<ListedItem[]>) => void,
): void {
  const { targets, group } = session
  gatherFromTargets<ListedItem[]>(
    {
      call,
      // A target that never started is included: the request restarts it or gives the reason of the failure.
      targets: targets.filter(({ profile }) => profile?.offers(method.capability) ?? true),
      timeout: group.limits.listTimeout,
      ask: (query) => new TargetPages(session, call, { name, method }, query).next(''),
    },
    done,
  )
}

/** Requests one target's pages one after the other. */
class TargetPages {
  readonly #items: ListedItem[] = []
  readonly #session: McpSession
  readonly #call: ClientCall
  readonly #list: ListRequest
  readonly #query: TargetQuery<ListedItem[]>
  #pages = 0
  #bytes = 0

  constructor(
    session: McpSession,
    call: ClientCall,
    list: ListRequest,
    query: TargetQuery<ListedItem[]>,
  ) {
    this.#session = session
    this.#call = call
    this.#list = list
    this.#query = query
  }

  /** `cursor` is the JSON text from the last page; empty for the first page. */
  next(cursor: string): void {
    const { name } = this.#list
    const params = cursor === '' ? '{}' : `{"cursor":${cursor}}`
    const encode = (idText: string): Buffer =>
      Buffer.from(`{"jsonrpc":"2.0","id":${idText},"method":"${name}","params":${params}}`)
    this.#query.ask(encode, (answer) => this.#addPage(answer))
  }

  #addPage(answer: RpcMessage): void {
    const query = this.#query
    const { maxMessageBytes } = this.#session.group.limits
    this.#bytes += answer.bytes.length
    if (++this.#pages > MAX_LIST_PAGES || this.#bytes > maxMessageBytes)
      return query.fail(`target '${query.target.name}' sent a list that is too long`)
    const { method } = this.#list
    this.#items.push(
      ...selectVisibleItems(this.#session, this.#call, {
        target: query.target.name,
        answer,
        method,
      }),
    )
    const [cursor] = findSpans(answer.bytes, answer.result!, ['nextCursor'])
    if (cursor === undefined || readJsonString(answer.bytes, cursor) === undefined)
      return query.settle(this.#items)
    this.next(answer.text(cursor))
  }
}

/** Returns the items of one page that the client may see, with their client names. */
function selectVisibleItems(
  session: McpSession,
  call: ClientCall,
  page: { target: string; answer: RpcMessage; method: ListMethod },
): ListedItem[] {
  const { target, answer, method } = page
  const [array] = findSpans(answer.bytes, answer.result!, [method.key])
  if (array === undefined) return []
  return listItems(answer.bytes, array).flatMap((item) => {
    const owned = readItemOwner(page, item)
    if (owned === null) return []
    if (!isItemPermitted(call, { kind: method.kind, ...owned }, 'list')) return []
    const places = [
      { kind: method.kind, path: [method.name] },
      ...method.uris.map((path) => ({ kind: 'resource' as const, path })),
    ]
    const edits = createClientNameEdits(session.group.names, target, answer, {
      value: item,
      places,
    })
    const shifted = edits.map(({ from, to, text }) => ({
      from: from - item.from,
      to: to - item.from,
      text,
    }))
    const bytes = applyEdits(answer.bytes.subarray(item.from, item.to), shifted)
    return [{ ...owned, text: bytes.toString() }]
  })
}

function readItemOwner(
  { target, answer, method }: { target: string; answer: RpcMessage; method: ListMethod },
  item: ByteSpan,
): OwnedName | null {
  const [span] = findSpans(answer.bytes, item, [method.name])
  const name = span === undefined ? undefined : readJsonString(answer.bytes, span)
  return name === undefined ? null : { target, name }
}
