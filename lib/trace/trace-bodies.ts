// A bounded copy of a body that passes; what is above the bound passes uncopied.

import type { BodySnapshotEvent, BodyStage, ChunkArrival } from '../core/trace-events.ts'
import type { Outcome, Tap } from '../core/types.ts'
import { ByteBuffer } from '../text/byte-buffer.ts'
import { redactBody } from '../text/redaction.ts'

export class BodyCopy implements Tap {
  readonly #most: number
  readonly #done: (copy: BodyCopy) => void
  readonly #pile = new ByteBuffer()
  readonly #arrivals: ArrivalLog | null
  #state: 'open' | 'over' = 'open'
  #bytes = 0

  /** With when its request was accepted, it also tells when the parts of the body came. */
  constructor(most: number, done: (copy: BodyCopy) => void, started: number | null = null) {
    this.#most = most
    this.#done = done
    this.#arrivals = started === null ? null : new ArrivalLog(started)
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#bytes += to - from
    this.#arrivals?.add(this.#bytes, performance.now())
    const room = this.#most - this.#pile.length
    if (room > 0) this.#pile.append(bytes, from, Math.min(to, from + room))
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

interface BodySnapshotOptions {
  /** Of credentials. */
  readonly names?: ReadonlySet<string> | undefined
  readonly arrivals?: ArrivalLog | null
}

/** Written in base64 when somebody reads it, not on the way of the body. */
export class BodySnapshot implements BodySnapshotEvent {
  readonly type = 'bodySnapshot' as const
  readonly stage: BodyStage
  /** All that passed. */
  readonly bytes: number
  readonly truncated?: true
  readonly #kept: Buffer
  readonly #more: BodySnapshotOptions
  /** As people see it. */
  #shown: Buffer | null = null

  constructor(stage: BodyStage, kept: Buffer, bytes: number, more: BodySnapshotOptions = {}) {
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
  get arrivals(): readonly ChunkArrival[] | undefined {
    const { arrivals } = this.#more
    return arrivals ? remapArrivals(this.#show(), this.#kept, arrivals.list) : undefined
  }

  /** How many parts each of those stands for, where that is more than one. */
  get arrivalStep(): number | undefined {
    const step = this.#more.arrivals?.step ?? 1
    return step > 1 ? step : undefined
  }

  /** Letters of it, about. */
  get encodedLength(): number {
    return Math.ceil(this.#kept.length / 3) * 4
  }

  #show(): Buffer {
    return (this.#shown ??= redactBody(this.#kept, this.#more.names))
  }
}

// When the parts of a body came: a list that grows coarser, not longer.

/** Above this every second one is kept, then every fourth, and so on; the last always. */
export const MAX_ARRIVALS = 1_000

const LF = 10

export class ArrivalLog {
  readonly #started: number
  #list: ChunkArrival[] = []
  #step = 1
  /** How many the last one stands for. */
  #behind = 0

  /** On the clock of `performance.now()`. */
  constructor(started: number) {
    this.#started = started
  }

  /** How many of those that came one in the list stands for. */
  get step(): number {
    return this.#step
  }

  get list(): readonly ChunkArrival[] {
    return this.#list
  }

  add(bytes: number, now: number): void {
    const arrival: ChunkArrival = [bytes, Math.max(0, Math.round((now - this.#started) * 1000))]
    if (this.#behind > 0 && this.#behind < this.#step) {
      this.#list[this.#list.length - 1] = arrival
      this.#behind++
      return
    }
    if (this.#list.length === MAX_ARRIVALS) this.#thin()
    this.#list.push(arrival)
    this.#behind = 1
  }

  #thin(): void {
    this.#list = this.#list.filter((_arrival, at) => at % 2 === 1)
    this.#step *= 2
  }
}

/** The same in a body as it is shown, line by line: what was hidden has another length. None where lines are not the same. */
export function remapArrivals(
  shown: Buffer,
  kept: Buffer,
  list: readonly ChunkArrival[],
): ChunkArrival[] {
  if (shown === kept) return [...list]
  const moved: ChunkArrival[] = []
  let [from, fromShown] = [0, 0]
  let at = 0
  while (from < kept.length && fromShown < shown.length) {
    const [to, toShown] = [findLineEnd(kept, from), findLineEnd(shown, fromShown)]
    for (; at < list.length && list[at]![0] <= to; at++) {
      const [bytes, time] = list[at]!
      const place = bytes === to ? toShown : Math.min(fromShown + bytes - from, toShown - 1)
      moved.push([place, time])
    }
    from = to
    fromShown = toShown
  }
  if (from < kept.length || fromShown < shown.length) return []
  // What was not kept comes behind.
  for (const [bytes, time] of list.slice(at)) moved.push([bytes - kept.length + shown.length, time])
  return moved
}

/** Of the line that begins there, with its line end. */
function findLineEnd(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(LF, from)
  return at < 0 ? bytes.length : at + 1
}
