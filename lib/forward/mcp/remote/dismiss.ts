// Answers whose content nobody wants: read to their end when that is near, so that the connection can be used again.

import type { Body, Reply, Sink } from '../../../base/types.ts'
import { contentOf } from './content.ts'

const MAX_BYTES = 65_536
const MAX_MS = 1_000

export function dismiss({ head, body }: Reply): void {
  if (body.framing === 'none') return
  if (body.length > MAX_BYTES || contentOf(head) === 'events') return body.cancel()
  body.start(new Rest(body), 'content')
}

class Rest implements Sink {
  readonly #body: Body
  readonly #timer: NodeJS.Timeout
  #left = MAX_BYTES

  constructor(body: Body) {
    this.#body = body
    this.#timer = setTimeout(() => body.cancel(), MAX_MS)
  }

  write(_bytes: Buffer, from: number, to: number): boolean {
    const had = this.#left
    this.#left -= to - from
    if (had >= 0 && this.#left < 0) {
      this.end()
      this.#body.cancel()
    }
    return true
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  cut(): void {
    this.end()
  }
}
