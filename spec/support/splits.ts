// The ways in which bytes can arrive: whole, byte by byte, and split in two at every position.

/** Longer fixtures are split at about this many selected positions. */
const MAX_POSITIONS = 600

/** Chunk lists that each join to `bytes`; no chunk is empty. */
export function* splits(bytes: Buffer): Generator<Buffer[]> {
  yield [bytes]
  if (bytes.length < 2) return
  yield Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1))
  for (const at of places(bytes.length)) yield [bytes.subarray(0, at), bytes.subarray(at)]
}

/** Split positions: all, or in a long fixture near both ends and evenly in between. */
export function places(length: number, max = MAX_POSITIONS): number[] {
  if (length - 1 <= max) return Array.from({ length: Math.max(0, length - 1) }, (_x, i) => i + 1)
  const chosen = new Set<number>()
  const third = Math.floor(max / 3)
  for (let i = 1; i <= third; i++) {
    chosen.add(i)
    chosen.add(length - i)
    chosen.add(Math.floor((i * length) / (third + 1)))
  }
  return [...chosen].sort((a, b) => a - b)
}
