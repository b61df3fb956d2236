// A bounded copy of a body that passes; what is above the bound passes uncopied.

import { Pile } from '../pile.ts'
import { shownBody } from '../redact/texts.ts'
import type { Outcome, Tap } from '../types.ts'
import { Arrivals, movedTo } from './arrivals.ts'
import type { Arrival, BodySnapshotEvent, BodyStage } from './events.ts'

export class BodyCopy implements Tap {
  readonly #most: number
  readonly #done: (copy: BodyCopy) => void
  readonly #pile = new Pile()
  readonly #arrivals: Arrivals | null
  #state: 'open' | 'over' = 'open'
  #bytes = 0

  /** With when its request was accepted, it also tells when the parts of the body came. */
  constructor(most: number, done: (copy: BodyCopy) => void, started: number | null = null) {
    this.#most = most
    this.#done = done
    this.#arrivals = started === null ? null : new Arrivals(started)
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#bytes += to - from
    this.#arrivals?.add(this.#bytes, performance.now())
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
    const more = { names, arrivals: this.#arrivals }
    return new BodySnapshot(stage, this.#pile.take(), this.#bytes, more)
  }
}

interface More {
  /** Of credentials. */
  readonly names?: ReadonlySet<string> | undefined
  readonly arrivals?: Arrivals | null
}

/** Written in base64 when somebody reads it, not on the way of the body. */
export class BodySnapshot implements BodySnapshotEvent {
  readonly type = 'bodySnapshot' as const
  readonly stage: BodyStage
  /** All that passed. */
  readonly bytes: number
  readonly truncated?: true
  readonly #kept: Buffer
  readonly #more: More
  /** As people see it. */
  #shown: Buffer | null = null

  constructor(stage: BodyStage, kept: Buffer, bytes: number, more: More = {}) {
    this.stage = stage
    this.bytes = bytes
    this.#kept = kept
    this.#more = more
    if (kept.length < bytes) this.truncated = true
  }

  /** Base64, without credentials. */
  get body(): string {
    return this.#show().toString('base64')
  }

  /** When its parts came, by what is shown of it. */
  get arrivals(): readonly Arrival[] | undefined {
    const { arrivals } = this.#more
    return arrivals ? movedTo(this.#show(), this.#kept, arrivals.list) : undefined
  }

  /** How many parts each of those stands for, where that is more than one. */
  get arrivalStep(): number | undefined {
    const step = this.#more.arrivals?.step ?? 1
    return step > 1 ? step : undefined
  }

  /** Letters of it, about. */
  get weight(): number {
    return Math.ceil(this.#kept.length / 3) * 4
  }

  #show(): Buffer {
    return (this.#shown ??= shownBody(this.#kept, this.#more.names))
  }
}
