// Buffers for what must outlive the shared read buffer until its write is done. They go round: a fresh one for
// every 64 KiB of a large body would grow the process by tens of megabytes before the collector comes.

import { READ_BUFFER_BYTES } from '../bounds/limits.ts'

/** Kept for the next write; more than these exist only while more writes are under way. */
const MAX_SPARE = 64

export class Copies {
  readonly #spare: Buffer[] = []

  /** A copy of `bytes`, at most one read's worth, and what to call when it is no longer needed. */
  lend(bytes: Buffer): { copy: Buffer; done: () => void } {
    const whole = this.#spare.pop() ?? Buffer.allocUnsafeSlow(READ_BUFFER_BYTES)
    bytes.copy(whole)
    return {
      copy: whole.subarray(0, bytes.length),
      done: () => {
        if (this.#spare.length < MAX_SPARE) this.#spare.push(whole)
      },
    }
  }
}
