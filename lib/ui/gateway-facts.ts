// What the page's server knows of the gateway, part by part; whoever joins the two brings it.

import type { TokenPolicies } from '../base/config/auth-types.ts'
import type { Config } from '../base/config/types.ts'
import type { LimitStatus } from '../base/limit/status.ts'
import type { Counts } from '../base/live/totals.ts'
import type { HealthView, ChildView, GroupView, ListenerCounts } from '../base/live/views.ts'
import type { Log } from '../base/log/log.ts'
import type { Watch } from '../base/trace/watching.ts'
import type { Machine, SampleSource } from './sampler.ts'

export interface InForce {
  readonly config: Config
  readonly generation: number
  readonly loadedAt: Date
}

export interface GatewayFacts extends SampleSource {
  /** Of all processes, where there are several. */
  readonly machine?: Machine
  readonly log: Log
  /** For somebody who wants to see a request. */
  readonly watch: Watch
  readonly inForce: () => InForce
  readonly readiness: () => 'starting' | 'ready' | 'draining'
  readonly listeners: () => readonly ListenerCounts[]
  /** By key of the route; of the listener, for what no route took. */
  readonly traffic: () => ReadonlyMap<string, Readonly<Counts>>
  /** By key of the backend. */
  readonly health: (backend: string) => HealthView
  /** Why there are no keys to check tokens by. */
  readonly keyFaults: (policies: TokenPolicies) => readonly string[]
  /** One after the other; of many not all are asked for. */
  readonly limits: () => Iterable<LimitStatus>
  /** What is left of the tightest bucket of each. */
  readonly tightest: () => Iterable<{ readonly id: string; readonly remaining: number }>
  readonly groups: () => readonly GroupView[]
  readonly children: () => Iterable<ChildView>
}
