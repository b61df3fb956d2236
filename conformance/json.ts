// Compares JSON by value, so that member order and white space do not matter. Pure.

import { fits } from './placeholders.ts'
import type { Kept } from './placeholders.ts'

/** Marks a placeholder that replaces a whole value. */
const VALUE = '\ue000'
const BARE_PLACEHOLDER = /([:[,]\s*)(<[a-z0-9]+(?: \d+)?>)(?=\s*[,}\]])/g
/** A member with this name allows members that are not listed. */
const OTHERS = '<any>'

/** Returns false also if one of the two is not JSON. */
export function jsonFits(expected: string, actual: string, kept?: Kept): boolean {
  const expectedValue = parseOrUndefined(expected.replace(BARE_PLACEHOLDER, `$1"${VALUE}$2"`))
  const actualValue = parseOrUndefined(actual)
  return (
    expectedValue !== undefined &&
    actualValue !== undefined &&
    valueFits(expectedValue, actualValue, kept)
  )
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function valueFits(expectedValue: unknown, actualValue: unknown, kept: Kept | undefined): boolean {
  if (typeof expectedValue === 'string') {
    if (expectedValue.startsWith(VALUE))
      return fits(expectedValue.substring(1), JSON.stringify(actualValue), kept)
    return typeof actualValue === 'string' && fits(expectedValue, actualValue, kept)
  }
  if (typeof expectedValue !== 'object' || expectedValue === null)
    return expectedValue === actualValue
  if (typeof actualValue !== 'object' || actualValue === null) return false
  if (Array.isArray(expectedValue) !== Array.isArray(actualValue)) return false
  // The checks above make both objects; array items are compared as members.
  return membersFit(expectedValue as Members, actualValue as Members, kept)
}

type Members = Record<string, unknown>

function membersFit(expectedValue: Members, actualValue: Members, kept: Kept | undefined): boolean {
  const names = Object.keys(expectedValue).filter((name) => name !== OTHERS)
  const hasOthers = Object.hasOwn(expectedValue, OTHERS)
  if (!hasOthers && Object.keys(actualValue).length !== names.length) return false
  return names.every(
    (name) =>
      Object.hasOwn(actualValue, name) && valueFits(expectedValue[name], actualValue[name], kept),
  )
}
