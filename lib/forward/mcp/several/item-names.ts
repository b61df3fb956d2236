// Maps names between clients and targets: clients see `target_tool` and `target+uri`. A target's own name must not
// contain a separator, so the first separator splits the two parts.

import { findSpans } from '../../../text/json-edit.ts'
import type { JsonEdit } from '../../../text/json-edit.ts'
import { readJsonString } from '../../../text/json-scan.ts'
import type { ByteSpan } from '../../../text/json-scan.ts'
import type { RpcMessage } from '../json-rpc.ts'
import { MAX_REMEMBERED_NAMES } from '../mcp-bounds.ts'
import type { NamePath } from './methods.ts'

export type ItemKind = 'tool' | 'prompt' | 'resource' | 'task'

export interface OwnedName {
  readonly target: string
  /** The name that the target uses. */
  readonly name: string
}

/**
 * `plain`: one target, names unchanged. `prefixed`: names start with the target's name.
 * `shared`: several targets without prefix; only the lists show which target owns a name.
 */
export type NamingStyle = 'plain' | 'prefixed' | 'shared'

const APP_SCHEME = 'ui://'

export class ItemNames {
  readonly style: NamingStyle
  readonly #targets: readonly string[]

  constructor(mode: 'conditional' | 'always' | 'never', targets: readonly string[]) {
    this.#targets = targets
    const isSingle = targets.length === 1
    const isPrefixed = mode === 'always' || (mode === 'conditional' && !isSingle)
    this.style = isPrefixed ? 'prefixed' : isSingle ? 'plain' : 'shared'
  }

  toClientName(kind: ItemKind, { target, name }: OwnedName): string {
    if (this.style !== 'prefixed') return name
    if (kind === 'tool' || kind === 'prompt') return `${target}_${name}`
    if (name.startsWith(APP_SCHEME)) return `${APP_SCHEME}${target}+${name.slice(5)}`
    return `${target}+${name}`
  }

  /** Returns the owner and its name of an item; null if no target owns it, undefined if only the lists can show it. */
  toOwnedName(kind: ItemKind, text: string): OwnedName | null | undefined {
    if (this.style === 'plain') return { target: this.#targets[0]!, name: text }
    if (this.style === 'shared') return undefined
    const scheme = text.startsWith(APP_SCHEME) && kind === 'resource' ? APP_SCHEME : ''
    const rest = text.slice(scheme.length)
    const at = rest.indexOf(kind === 'tool' || kind === 'prompt' ? '_' : '+')
    const target = rest.slice(0, Math.max(at, 0))
    if (!this.#targets.includes(target)) return null
    return { target, name: scheme + rest.slice(at + 1) }
  }
}

/** Creates edits that turn a target's names in a message into client names. */
export function createClientNameEdits(
  names: ItemNames,
  target: string,
  { bytes }: RpcMessage,
  at: { value: ByteSpan; places: readonly NamePath[] },
): JsonEdit[] {
  if (names.style !== 'prefixed') return []
  return at.places.flatMap(({ kind, path }) =>
    findSpans(bytes, at.value, path).flatMap((span) => {
      const name = readJsonString(bytes, span)
      if (name === undefined) return []
      return [{ ...span, text: JSON.stringify(names.toClientName(kind, { target, name })) }]
    }),
  )
}

/** Creates edits that turn client names in a message into the target's names. */
export function createTargetNameEdits(
  names: ItemNames,
  { bytes }: RpcMessage,
  at: { value: ByteSpan; places: readonly NamePath[] },
): JsonEdit[] {
  if (names.style !== 'prefixed') return []
  return at.places.flatMap(({ kind, path }) =>
    findSpans(bytes, at.value, path).flatMap((span) => {
      const owned = names.toOwnedName(kind, readJsonString(bytes, span) ?? '')
      if (owned === null || owned === undefined) return []
      return [{ ...span, text: JSON.stringify(owned.name) }]
    }),
  )
}

const PROGRESS_TOKEN_PATH: readonly string[] = ['_meta', 'progressToken']

/** Prefixes progress tokens with the target's name, so that tokens of several targets cannot collide. */
export function createClientTokenEdits(
  names: ItemNames,
  target: string,
  message: RpcMessage,
): JsonEdit[] {
  const { bytes, params } = message
  if (names.style === 'plain' || params === null) return []
  return findSpans(bytes, params, PROGRESS_TOKEN_PATH).map((span) => ({
    ...span,
    text: JSON.stringify(`${target}+${message.text(span)}`),
  }))
}

/** Splits the token of a client's progress notification into the target and its original token. */
export function parseClientToken(message: RpcMessage): { target: string; edit: JsonEdit } | null {
  const span = message.param('progressToken')
  const text = span === undefined ? undefined : readJsonString(message.bytes, span)
  const at = text?.indexOf('+') ?? -1
  if (span === undefined || text === undefined || at < 0) return null
  // A token from a target is JSON text; one that the client made up must be checked.
  const token = text.slice(at + 1)
  return isScalar(token) ? { target: text.slice(0, at), edit: { ...span, text: token } } : null
}

function isScalar(text: string): boolean {
  // White space may be a line break, which would end the message on a child's stdin.
  if (text.trim() !== text) return false
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' || typeof value === 'number'
  } catch {
    return false
  }
}

interface KnownNames {
  readonly kind: ItemKind
  readonly owners: ReadonlyMap<string, string>
}

/** Which target owns a name without prefix: learnt from lists and forgotten when they change. */
export class NameDirectory {
  /** By list method. */
  readonly #lists = new Map<string, KnownNames>()

  find(kind: ItemKind, name: string): OwnedName | undefined {
    const known = [...this.#lists.values()].filter((list) => list.kind === kind)
    for (const { owners } of known) {
      const target = owners.get(name)
      if (target !== undefined) return { target, name }
    }
    if (kind !== 'resource') return undefined
    for (const { owners } of known)
      for (const [template, target] of owners)
        if (matchesUriTemplate(name, template)) return { target, name }
    return undefined
  }

  /** Stores the owners of a list; names that several targets share have been removed. */
  learn(method: string, kind: ItemKind, owned: readonly OwnedName[]): void {
    const owners = new Map(
      owned.slice(0, MAX_REMEMBERED_NAMES).map(({ name, target }) => [name, target]),
    )
    this.#lists.set(method, { kind, owners })
  }

  forget(kind: ItemKind): void {
    for (const [method, list] of this.#lists) if (list.kind === kind) this.#lists.delete(method)
  }
}

/** Whether a URI contains the fixed parts of a template (RFC 6570) in order. */
function matchesUriTemplate(uri: string, template: string): boolean {
  const [first = '', ...others] = template.split(/\{[^{}]*\}/)
  const last = others.pop()
  if (last === undefined || !uri.startsWith(first)) return false
  let at = first.length
  for (const part of others) {
    const found = uri.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return uri.endsWith(last) && uri.length - last.length >= at
}
