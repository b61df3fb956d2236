// Recent statistics per backend, for operators: number of requests, share of successful requests, and latency.

import type { Exchange } from '../core/exchange.ts'
import type { Outcome } from '../core/types.ts'

/** Weight of the newest request in the moving averages: about the last ten requests dominate. */
const NEWEST_WEIGHT = 0.1

/** Outcomes that are not caused by the backend. */
const UNRELATED_OUTCOMES: readonly Outcome[] = ['client_closed', 'client_error', 'idle', 'shutdown']

class BackendStatsRow {
  requests = 0
  /** From 0 to 1; null until a request has ended. */
  health: number | null = null
  latencyMs: number | null = null

  recordOutcome(isGood: boolean): void {
    this.health = movingAverage(this.health, isGood ? 1 : 0)
  }

  recordLatency(ms: number): void {
    this.latencyMs = movingAverage(this.latencyMs, ms)
  }
}

export class BackendStats {
  /** By backend key; only configured backends have a row. */
  readonly #rows = new Map<string, BackendStatsRow>()

  /** Counts a settled exchange. */
  count({
    choice: { backend },
    forwarding: { calledAt },
    response: { receivedAt, status },
    enforcement: { answeringPolicy },
    outcome,
  }: Exchange): void {
    // A backend policy may have sent the response instead of the backend.
    if (backend === null || answeringPolicy !== '') return
    let row = this.#rows.get(backend.name)
    if (row === undefined) this.#rows.set(backend.name, (row = new BackendStatsRow()))
    row.requests++
    if (receivedAt > 0) row.recordLatency(receivedAt - calledAt)
    if (!UNRELATED_OUTCOMES.includes(outcome))
      row.recordOutcome(outcome === 'complete' && status < 500)
  }

  /** Returns null for a backend without requests. */
  get(key: string): Readonly<Pick<BackendStatsRow, 'requests' | 'health' | 'latencyMs'>> | null {
    return this.#rows.get(key) ?? null
  }

  /** Removes backends that are no longer configured. */
  retain(keys: ReadonlySet<string>): void {
    for (const key of this.#rows.keys()) if (!keys.has(key)) this.#rows.delete(key)
  }
}

function movingAverage(average: number | null, value: number): number {
  return average === null ? value : average + NEWEST_WEIGHT * (value - average)
}
