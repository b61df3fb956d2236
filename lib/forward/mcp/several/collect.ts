// The items of a list, from every target that has such a list, page after page.

import { edited, spansAt } from '../../../base/json/edit.ts'
import { itemsOf, stringAt } from '../../../base/json/scan.ts'
import type { Span } from '../../../base/json/scan.ts'
import { isPermitted } from '../authorize.ts'
import { MAX_LIST_PAGES } from '../bounds.ts'
import type { Message } from '../message.ts'
import type { Call } from '../session/call.ts'
import type { Session } from '../session/session.ts'
import { gather } from './gather.ts'
import type { Gathered, Inquiry } from './gather.ts'
import type { ListMethod } from './methods.ts'
import type { Owned } from './names.ts'
import { outwardEdits } from './rename.ts'

/** An item as clients get it, and whose it is. */
export interface Listed extends Owned {
  readonly text: string
}

export interface List {
  /** `tools/list` … */
  readonly name: string
  readonly method: ListMethod
}

export function collect(
  session: Session,
  call: Call,
  { name, method }: List,
  done: (all: Gathered<Listed[]>) => void,
): void {
  const { targets, group } = session
  gather<Listed[]>(
    {
      call,
      // One that never came up is asked as well: that starts it again, or says why it is missing.
      targets: targets.filter(({ profile }) => profile?.offers(method.capability) ?? true),
      timeout: group.limits.listTimeout,
      ask: (inquiry) => new Pages(session, call, { name, method }, inquiry).next(''),
    },
    done,
  )
}

/** One target's pages. */
class Pages {
  readonly #items: Listed[] = []
  readonly #session: Session
  readonly #call: Call
  readonly #list: List
  readonly #inquiry: Inquiry<Listed[]>
  #pages = 0
  #bytes = 0

  constructor(session: Session, call: Call, list: List, inquiry: Inquiry<Listed[]>) {
    this.#session = session
    this.#call = call
    this.#list = list
    this.#inquiry = inquiry
  }

  /** `cursor` is the last page's, as it was written, or ''. */
  next(cursor: string): void {
    const { name } = this.#list
    const params = cursor === '' ? '{}' : `{"cursor":${cursor}}`
    const make = (idText: string): Buffer =>
      Buffer.from(`{"jsonrpc":"2.0","id":${idText},"method":"${name}","params":${params}}`)
    this.#inquiry.ask(make, (answer) => this.#take(answer))
  }

  #take(answer: Message): void {
    const inquiry = this.#inquiry
    const { maxMessageBytes } = this.#session.group.limits
    this.#bytes += answer.bytes.length
    if (++this.#pages > MAX_LIST_PAGES || this.#bytes > maxMessageBytes)
      return inquiry.fail(`target '${inquiry.target.name}' has too long a list`)
    const { method } = this.#list
    this.#items.push(
      ...listed(this.#session, this.#call, { target: inquiry.target.name, answer, method }),
    )
    const [cursor] = spansAt(answer.bytes, answer.result!, ['nextCursor'])
    if (cursor === undefined || stringAt(answer.bytes, cursor) === undefined)
      return inquiry.settle(this.#items)
    this.next(answer.text(cursor))
  }
}

/** The items of one page that the client may see, under the names it knows them by. */
export function listed(
  session: Session,
  call: Call,
  page: { target: string; answer: Message; method: ListMethod },
): Listed[] {
  const { target, answer, method } = page
  const [array] = spansAt(answer.bytes, answer.result!, [method.key])
  if (array === undefined) return []
  return itemsOf(answer.bytes, array).flatMap((item) => {
    const owned = ownedAt(page, item)
    if (owned === null) return []
    if (!isPermitted(call, { kind: method.kind, ...owned }, 'list')) return []
    const places = [
      { kind: method.kind, path: [method.name] },
      ...method.uris.map((path) => ({ kind: 'resource' as const, path })),
    ]
    const edits = outwardEdits(session.group.names, target, answer, { value: item, places })
    const shifted = edits.map(({ from, to, text }) => ({
      from: from - item.from,
      to: to - item.from,
      text,
    }))
    const bytes = edited(answer.bytes.subarray(item.from, item.to), shifted)
    return [{ ...owned, text: bytes.toString() }]
  })
}

function ownedAt(
  { target, answer, method }: { target: string; answer: Message; method: ListMethod },
  item: Span,
): Owned | null {
  const [span] = spansAt(answer.bytes, item, [method.name])
  const name = span === undefined ? undefined : stringAt(answer.bytes, span)
  return name === undefined ? null : { target, name }
}
