// A client's message, read whole: JSON-RPC cannot be decided on before its end. Bounded by config.mcp.maxRequestBytes.

import type { Body, Outcome, Sink } from '../../../base/types.ts'
import type { Fields } from '../../../base/wire/head.ts'

export interface BodyOwner {
  read(bytes: Buffer): void
  /** It is longer than allowed: at least so many bytes. */
  tooLarge(bytes: number): void
}

export class BodyReader implements Sink {
  readonly #body: Body
  readonly #limit: number
  readonly #owner: BodyOwner
  #parts: Buffer[] = []
  #size = 0
  #state: 'reading' | 'over' = 'reading'

  constructor(body: Body, limit: number, owner: BodyOwner) {
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
