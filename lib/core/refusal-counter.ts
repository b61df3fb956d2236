// Counts refusals by the limit that was reached. Where the process, not a single client, is at its limit, the log
// reports the start and the end of an episode of refusals, not each refusal.

import { startInterval } from './scheduling.ts'
import type { StartInterval } from './scheduling.ts'
import type { Log } from './log.ts'

/** Each limit, named by the last part of its config key or, without a key, by itself: its key, and whether it is logged. */
const LIMITS = {
  maxConnections: ['frontendPolicies.http.maxConnections', 'logged'],
  maxConnectionsPerAddress: ['frontendPolicies.http.maxConnectionsPerAddress', 'logged'],
  descriptors: ['ulimit -n', 'logged'],
  maxHeadBytes: ['frontendPolicies.http.maxHeadBytes', 'counted'],
  http1MaxHeaders: ['frontendPolicies.http.http1MaxHeaders', 'counted'],
  maxBodyBytes: ['frontendPolicies.http.maxBodyBytes', 'counted'],
  maxBytesInFlight: ['config.maxBytesInFlight', 'logged'],
  workers: ['config.workers', 'logged'],
  maxSessions: ['config.mcp.maxSessions', 'logged'],
  maxSessionsPerClient: ['config.mcp.maxSessionsPerClient', 'logged'],
  maxChildren: ['config.mcp.maxChildren', 'logged'],
  maxChildrenPerClient: ['config.mcp.maxChildrenPerClient', 'logged'],
  maxRequestBytes: ['config.mcp.maxRequestBytes', 'counted'],
  maxReadTogether: ['config.mcp.maxReadTogether', 'logged'],
  maxWatchers: ['config.trace.maxWatchers', 'counted'],
  maxReaders: ['config.ui.maxReaders', 'counted'],
  adminConnections: [undefined, 'logged'],
  sessionCalls: [undefined, 'counted'],
  passwordChecks: [undefined, 'logged'],
  providerCalls: [undefined, 'logged'],
  poolMaxWaiting: ['config.backend.poolMaxWaiting', 'logged'],
  maxHeldBytes: ['config.llm.maxHeldBytes', 'counted'],
  maxHeldTogether: ['config.llm.maxHeldTogether', 'logged'],
} as const satisfies Record<
  string,
  readonly [key: string | undefined, reporting: 'logged' | 'counted']
>

export type LimitName = keyof typeof LIMITS

/** An episode ends after so long without a refusal. */
const QUIET_MS = 10_000

/** The count when the episode began, and at the latest check. */
interface RefusalEpisode {
  readonly countAtStart: number
  lastCount: number
}

export class RefusalCounter {
  readonly #log: Log | null
  readonly #startInterval: StartInterval
  readonly #counts = new Map<LimitName, number>()
  readonly #episodes = new Map<LimitName, RefusalEpisode>()
  #stopChecking: (() => void) | null = null

  constructor(log: Log | null = null, timer: StartInterval = startInterval) {
    this.#log = log
    this.#startInterval = timer
    for (const limit of Object.keys(LIMITS) as LimitName[]) this.#counts.set(limit, 0)
  }

  /** The counts of all limits, including those that are 0. */
  get counts(): ReadonlyMap<LimitName, number> {
    return this.#counts
  }

  /** `max` is the value of the limit. */
  count(limit: LimitName, max: number): void {
    const count = this.#counts.get(limit)!
    this.#counts.set(limit, count + 1)
    const [key, reporting] = LIMITS[limit]
    if (reporting === 'counted' || this.#episodes.has(limit)) return
    this.#episodes.set(limit, { countAtStart: count, lastCount: count })
    this.#log?.write('warn', 'gateway', 'limit reached', ['limit', limit, 'most', max, 'key', key])
    this.#stopChecking ??= this.#startInterval(QUIET_MS, () => this.#endQuietEpisodes())
  }

  close(): void {
    this.#stopChecking?.()
    this.#stopChecking = null
  }

  #endQuietEpisodes(): void {
    for (const [limit, episode] of this.#episodes) {
      const count = this.#counts.get(limit)!
      const isQuiet = count === episode.lastCount
      episode.lastCount = count
      if (!isQuiet) continue
      this.#episodes.delete(limit)
      const refused = count - episode.countAtStart
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
