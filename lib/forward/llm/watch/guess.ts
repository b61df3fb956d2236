// What bytes are taken for if nobody counts their tokens.

/** On the average. */
const BYTES_PER_TOKEN = 4

/** Of an event with one token in it: all else is names, ids and padding. */
const USUAL_EVENT_BYTES = 512

export function guessOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

/** A token for each, and more for those that are longer than usual. What brings none is no answer. */
export function guessOfEvents(events: number, bytes: number): number {
  if (events === 0) return 0
  return events + guessOf(Math.max(0, bytes - events * USUAL_EVENT_BYTES))
}
