// JSON that is expected: compared by its values, so that the order of members and white space do not count. Pure.

import { fits } from './holes.ts'
import type { Kept } from './holes.ts'

/** In front of a hole that stands for a whole value. */
const VALUE = '\ue000'
const BARE_HOLE = /([:[,]\s*)(<[a-z0-9]+(?: \d+)?>)(?=\s*[,}\]])/g
/** A member of this name allows members that are not listed. */
const OTHERS = '<any>'

/** False also when one of the two is no JSON. */
export function jsonFits(expected: string, actual: string, kept?: Kept): boolean {
  const wanted = parsed(expected.replace(BARE_HOLE, `$1"${VALUE}$2"`))
  const given = parsed(actual)
  return wanted !== undefined && given !== undefined && valueFits(wanted, given, kept)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function valueFits(wanted: unknown, given: unknown, kept: Kept | undefined): boolean {
  if (typeof wanted === 'string') {
    if (wanted.startsWith(VALUE)) return fits(wanted.substring(1), JSON.stringify(given), kept)
    return typeof given === 'string' && fits(wanted, given, kept)
  }
  if (typeof wanted !== 'object' || wanted === null) return wanted === given
  if (typeof given !== 'object' || given === null) return false
  if (Array.isArray(wanted) !== Array.isArray(given)) return false
  // Both are objects by the checks above; the items of an array are members as well.
  return membersFit(wanted as Members, given as Members, kept)
}

type Members = Record<string, unknown>

function membersFit(wanted: Members, given: Members, kept: Kept | undefined): boolean {
  const names = Object.keys(wanted).filter((name) => name !== OTHERS)
  const hasOthers = Object.hasOwn(wanted, OTHERS)
  if (!hasOthers && Object.keys(given).length !== names.length) return false
  return names.every(
    (name) => Object.hasOwn(given, name) && valueFits(wanted[name], given[name], kept),
  )
}
