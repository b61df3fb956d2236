// A bounded copy of a body that passes; what is above the bound passes uncopied.

import { Pile } from '../pile.ts'
import { shownBody } from '../redact.ts'
import type { Outcome, Tap } from '../types.ts'
import type { BodyStage } from './events.ts'

export class BodyCopy implements Tap {
  readonly #most: number
  readonly #done: (copy: BodyCopy) => void
  readonly #pile = new Pile()
  #state: 'open' | 'over' = 'open'
  #bytes = 0

  constructor(most: number, done: (copy: BodyCopy) => void) {
    this.#most = most
    this.#done = done
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#bytes += to - from
    const room = this.#most - this.#pile.length
    if (room > 0) this.#pile.add(bytes, from, Math.min(to, from + room))
  }

  /** Also by whoever knows that nothing more will come; only the first counts. */
  end(_outcome: Outcome): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#done(this)
  }

  /** What was copied; the copy is empty afterwards. `names` are those of credentials. */
  snapshot(stage: BodyStage, names?: ReadonlySet<string>): BodySnapshot {
    return new BodySnapshot(stage, this.#pile.take(), this.#bytes, names)
  }
}

/** Written in base64 when somebody reads it, not on the way of the body. */
export class BodySnapshot {
  readonly type = 'bodySnapshot'
  readonly stage: BodyStage
  /** All that passed. */
  readonly bytes: number
  readonly truncated?: true
  readonly #kept: Buffer
  readonly #names: ReadonlySet<string> | undefined

  constructor(stage: BodyStage, kept: Buffer, bytes: number, names?: ReadonlySet<string>) {
    this.stage = stage
    this.bytes = bytes
    this.#kept = kept
    this.#names = names
    if (kept.length < bytes) this.truncated = true
  }

  /** Base64, without credentials. */
  get body(): string {
    return shownBody(this.#kept, this.#names).toString('base64')
  }

  /** Letters of it, about. */
  get weight(): number {
    return Math.ceil(this.#kept.length / 3) * 4
  }
}
