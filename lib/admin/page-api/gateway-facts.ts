// The facts about the gateway that the read API needs; the gateway or the supervisor provides them.

import type { TokenPolicies } from '../../config/policy-types.ts'
import type { Config } from '../../config/config-types.ts'
import type { LimitStatus } from '../../config/limit-status.ts'
import type { RequestCounts } from '../../core/traffic-totals.ts'
import type {
  BackendHealthView,
  ChildProcessView,
  McpGroupView,
  ListenerCounts,
} from '../../core/runtime-views.ts'
import type { Log } from '../../core/log.ts'
import type { StartTrace } from '../../trace/trace-watchers.ts'
import type { MachineReadings, SampleSource } from './traffic-samples.ts'

export interface ConfigInForce {
  readonly config: Config
  readonly generation: number
  readonly loadedAt: Date
}

export interface GatewayFacts extends SampleSource {
  /** Of all processes together, if there are several. */
  readonly machine?: MachineReadings
  readonly log: Log
  /** Admits a client that wants to trace a request. */
  readonly watch: StartTrace
  readonly inForce: () => ConfigInForce
  readonly readiness: () => 'starting' | 'ready' | 'draining'
  readonly listeners: () => readonly ListenerCounts[]
  /** By key of the route; by key of the listener for requests that matched no route. */
  readonly traffic: () => ReadonlyMap<string, Readonly<RequestCounts>>
  /** By key of the backend. */
  readonly health: (backend: string) => BackendHealthView
  /** Why signing keys to verify tokens are missing. */
  readonly keyFaults: (policies: TokenPolicies) => readonly string[]
  /** Lazy, as only some of many limits are shown. */
  readonly limits: () => Iterable<LimitStatus>
  /** The remaining quota in the tightest bucket of each limit. */
  readonly tightest: () => Iterable<{ readonly id: string; readonly remaining: number }>
  readonly groups: () => readonly McpGroupView[]
  readonly children: () => Iterable<ChildProcessView>
}
