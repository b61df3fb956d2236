// What bytes are taken for if nobody counts their tokens.

/** On the average. */
const BYTES_PER_TOKEN = 4

export function guessOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}
