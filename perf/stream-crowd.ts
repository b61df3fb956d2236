// Many readers of event streams that succeed or fail together.
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Deferred } from './deferred.ts'
import { nowMicros } from './fixtures.ts'
import { Latencies } from './stats.ts'

const OPENING_AT_ONCE = 50
const OPEN_DEADLINE_MS = 60_000

export type StreamEvents = { stamp: (micros: number) => void; failed: (error: Error) => void }

/** Opens one stream, the `at`-th. */
export type Opener = (at: number, events: StreamEvents) => Promise<Socket>

export class StreamCrowd {
  latencies = new Latencies()
  readonly #sockets: Socket[] = []
  readonly #failure = new Deferred()
  #started = 0
  #left = false

  /** Opens the streams, a few at a time, and waits until each has had its first event. */
  async open(count: number, opener: Opener): Promise<void> {
    const deadline = Date.now() + OPEN_DEADLINE_MS
    while (this.#sockets.length < count) {
      const some = Math.min(OPENING_AT_ONCE, count - this.#sockets.length)
      const first = this.#sockets.length
      const opened = Array.from({ length: some }, (_, at) => this.#join(first + at, opener))
      this.#sockets.push(...(await this.#failure.guard(Promise.all(opened))))
      while (this.#started < this.#sockets.length) {
        if (Date.now() > deadline) throw new Error(`only ${this.#started} streams started`)
        await this.during(0.005)
      }
    }
  }

  async during(seconds: number): Promise<void> {
    await this.#failure.guard(sleep(seconds * 1000))
  }

  leave(): void {
    this.#left = true
    // A reset avoids the TIME_WAIT state: thousands of sockets in it would use up the ports.
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  async #join(at: number, opener: Opener): Promise<Socket> {
    let begun = false
    return opener(at, {
      stamp: (micros) => {
        if (!begun) this.#started++
        begun = true
        this.latencies.add(nowMicros() - micros)
      },
      failed: (error) => {
        if (!this.#left) this.#failure.reject(error)
      },
    })
  }
}
