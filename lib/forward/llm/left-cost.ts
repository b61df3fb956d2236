// What a request costs whose answer nobody stayed to hear, told by what has become of it when it is settled.

import type { Cost } from '../../base/types.ts'
import type { TryBody } from './prompt/try-body.ts'

export class LeftCost implements Cost {
  readonly output = 0
  readonly #body: TryBody
  readonly #prompt: () => number

  /** `prompt`: what it is taken for, by what has come of it. */
  constructor(body: TryBody, prompt: () => number) {
    this.#body = body
    this.#prompt = prompt
  }

  /** A provider that never had all of it has not begun. */
  get input(): number {
    return this.#body.isSent ? this.#prompt() : 0
  }

  get basis(): Cost['basis'] {
    return this.input > 0 ? 'estimated' : 'counted'
  }
}
