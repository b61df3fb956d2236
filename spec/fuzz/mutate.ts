// Nearly valid inputs: a valid text with a few changes, split anywhere.

import fc from 'fast-check'

export interface Change {
  readonly at: number
  readonly removed: number
  readonly piece: string
}

const BYTE = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code))

/** A few changes, each replacing some bytes by one of these pieces, a single byte or nothing. */
export function changes(pieces: readonly string[], maxChanges = 4): fc.Arbitrary<Change[]> {
  const piece = fc.oneof(fc.constantFrom(...pieces), BYTE, fc.constant(''))
  const change = fc.record({ at: fc.nat(), removed: fc.nat({ max: 6 }), piece })
  return fc.array(change, { maxLength: maxChanges })
}

/** The text with the changes applied; one character is one byte. */
export function changed(text: string, made: readonly Change[]): string {
  let result = text
  for (const { at, removed, piece } of made) {
    const place = at % (result.length + 1)
    result = result.substring(0, place) + piece + result.substring(place + removed)
  }
  return result
}

export const CUTS = fc.array(fc.nat(), { maxLength: 5 })

export function cutAt(text: string, cuts: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, 'latin1')
  const places = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)
  return [...places, bytes.length].map((place, i) => bytes.subarray(places[i - 1] ?? 0, place))
}
