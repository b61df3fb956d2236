// The one thing a request names: a tool, a prompt, a resource or a task.

import { itemsOf, membersOf, stringAt } from '../../../base/json/scan.ts'
import type { Span } from '../../../base/json/scan.ts'
import { folded } from '../message.ts'
import type { Message } from '../message.ts'
import { ITEMS } from './methods.ts'
import type { Place } from './methods.ts'
import type { ItemKind } from './names.ts'

export interface Named {
  readonly kind: ItemKind
  /** The name as the client knows it, and where it stands. */
  readonly text: string
  readonly span: Span
  /** Where the answer holds names of the same target. */
  readonly results: readonly Place[]
}

const COMPLETION = 'completion/complete'

/** Whether requests of this method name one thing. */
export function namesItem(method: string): boolean {
  return ITEMS.has(method) || method === COMPLETION
}

/** What it names, or what is wrong with how it does. */
export function namedBy(message: Message): Named | string {
  const { method, params, bytes } = message
  if (params === null) return 'params is missing'
  if (method === COMPLETION) return referredBy(message, params)
  const { kind, param, results } = ITEMS.get(method)!
  const span = onlyMember(bytes, params, param)
  return typeof span === 'string' ? span : namedAt(bytes, span, { kind, results })
}

function referredBy({ bytes }: Message, params: Span): Named | string {
  const ref = onlyMember(bytes, params, 'ref')
  if (typeof ref === 'string') return ref
  const type = onlyMember(bytes, ref, 'type')
  if (typeof type === 'string') return type
  const kind = stringAt(bytes, type) === 'ref/prompt' ? 'prompt' : 'resource'
  const span = onlyMember(bytes, ref, kind === 'prompt' ? 'name' : 'uri')
  return typeof span === 'string' ? span : namedAt(bytes, span, { kind, results: [] })
}

function namedAt(bytes: Buffer, span: Span, rest: Pick<Named, 'kind' | 'results'>): Named | string {
  const text = stringAt(bytes, span)
  return text === undefined ? 'a name is no text' : { ...rest, span, text }
}

/** A member that stands twice, or once more in other letters, could be read as another one by the target. */
function onlyMember(bytes: Buffer, object: Span, name: string): Span | string {
  const span = memberAt(bytes, object, name)
  return span ?? `params: '${name}' is missing`
}

/** How deep arguments are looked into. */
const MAX_ARGUMENT_DEPTH = 64

/** Whether some object in there has a member twice, so that rules and the target may read different ones. */
export function isAmbiguous(bytes: Buffer, value: Span, depth = 0): boolean {
  if (depth > MAX_ARGUMENT_DEPTH) return true
  const members = membersOf(bytes, value)
  const names = new Set(members.map(({ key }) => folded(key)))
  if (names.size < members.length) return true
  const inner = members.length > 0 ? members : itemsOf(bytes, value)
  return inner.some((one) => isAmbiguous(bytes, one, depth + 1))
}

/** The same for one that may be missing. */
export function memberAt(bytes: Buffer, object: Span, name: string): Span | string | undefined {
  const wanted = folded(name)
  const [member, ...others] = membersOf(bytes, object).filter(({ key }) => folded(key) === wanted)
  if (member === undefined) return undefined
  if (others.length > 0 || member.key !== name) return `params: '${name}' is ambiguous`
  return member
}
