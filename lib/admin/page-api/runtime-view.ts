// /api/runtime: version, configuration, listeners and traffic of the gateway.

import { bindKeyOf } from '../../config/bind-key.ts'
import { formatAddress } from '../../config/show.ts'
import type { Config, GatewayConfig } from '../../config/config-types.ts'
import { limitList } from '../../core/runtime-views.ts'
import type { ListenerCounts } from '../../core/runtime-views.ts'
import { VERSION } from '../../core/version.ts'
import type { ListenerState, RouteTraffic, RuntimeView } from './page-api-types.ts'
import type { GatewayFacts } from './gateway-facts.ts'

type RuntimeExtras = Pick<RuntimeView, 'place' | 'samples' | 'isRefused' | 'workers'>

export function buildRuntimeView(facts: GatewayFacts, extras: RuntimeExtras): RuntimeView {
  const { place, samples, isRefused, workers } = extras
  const { config, generation, loadedAt } = facts.inForce()
  const listeners = facts.listeners()
  return {
    place,
    version: VERSION,
    node: process.version,
    startedAt: Math.round(performance.timeOrigin),
    readiness: facts.readiness(),
    generation,
    loadedAt: loadedAt.getTime(),
    file: config.file,
    listeners: config.gateways.map((gateway) => describeListener(gateway, listeners)),
    routes: limitList(listRouteTraffic(config, facts.traffic()), (traffic) => traffic),
    samples,
    isRefused,
    workers,
  }
}

function describeListener(
  gateway: GatewayConfig,
  counts: readonly ListenerCounts[],
): ListenerState {
  const { name, listeners } = gateway
  const gatewayCounts = countsOfGateway(gateway, counts)
  return {
    name,
    bind: formatBind(gateway),
    protocol: listeners[0]?.protocol ?? 'HTTP',
    state: portStateOf(gateway, counts),
    open: gatewayCounts.reduce((sum, { open }) => sum + open, 0),
    accepted: gatewayCounts.reduce((sum, { accepted }) => sum + accepted, 0),
    routes: listeners.reduce((sum, { routes }) => sum + routes.length, 0),
  }
}

export function formatBind({ address, port }: GatewayConfig): string {
  return formatAddress({ host: address, port })
}

/** A port that a reload closed and opened again is open, even while old connections drain. */
export function portStateOf(
  gateway: GatewayConfig,
  counts: readonly ListenerCounts[],
): ListenerCounts['state'] {
  const states = countsOfGateway(gateway, counts).map(({ state }) => state)
  return states.find((state) => state === 'open') ?? states[0] ?? 'closed'
}

function countsOfGateway(
  { port }: GatewayConfig,
  counts: readonly ListenerCounts[],
): ListenerCounts[] {
  return counts.filter(({ bind }) => bind === bindKeyOf(port))
}

/** Sorted by requests. The entry of a listener has the requests that matched none of its routes. */
function listRouteTraffic(
  config: Config,
  traffic: ReturnType<GatewayFacts['traffic']>,
): RouteTraffic[] {
  const listeners = config.gateways.flatMap((gateway) => gateway.listeners)
  const routeKeys = listeners.flatMap((listener) => listener.routes.map(({ key }) => key))
  const listenerKeys = listeners.map(({ key }) => key).filter((key) => traffic.has(key))
  return [...routeKeys, ...listenerKeys]
    .map((key) => routeTrafficOf(key, traffic))
    .sort((a, b) => b.requests - a.requests)
}

export function routeTrafficOf(
  key: string,
  traffic: ReturnType<GatewayFacts['traffic']>,
): RouteTraffic {
  const { requests = 0, errors = 0, refused = 0 } = traffic.get(key) ?? {}
  return { key, requests, errors, refused }
}
