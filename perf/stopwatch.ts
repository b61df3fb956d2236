// The measured window of a load: warm up, then keep latencies between two edges.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Deferred } from './deferred.ts'
import { nowMicros } from './fixtures.ts'
import { Latencies } from './stats.ts'

/** What was seen in the measured window. Latencies in µs, ascending. */
export type Window = { seconds: number; answers: number; latencies: Float64Array }

export type Timing = {
  warmSeconds: number
  seconds: number
  /** Called at the window's two edges: the place to read the proxy's clocks. */
  edge: () => void
}

export class Stopwatch {
  readonly #latencies = new Latencies()
  #stage: 'warming' | 'measuring' | 'over' = 'warming'

  get isOver(): boolean {
    return this.#stage === 'over'
  }

  record(micros: number): void {
    if (this.#stage === 'measuring') this.#latencies.add(micros)
  }

  async run(timing: Timing, failure: Deferred): Promise<Window> {
    await failure.guard(sleep(timing.warmSeconds * 1000))
    this.#stage = 'measuring'
    timing.edge()
    const began = nowMicros()
    await failure.guard(sleep(timing.seconds * 1000))
    const seconds = (nowMicros() - began) / 1e6
    timing.edge()
    this.stop()
    return { seconds, answers: this.#latencies.count, latencies: this.#latencies.sorted() }
  }

  stop(): void {
    this.#stage = 'over'
  }
}
