// Who is called for each backend of a plan, and how they are, for whoever looks at it.

import type { HealthView } from '../base/live/views.ts'
import type { Pool } from '../forward/http/pool.ts'
import type { Candidate } from '../forward/llm/candidate.ts'

export class BackendHealth {
  /** By key of the backend. */
  readonly #pools = new Map<string, Set<Pool>>()
  readonly #candidates = new Map<string, Candidate[]>()

  addPool(backend: string, pool: Pool): Pool {
    const pools = this.#pools.get(backend)
    if (pools === undefined) this.#pools.set(backend, new Set([pool]))
    else pools.add(pool)
    return pool
  }

  addCandidate(backend: string, candidate: Candidate): Candidate {
    const candidates = this.#candidates.get(backend)
    if (candidates === undefined) this.#candidates.set(backend, [candidate])
    else candidates.push(candidate)
    return candidate
  }

  of(backend: string): HealthView {
    const pools = [...(this.#pools.get(backend) ?? [])]
    const resting = (this.#candidates.get(backend) ?? []).flatMap(restOf)
    const problems = [...pools.flatMap(faultOf), ...new Set(resting)]
    return { pool: sumOf(pools), problems }
  }
}

function sumOf(pools: readonly Pool[]): HealthView['pool'] {
  if (pools.length === 0) return null
  const sum = { open: 0, idle: 0, waiting: 0 }
  for (const pool of pools) {
    const { open, idle, waiting } = pool.describe()
    sum.open += open
    sum.idle += idle
    sum.waiting += waiting
  }
  return sum
}

function faultOf({ fault, origin: { label } }: Pool): string[] {
  return fault === null ? [] : [`cannot connect to ${label}: ${fault}`]
}

function restOf({ entry: { name }, health: { restsFor } }: Candidate): string[] {
  if (restsFor === 0) return []
  return [`provider '${name}' failed, and is left alone for ${Math.ceil(restsFor / 1000)} s`]
}
