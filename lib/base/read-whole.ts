// A request body read whole, for what can be decided only at its end: a JSON-RPC message, a form, a registration.

import type { Body, Outcome, Sink } from './types.ts'
import type { Fields } from './wire/head.ts'

export interface WholeOwner {
  read(bytes: Buffer): void
  /** It is longer than allowed: at least so many bytes. */
  tooLarge(bytes: number): void
}

export class WholeReader implements Sink {
  readonly #body: Body
  readonly #limit: number
  readonly #owner: WholeOwner
  #parts: Buffer[] = []
  #size = 0
  #state: 'reading' | 'over' = 'reading'

  constructor(body: Body, limit: number, owner: WholeOwner) {
    this.#body = body
    this.#limit = limit
    this.#owner = owner
  }

  start(): void {
    if (this.#body.length > this.#limit) this.#refuse(this.#body.length)
    else this.#body.start(this, 'content')
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    this.#size += to - from
    if (this.#state === 'over') return true
    if (this.#size > this.#limit) this.#refuse(this.#size)
    // The bytes are the reader's own buffer: what is kept must be copied.
    else this.#parts.push(Buffer.from(bytes.subarray(from, to)))
    return true
  }

  end(_trailers: Fields | null): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    const [only] = this.#parts
    const bytes = only !== undefined && this.#parts.length === 1 ? only : Buffer.concat(this.#parts)
    this.#parts = []
    this.#owner.read(bytes)
  }

  /** The client is gone, and with it the exchange. */
  cut(_outcome: Outcome): void {
    this.#state = 'over'
    this.#parts = []
  }

  #refuse(bytes: number): void {
    this.#state = 'over'
    this.#parts = []
    this.#owner.tooLarge(bytes)
  }
}

/** The same as a promise; null for one that is too large. Of a client that left nothing is heard any more. */
export function readWhole(body: Body, limit: number): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const reader = new WholeReader(body, limit, {
      read: resolve,
      tooLarge: () => resolve(null),
    })
    reader.start()
  })
}
