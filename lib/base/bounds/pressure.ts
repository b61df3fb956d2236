// Whether the process holds as much as it may: from then on new requests wait outside, until there is some room again.

import { GatewayError } from '../errors.ts'
import { inFlight } from './in-flight.ts'

/** Of all that may be held, where new requests are taken again. */
const RELIEVED = 0.9

export class Pressure {
  readonly most: number
  readonly #relieved: number
  #state: 'low' | 'high' = 'low'

  constructor(most: number) {
    this.most = most
    this.#relieved = Math.floor(most * RELIEVED)
  }

  /** Asked for every request. */
  get isHigh(): boolean {
    const { bytes } = inFlight
    if (bytes < this.#relieved) this.#state = 'low'
    else if (bytes >= this.most) this.#state = 'high'
    return this.#state === 'high'
  }

  get fault(): GatewayError {
    return new GatewayError(
      'OVERLOADED',
      `too much is in flight: at most ${this.most} bytes are held (config.maxBytesInFlight): try again later`,
      { limit: ['maxBytesInFlight', this.most] },
    )
  }
}
