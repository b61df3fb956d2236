// Headers whose values are computed by expressions. A header whose expression fails or has no text is left out.

import type { ExpressionView } from './exchange-view.ts'
import type { Expression } from './compile.ts'

/** Names in lower case, values as expressions. */
export interface TransformationConfig {
  readonly add: readonly { readonly name: string; readonly value: Expression }[]
  readonly set: readonly { readonly name: string; readonly value: Expression }[]
  readonly remove: readonly string[]
}

export type HeaderField = readonly [name: string, value: string]

/** Names in lower case; no name occurs twice. */
export interface HeaderModifierConfig {
  readonly add: readonly HeaderField[]
  readonly set: readonly HeaderField[]
  readonly remove: readonly string[]
}

/** A longer value is left out like a failed one: it would exceed the limit of a head, too. */
const MAX_VALUE_LENGTH = 8_192

/** Computes the header changes. All values are computed first, so that no change affects another value. */
export function computeHeaders(
  config: TransformationConfig,
  view: ExpressionView,
): HeaderModifierConfig {
  const valuesOf = (list: TransformationConfig['set']) =>
    list.map(({ name, value }) => [name, toHeaderText(value.evaluateText(view))] as const)
  const set = valuesOf(config.set)
  const add = valuesOf(config.add)
  const failed = set.filter(([, text]) => text === null).map(([name]) => name)
  return {
    add: add.filter(hasText),
    set: set.filter(hasText),
    remove: [...config.remove, ...failed],
  }
}

function hasText(field: readonly [name: string, text: string | null]): field is HeaderField {
  return field[1] !== null
}

/** The characters allowed in a header line: no control characters except tabs. */
const LEGAL = /^[\t -~\u0080-\u{10ffff}]*$/u
const LATIN1 = /^[\t-\u00ff]*$/

/** Characters beyond latin1 become UTF-8. */
function toHeaderText(text: string | null): string | null {
  if (text === null || text.length > MAX_VALUE_LENGTH || !LEGAL.test(text)) return null
  const value = trimBlanks(text)
  return LATIN1.test(value) ? value : Buffer.from(value).toString('latin1')
}

/** Not `trim`: it would remove bytes of a UTF-8 character that latin1 reads as spaces. */
function trimBlanks(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && isBlank(text[from]!)) from++
  while (to > from && isBlank(text[to - 1]!)) to--
  return text.slice(from, to)
}

function isBlank(char: string): boolean {
  return char === ' ' || char === '\t'
}
