// Everything that runs now, gathered from those who have it.

import type { Listener } from './accept/listener.ts'
import type { Budget } from './base/bounds/budget.ts'
import type { Phase } from './base/exchange.ts'
import type { HeldView, Live, Pulse } from './base/live/views.ts'
import type { Watchers } from './base/trace/watchers.ts'
import type { Standing } from './plan/plan.ts'
import type { Ports } from './ports.ts'

export interface LiveSources extends Pick<
  Standing,
  'pools' | 'groups' | 'identity' | 'limits' | 'held'
> {
  readonly ports: Ports
  readonly watchers: Watchers
}

export function liveOf(sources: LiveSources): Live {
  const { ports, pools, groups, identity, limits, held, watchers } = sources
  const now = performance.now()
  const { listeners } = ports
  return {
    listeners: listeners.map((listener) => listener.describe(now)),
    past: ports.past,
    ...requestsOf(listeners),
    pools: pools.describe(),
    groups: groups.describe(now),
    children: [...groups.children],
    limits: limits.counts,
    tokens: identity.tokens,
    held: { llm: heldOf(held), mcp: heldOf(groups.bodies) },
    watchers: watchers.count,
  }
}

export function pulseOf(listeners: readonly Listener[]): Pulse {
  const { requests, streams } = requestsOf(listeners)
  let connections = 0
  let bytesIn = 0
  let bytesOut = 0
  for (const { counts } of listeners) {
    connections += counts.open
    bytesIn += counts.bytesIn
    bytesOut += counts.bytesOut
  }
  const open = requests.choose + requests.forward + requests.relay
  return { connections, requests: open, streams, bytesIn, bytesOut }
}

/** All of them are looked at, and none is kept. */
function requestsOf(listeners: readonly Listener[]): Pick<Live, 'requests' | 'streams'> {
  const requests: Record<Phase, number> = { choose: 0, forward: 0, relay: 0, settled: 0 }
  let streams = 0
  for (const { connections } of listeners)
    for (const { exchanges } of connections.members)
      for (const exchange of exchanges) {
        requests[exchange.phase]++
        if (exchange.isStream && exchange.phase === 'relay') streams++
      }
  return { requests, streams }
}

function heldOf({ used, most }: Budget): HeldView {
  return { used, most }
}
