// The reader of an event stream behind an answer of node:http.

import type { ServerResponse } from 'node:http'
import { EVENT_FIELDS } from './event-out.ts'
import type { EventOut } from './event-out.ts'
import { KeptOut } from './kept-out.ts'
import type { Pace } from './kept-out.ts'

/** `open` is called when the head is out; what it returns is called when nobody listens any more. */
export function streamEvents(
  response: ServerResponse,
  pace: Pace,
  open: (out: EventOut) => () => void,
): void {
  response.writeHead(200, Object.fromEntries(EVENT_FIELDS))
  // It would wait for the first event, and a browser with it.
  response.flushHeaders()
  const kept = new KeptOut(new ResponseOut(response), pace)
  let leave = (): void => {}
  response.on('close', () => {
    kept.close()
    leave()
  })
  leave = open(kept)
}

class ResponseOut implements EventOut {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  get isFull(): boolean {
    return this.#response.writableNeedDrain
  }

  write(text: string): void {
    this.#response.write(text)
  }

  onRoom(act: () => void): void {
    this.#response.on('drain', act)
  }

  end(): void {
    this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }
}
