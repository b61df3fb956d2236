// How each backend has done of late, for operators: what it was asked, how often that went well, and how fast.

import type { Exchange } from '../base/exchange.ts'
import type { Outcome } from '../base/types.ts'

/** What one more request counts against those before: some ten of them make up the picture. */
const SHARE = 0.1

/** Ends that say nothing about the backend. */
const OURS: readonly Outcome[] = ['client_closed', 'client_error', 'idle', 'shutdown']

class Row {
  requests = 0
  /** From 0 to 1; null until one has ended. */
  health: number | null = null
  latencyMs: number | null = null

  judge(isGood: boolean): void {
    this.health = mixed(this.health, isGood ? 1 : 0)
  }

  took(ms: number): void {
    this.latencyMs = mixed(this.latencyMs, ms)
  }
}

export class BackendStats {
  /** By key; only what is configured has one. */
  readonly #rows = new Map<string, Row>()

  /** Of an exchange that is settled. */
  count({ backend, asked, answered, answeredBy, status, outcome }: Exchange): void {
    // A policy of the backend's own may have answered in its place.
    if (backend === null || answeredBy !== '') return
    let row = this.#rows.get(backend.name)
    if (row === undefined) this.#rows.set(backend.name, (row = new Row()))
    row.requests++
    if (answered > 0) row.took(answered - asked)
    if (!OURS.includes(outcome)) row.judge(outcome === 'complete' && status < 500)
  }

  /** Null for one that nobody has asked yet. */
  of(key: string): Readonly<Pick<Row, 'requests' | 'health' | 'latencyMs'>> | null {
    return this.#rows.get(key) ?? null
  }

  /** Forgets those that are no longer configured. */
  retain(keys: ReadonlySet<string>): void {
    for (const key of this.#rows.keys()) if (!keys.has(key)) this.#rows.delete(key)
  }
}

function mixed(before: number | null, value: number): number {
  return before === null ? value : before + SHARE * (value - before)
}
