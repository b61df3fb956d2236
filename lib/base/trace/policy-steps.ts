// One policy after the other on a request that is watched: what each had to say, and whether it changed the request.

import type { PolicyResult } from './events.ts'

export class PolicySteps {
  /** When the one that is asked now was asked. */
  since = 0
  /** Its own words, if it has any. */
  said: PolicyResult | null = null
  readonly #look: () => object
  /** The request as it was before, written out. */
  #before = ''

  constructor(look: () => object) {
    this.#look = look
  }

  begin(): void {
    this.#before = JSON.stringify(this.#look())
    this.since = performance.now()
    this.said = null
  }

  /** `status` is that of its answer, or null. */
  end(status: number | null): PolicyResult {
    const { said } = this
    const snapshot = this.#changed()
    if (status !== null) return { type: 'apply', details: `answered ${status}`, snapshot }
    if (said === null) return { type: 'apply', details: 'passed', snapshot }
    return said.type === 'skip' ? said : { ...said, snapshot }
  }

  #changed(): object | null {
    const state = this.#look()
    return JSON.stringify(state) === this.#before ? null : state
  }
}
