// Names of members as text. The same few come with every body, and to compare one with its bytes costs a tenth of what it
// costs to make a string of them: so the strings made last are kept, each at a place that its bytes decide.

interface Known {
  readonly bytes: Uint8Array
  readonly text: string
}

/** A power of two. */
const PLACES = 256

/** A longer name is made anew each time. */
const MAX_KNOWN_BYTES = 32

const known: (Known | undefined)[] = Array.from({ length: PLACES })

/** The text of the bytes from `from` to before `to`. */
export function nameIn(bytes: Buffer, from: number, to: number): string {
  const length = to - from
  if (length === 0 || length > MAX_KNOWN_BYTES) return bytes.toString('utf8', from, to)
  const place = placeOf(bytes, from, to)
  const found = known[place]
  if (found !== undefined && isSame(found.bytes, bytes, from, length)) return found.text
  const text = bytes.toString('utf8', from, to)
  known[place] = { bytes: Uint8Array.from(bytes.subarray(from, to)), text }
  return text
}

/** By the length, the first byte, the one in the middle and the last: names that share all of them take turns. */
function placeOf(bytes: Buffer, from: number, to: number): number {
  const middle = (from + to) >> 1
  const mixed = bytes[from]! * 7 + bytes[middle]! * 31 + bytes[to - 1]! * 13 + (to - from) * 3
  return mixed & (PLACES - 1)
}

function isSame(name: Uint8Array, bytes: Buffer, from: number, length: number): boolean {
  if (name.length !== length) return false
  for (let at = 0; at < length; at++) if (name[at] !== bytes[from + at]) return false
  return true
}
