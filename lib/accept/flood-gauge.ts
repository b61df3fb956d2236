// Tells an HTTP/2 client that works from one that only keeps us busy: it counts streams that were left before their answer,
// and bytes that brought neither a request nor anything of its body.

/** Streams a client may open and leave: so many at once, then at this rate. */
const LEFT_BURST = 500
const LEFT_PER_SECOND = 30

/** Bytes of frames that serve nothing: so many at once, then at this rate. */
const NOISE_BURST = 1_048_576
const NOISE_PER_SECOND = 65_536

export class FloodGauge {
  #left = LEFT_BURST
  #leftAt: number
  #noise = 0
  #noiseAt: number
  #came = 0
  #explained = 0

  constructor(now: number) {
    this.#leftAt = now
    this.#noiseAt = now
  }

  /** One more was left; true when it is one too many. */
  leave(now: number): boolean {
    const refilled = this.#left + ((now - this.#leftAt) / 1000) * LEFT_PER_SECOND
    this.#left = Math.min(LEFT_BURST, refilled) - 1
    this.#leftAt = now
    return this.#left < 0
  }

  /**
   * `came` and `explained` are bytes since the connection began, `held` what may lie unread; true when too many of them
   * have no reason.
   */
  hear(now: number, came: number, explained: number, held: number): boolean {
    const fresh = came - this.#came - (explained - this.#explained)
    const forgiven = ((now - this.#noiseAt) / 1000) * NOISE_PER_SECOND
    this.#noise = Math.max(0, this.#noise + fresh - forgiven)
    this.#noiseAt = now
    this.#came = came
    this.#explained = explained
    return this.#noise > NOISE_BURST + held
  }
}
