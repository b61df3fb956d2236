// How each backend has done of late, for operators: what it was asked, how often that went well, and how fast.

import { NO_COST } from '../core/exchange.ts'
import type { Exchange } from '../core/exchange.ts'
import type { Outcome } from '../core/types.ts'

/** What one more request counts against those before: some ten of them make up the picture. */
const SHARE = 0.1

/** Ends that say nothing about the backend. */
const OURS: readonly Outcome[] = ['client_closed', 'client_error', 'idle', 'shutdown']

class BackendStatsRow {
  requests = 0
  /** From 0 to 1; null until one has ended. */
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
  /** By key; only what is configured has one. */
  readonly #rows = new Map<string, BackendStatsRow>()

  /** Of an exchange that is settled. */
  count({
    choice: { backend },
    forwarding: { calledAt: asked },
    response: { receivedAt: answered, status },
    enforcement: { answeringPolicy: answeredBy },
    outcome,
  }: Exchange): void {
    // A policy of the backend's own may have answered in its place.
    if (backend === null || answeredBy !== '') return
    let row = this.#rows.get(backend.name)
    if (row === undefined) this.#rows.set(backend.name, (row = new BackendStatsRow()))
    row.requests++
    if (answered > 0) row.recordLatency(answered - asked)
    if (!OURS.includes(outcome)) row.recordOutcome(outcome === 'complete' && status < 500)
  }

  /** Null for one that nobody has asked yet. */
  get(key: string): Readonly<Pick<BackendStatsRow, 'requests' | 'health' | 'latencyMs'>> | null {
    return this.#rows.get(key) ?? null
  }

  /** Forgets those that are no longer configured. */
  retain(keys: ReadonlySet<string>): void {
    for (const key of this.#rows.keys()) if (!keys.has(key)) this.#rows.delete(key)
  }
}

function movingAverage(before: number | null, value: number): number {
  return before === null ? value : before + SHARE * (value - before)
}

// The end of every charge: whatever nobody has settled is settled with what is known.

export function settleCharges({
  enforcement: { charges },
  forwarding: { tokenCost: spent },
}: Exchange): void {
  for (const charge of charges) charge.settle(spent ?? NO_COST)
}
