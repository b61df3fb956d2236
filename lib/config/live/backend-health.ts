// The health of each backend of a plan, for the page and the admin API: its pools and the providers in cooldown.

import type { BackendHealthView } from '../../core/runtime-views.ts'
import type { ConnectionPool } from '../../forward/http/pool.ts'
import type { ProviderCandidate } from '../../forward/llm/provider-catalogue.ts'

export class BackendHealth {
  /** By key of the backend. */
  readonly #pools = new Map<string, Set<ConnectionPool>>()
  readonly #candidates = new Map<string, ProviderCandidate[]>()

  addPool(backend: string, pool: ConnectionPool): ConnectionPool {
    const pools = this.#pools.get(backend)
    if (pools === undefined) this.#pools.set(backend, new Set([pool]))
    else pools.add(pool)
    return pool
  }

  addCandidate(backend: string, candidate: ProviderCandidate): ProviderCandidate {
    const candidates = this.#candidates.get(backend)
    if (candidates === undefined) this.#candidates.set(backend, [candidate])
    else candidates.push(candidate)
    return candidate
  }

  describe(backend: string): BackendHealthView {
    const pools = [...(this.#pools.get(backend) ?? [])]
    const cooldowns = (this.#candidates.get(backend) ?? []).flatMap(cooldownProblemsOf)
    const problems = [...pools.flatMap(poolProblemsOf), ...new Set(cooldowns)]
    return { pool: sumPools(pools), problems }
  }
}

function sumPools(pools: readonly ConnectionPool[]): BackendHealthView['pool'] {
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

function poolProblemsOf({ fault, origin: { label } }: ConnectionPool): string[] {
  return fault === null ? [] : [`cannot connect to ${label}: ${fault}`]
}

function cooldownProblemsOf({
  entry: { name },
  health: { cooldownLeft },
}: ProviderCandidate): string[] {
  if (cooldownLeft === 0) return []
  return [`provider '${name}' failed: cooldown, ${Math.ceil(cooldownLeft / 1000)} s left`]
}
