// What was refused because a bound was reached: counted by limit. Where it is the process that has no room, and not one
// client that asks too much, the log tells when that begins and when it is over, and not each time.

import { startInterval } from './scheduling.ts'
import type { StartInterval } from './scheduling.ts'
import type { Log } from './log.ts'

/** Each limit by the last word of its key, or one of its own where no key moves it: the key, and whether the log tells of it. */
const LIMITS = {
  maxConnections: ['frontendPolicies.http.maxConnections', 'told'],
  maxConnectionsPerAddress: ['frontendPolicies.http.maxConnectionsPerAddress', 'told'],
  descriptors: ['ulimit -n', 'told'],
  maxHeadBytes: ['frontendPolicies.http.maxHeadBytes', 'counted'],
  http1MaxHeaders: ['frontendPolicies.http.http1MaxHeaders', 'counted'],
  maxBodyBytes: ['frontendPolicies.http.maxBodyBytes', 'counted'],
  maxBytesInFlight: ['config.maxBytesInFlight', 'told'],
  workers: ['config.workers', 'told'],
  maxSessions: ['config.mcp.maxSessions', 'told'],
  maxSessionsPerClient: ['config.mcp.maxSessionsPerClient', 'told'],
  maxChildren: ['config.mcp.maxChildren', 'told'],
  maxChildrenPerClient: ['config.mcp.maxChildrenPerClient', 'told'],
  maxRequestBytes: ['config.mcp.maxRequestBytes', 'counted'],
  maxReadTogether: ['config.mcp.maxReadTogether', 'told'],
  maxWatchers: ['config.trace.maxWatchers', 'counted'],
  maxReaders: ['config.ui.maxReaders', 'counted'],
  adminConnections: [undefined, 'told'],
  sessionCalls: [undefined, 'counted'],
  passwordChecks: [undefined, 'told'],
  providerCalls: [undefined, 'told'],
  poolMaxWaiting: ['config.backend.poolMaxWaiting', 'told'],
  maxHeldBytes: ['config.llm.maxHeldBytes', 'counted'],
  maxHeldTogether: ['config.llm.maxHeldTogether', 'told'],
} as const satisfies Record<string, readonly [key: string | undefined, telling: 'told' | 'counted']>

export type LimitName = keyof typeof LIMITS

/** Nothing refused for so long: it is over. */
const QUIET_MS = 10_000

/** One time of refusing: how many there were when it began, and when it was last looked at. */
interface RefusalEpisode {
  readonly began: number
  seen: number
}

export class RefusalCounter {
  readonly #log: Log | null
  readonly #every: StartInterval
  readonly #counts = new Map<LimitName, number>()
  readonly #episodes = new Map<LimitName, RefusalEpisode>()
  #stopLooking: (() => void) | null = null

  constructor(log: Log | null = null, timer: StartInterval = startInterval) {
    this.#log = log
    this.#every = timer
    for (const limit of Object.keys(LIMITS) as LimitName[]) this.#counts.set(limit, 0)
  }

  /** Of all limits, those that refused nothing included. */
  get counts(): ReadonlyMap<LimitName, number> {
    return this.#counts
  }

  /** `most` is what the limit allows. */
  count(limit: LimitName, most: number): void {
    const count = this.#counts.get(limit)!
    this.#counts.set(limit, count + 1)
    const [key, telling] = LIMITS[limit]
    if (telling === 'counted' || this.#episodes.has(limit)) return
    this.#episodes.set(limit, { began: count, seen: count })
    this.#log?.write('warn', 'gateway', 'limit reached', ['limit', limit, 'most', most, 'key', key])
    this.#stopLooking ??= this.#every(QUIET_MS, () => this.#look())
  }

  close(): void {
    this.#stopLooking?.()
    this.#stopLooking = null
  }

  #look(): void {
    for (const [limit, episode] of this.#episodes) {
      const count = this.#counts.get(limit)!
      const isQuiet = count === episode.seen
      episode.seen = count
      if (!isQuiet) continue
      this.#episodes.delete(limit)
      const refused = count - episode.began
      this.#log?.write('info', 'gateway', 'limit no longer reached', [
        'limit',
        limit,
        'refused',
        refused,
      ])
    }
    if (this.#episodes.size === 0) this.close()
  }
}
