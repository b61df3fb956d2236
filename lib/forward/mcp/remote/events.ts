// One answer of a target's, read as an event stream.

import { EventReader } from '../../../base/sse/reader.ts'
import type { Body, Outcome, Sink } from '../../../base/types.ts'
import { tooLong } from './remote.ts'
import type { Remote } from './remote.ts'

/** `silent`: nothing came for too long. `too long`: an event was above the bound, and the stream was given up for it. */
export type StreamEnd = 'ended' | 'cut' | 'silent' | 'too long'

export interface EventsOwner {
  /** The data is the receiver's to keep; `id` is that of the last event that had one. */
  event(name: string, data: Buffer, id: string | null): void
  /** The target says how long to wait before its stream is opened again. */
  retry(ms: number): void
  /** Comes once, last, unless the owner cancelled. */
  streamOver(how: StreamEnd): void
}

export class Events implements Sink {
  readonly #body: Body
  readonly #owner: EventsOwner
  readonly #reader: EventReader
  #state: 'open' | 'over' = 'open'

  constructor(body: Body, owner: EventsOwner, maxBytes: number) {
    this.#body = body
    this.#owner = owner
    this.#reader = new EventReader(
      {
        event: (name, data, id) => {
          // What ended the stream may have been in the same chunk.
          if (this.#state === 'open') owner.event(name, data, id)
        },
        retry: (ms) => owner.retry(ms),
        tooLong: () => this.#overflow(),
      },
      maxBytes,
    )
  }

  start(flow: 'running' | 'paused'): void {
    if (flow === 'paused') this.#body.pause()
    this.#body.start(this, 'content')
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state === 'open') this.#reader.write(bytes, from, to)
    return true
  }

  end(): void {
    if (this.#finish()) this.#owner.streamOver('ended')
  }

  cut(outcome: Outcome): void {
    if (this.#finish()) this.#owner.streamOver(outcome === 'backend_timeout' ? 'silent' : 'cut')
  }

  pause(): void {
    if (this.#state === 'open') this.#body.pause()
  }

  resume(): void {
    if (this.#state === 'open') this.#body.resume()
  }

  cancel(): void {
    if (this.#finish()) this.#body.cancel()
  }

  #overflow(): void {
    if (this.#state === 'over') return
    this.cancel()
    this.#owner.streamOver('too long')
  }

  #finish(): boolean {
    if (this.#state === 'over') return false
    this.#state = 'over'
    return true
  }
}

export function reasonOf(remote: Remote, how: StreamEnd): string {
  const name = `target '${remote.target.name}'`
  switch (how) {
    case 'ended':
      return `${name} ended its event stream`
    case 'cut':
      return `${name} lost the connection of its event stream`
    case 'silent':
      return `${name} was silent on its event stream for too long (config.backend.bodyIdleTimeout)`
    case 'too long':
      return tooLong(remote)
  }
}
