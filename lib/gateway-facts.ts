// What the page's server knows of the gateway, gathered from those who have it.

import type { Log } from './base/log/log.ts'
import { watching } from './base/trace/watching.ts'
import type { Gateway } from './gateway.ts'
import { pulseOf } from './live.ts'
import type { LiveSources } from './live.ts'
import type { Metrics } from './settle/metrics.ts'
import type { GatewayFacts } from './ui/gateway-facts.ts'

export interface FactSources extends LiveSources {
  readonly gateway: Gateway
  readonly metrics: Metrics
  readonly log: Log
}

export function factsOf(sources: FactSources): GatewayFacts {
  const { gateway, metrics, ports, groups, identity, limits, log, watchers } = sources
  return {
    log,
    watch: (source) => watching(watchers, source),
    totals: metrics.totals,
    pulse: () => pulseOf(ports.listeners),
    inForce: () => gateway.plan,
    readiness: () => gateway.readiness,
    listeners: () => ports.listeners.map(({ counts }) => counts),
    traffic: () => metrics.traffic,
    health: (backend) => gateway.plan.health.of(backend),
    keyFaults: (policies) => identity.faultsOf(policies),
    limits: () => limits.glance(),
    tightest: () => limits.tightest(),
    groups: () => groups.describe(performance.now()),
    children: () => groups.children,
  }
}
