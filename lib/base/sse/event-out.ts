// One reader of an event stream, however it is reached.

/** Of the head in front of it. */
export const EVENT_FIELDS: readonly (readonly [name: string, value: string])[] = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-cache'],
  ['x-content-type-options', 'nosniff'],
]

export interface EventOut {
  /** It does not take more just now: what is written all the same is kept, so do not. */
  readonly isFull: boolean
  write(text: string): void
  /** Calls back each time it has room again. */
  onRoom(act: () => void): void
  /** Nothing comes after this. */
  end(): void
  /** The reader is given up. */
  destroy(): void
}
