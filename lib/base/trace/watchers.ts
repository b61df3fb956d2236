// Who waits to see a request, in the order they came; each sees one.

import { MAX_WATCHERS } from '../bounds/limits.ts'
import type { Refusals } from '../bounds/refusals.ts'
import type { Expression } from '../cel/compile.ts'
import { View } from '../cel/view.ts'
import type { Exchange } from '../exchange.ts'
import type { TraceTerms } from './terms.ts'
import { TraceRecorder } from './trace.ts'
import type { TraceReader } from './trace.ts'

interface Waiting {
  readonly reader: TraceReader
  /** Which request it waits for; null for any. */
  readonly wanted: Expression | null
}

export class Watchers {
  readonly #terms: () => TraceTerms
  readonly #waiting: Waiting[] = []
  readonly #most: number
  readonly #refusals: Refusals | null

  constructor(terms: () => TraceTerms, most = MAX_WATCHERS, refusals: Refusals | null = null) {
    this.#terms = terms
    this.#most = most
    this.#refusals = refusals
  }

  get count(): number {
    return this.#waiting.length
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#most
  }

  /** What one more is told where there are too many. */
  refuse(): string {
    this.#refusals?.count('maxWatchers', this.#most)
    return `too many watchers: ${this.#most} wait already (config.trace.maxWatchers)`
  }

  /** What takes it back; null when there are too many already. */
  add(reader: TraceReader, wanted: Expression | null): (() => void) | null {
    if (this.isFull) return null
    const waiting = { reader, wanted }
    this.#waiting.push(waiting)
    return () => {
      const at = this.#waiting.indexOf(waiting)
      if (at >= 0) this.#waiting.splice(at, 1)
    }
  }

  /** For the first who waits for such a request; called only when somebody does. */
  watch(exchange: Exchange): void {
    const at = this.#waiting.findIndex(
      ({ wanted }) => wanted === null || wanted.holds(new View(exchange)),
    )
    if (at < 0) return
    const [{ reader }] = this.#waiting.splice(at, 1) as [Waiting]
    const trace = new TraceRecorder(exchange, reader, this.#terms())
    exchange.trace = trace
    trace.started()
  }
}
