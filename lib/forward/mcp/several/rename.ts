// Names and URIs inside messages, turned from the target's into the client's and back, in place.

import { spansAt } from '../../../base/json/edit.ts'
import type { Edit } from '../../../base/json/edit.ts'
import { stringAt } from '../../../base/json/scan.ts'
import type { Span } from '../../../base/json/scan.ts'
import type { Message } from '../message.ts'
import type { Place } from './methods.ts'
import type { Names } from './names.ts'

/** Edits that make a target's names at these places those that clients see. */
export function outwardEdits(
  names: Names,
  target: string,
  { bytes }: Message,
  at: { value: Span; places: readonly Place[] },
): Edit[] {
  if (names.style !== 'prefixed') return []
  return at.places.flatMap(({ kind, path }) =>
    spansAt(bytes, at.value, path).flatMap((span) => {
      const name = stringAt(bytes, span)
      if (name === undefined) return []
      return [{ ...span, text: JSON.stringify(names.outward(kind, { target, name })) }]
    }),
  )
}

/** The reverse, for what a client sends to the target that owns these names. */
export function inwardEdits(
  names: Names,
  { bytes }: Message,
  at: { value: Span; places: readonly Place[] },
): Edit[] {
  if (names.style !== 'prefixed') return []
  return at.places.flatMap(({ kind, path }) =>
    spansAt(bytes, at.value, path).flatMap((span) => {
      const owned = names.inward(kind, stringAt(bytes, span) ?? '')
      if (owned === null || owned === undefined) return []
      return [{ ...span, text: JSON.stringify(owned.name) }]
    }),
  )
}

const TOKEN: readonly string[] = ['_meta', 'progressToken']

/** Progress tokens of several targets' requests must not meet: the target's name goes in front of each. */
export function outwardToken(names: Names, target: string, message: Message): Edit[] {
  const { bytes, params } = message
  if (names.style === 'plain' || params === null) return []
  return spansAt(bytes, params, TOKEN).map((span) => ({
    ...span,
    text: JSON.stringify(`${target}+${message.text(span)}`),
  }))
}

/** The target a client's progress notification is for, and the token as that target wrote it. */
export function inwardToken(message: Message): { target: string; edit: Edit } | null {
  const span = message.param('progressToken')
  const text = span === undefined ? undefined : stringAt(message.bytes, span)
  const at = text?.indexOf('+') ?? -1
  if (span === undefined || text === undefined || at < 0) return null
  // Written back as it came from the target, so it is JSON; a client's invention must be as well.
  const token = text.slice(at + 1)
  return isScalar(token) ? { target: text.slice(0, at), edit: { ...span, text: token } } : null
}

function isScalar(text: string): boolean {
  // White space may be a line break, which would end the message on a child's input.
  if (text.trim() !== text) return false
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' || typeof value === 'number'
  } catch {
    return false
  }
}
