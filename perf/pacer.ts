// A timer finer than Node's 1 ms: a worker sleeps, wakes and posts a tick.
import { Worker } from 'node:worker_threads'
import { join } from 'node:path'

/** Cells of the shared array: the period in µs (0 = stopped), and whether a tick is still unread. */
export const PERIOD = 0
export const PENDING = 1

export class Pacer {
  readonly #cells = new Int32Array(new SharedArrayBuffer(8))
  readonly #worker: Worker

  constructor(tick: () => void) {
    const file = join(import.meta.dirname, 'pacer-worker.js')
    this.#worker = new Worker(file, { workerData: this.#cells })
    this.#worker.on('message', () => {
      Atomics.store(this.#cells, PENDING, 0)
      tick()
    })
  }

  /** Ticks every so many microseconds from now on; 0 stops. */
  every(micros: number): void {
    Atomics.store(this.#cells, PERIOD, Math.round(micros))
    Atomics.notify(this.#cells, PERIOD)
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }
}
