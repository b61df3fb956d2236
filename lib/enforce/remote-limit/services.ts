// Every rate limit service in use: policies that name the same one share its connection.

import type { Endpoint } from '../../base/config/types.ts'
import type { Decisions } from '../../base/limit/decisions.ts'
import type { Labels } from '../../base/live/metrics.ts'
import type { Log } from '../../base/log/log.ts'
import { Pending } from '../../base/pending.ts'
import { RateLimitService } from './client.ts'

export class RateLimitServices {
  readonly #log: Log
  /** Also of those that were forgotten. */
  readonly #pending = new Pending()
  readonly #services = new Map<string, RateLimitService>()

  constructor(log: Log) {
    this.#log = log
  }

  of(endpoint: Endpoint): RateLimitService {
    const fresh = new RateLimitService(endpoint, this.#log, performance, this.#pending)
    const known = this.#services.get(fresh.label)
    if (known !== undefined) return known
    this.#services.set(fresh.label, fresh)
    return fresh
  }

  get decisions(): (readonly [Labels, Decisions])[] {
    return [...this.#services].map(([limit, { decisions }]) => [
      { owner: 'service', limit },
      decisions,
    ])
  }

  /** Forgets all but these; requests under way can still ask the others. */
  retain(services: ReadonlySet<RateLimitService>): void {
    for (const [label, service] of this.#services) {
      if (services.has(service)) continue
      this.#services.delete(label)
      service.close()
    }
  }

  /** Everything that was to be told has been: no call is under way. */
  whenTold(): Promise<void> {
    return this.#pending.whenNone()
  }

  close(): void {
    for (const service of this.#services.values()) service.close()
  }
}
