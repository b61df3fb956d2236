// What the page's server knows of the gateway, part by part; whoever joins the two brings it.

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
import type { DecideWatch } from '../../trace/trace-watchers.ts'
import type { MachineReadings, SampleSource } from './traffic-samples.ts'

export interface ConfigInForce {
  readonly config: Config
  readonly generation: number
  readonly loadedAt: Date
}

export interface GatewayFacts extends SampleSource {
  /** Of all processes, where there are several. */
  readonly machine?: MachineReadings
  readonly log: Log
  /** For somebody who wants to see a request. */
  readonly watch: DecideWatch
  readonly inForce: () => ConfigInForce
  readonly readiness: () => 'starting' | 'ready' | 'draining'
  readonly listeners: () => readonly ListenerCounts[]
  /** By key of the route; of the listener, for what no route took. */
  readonly traffic: () => ReadonlyMap<string, Readonly<RequestCounts>>
  /** By key of the backend. */
  readonly health: (backend: string) => BackendHealthView
  /** Why there are no keys to check tokens by. */
  readonly keyFaults: (policies: TokenPolicies) => readonly string[]
  /** One after the other; of many not all are asked for. */
  readonly limits: () => Iterable<LimitStatus>
  /** What is left of the tightest bucket of each. */
  readonly tightest: () => Iterable<{ readonly id: string; readonly remaining: number }>
  readonly groups: () => readonly McpGroupView[]
  readonly children: () => Iterable<ChildProcessView>
}
