// /api/runtime: what the process is, where it listens, and its traffic.

import { bindKey } from '../base/config/bind-key.ts'
import { addressText } from '../base/config/show.ts'
import type { Config, GatewayConfig } from '../base/config/types.ts'
import { someOf } from '../base/live/views.ts'
import type { ListenerCounts } from '../base/live/views.ts'
import { VERSION } from '../base/version.ts'
import type { ListenerState, RouteTraffic, Runtime } from './api.ts'
import type { GatewayFacts } from './gateway-facts.ts'

type More = Pick<Runtime, 'place' | 'samples' | 'isRefused' | 'workers'>

export function runtimeOf(facts: GatewayFacts, more: More): Runtime {
  const { place, samples, isRefused, workers } = more
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
    listeners: config.gateways.map((gateway) => listenerOf(gateway, listeners)),
    routes: someOf(busiest(config, facts.traffic()), (traffic) => traffic),
    samples,
    isRefused,
    workers,
  }
}

function listenerOf(gateway: GatewayConfig, all: readonly ListenerCounts[]): ListenerState {
  const { name, listeners } = gateway
  const own = ownOf(gateway, all)
  return {
    name,
    bind: bindText(gateway),
    protocol: listeners[0]?.protocol ?? 'HTTP',
    state: stateOf(gateway, all),
    open: own.reduce((sum, { open }) => sum + open, 0),
    accepted: own.reduce((sum, { accepted }) => sum + accepted, 0),
    routes: listeners.reduce((sum, { routes }) => sum + routes.length, 0),
  }
}

export function bindText({ address, port }: GatewayConfig): string {
  return addressText({ host: address, port })
}

/** A port that a reload closed and opened again is open, however many still leave the old one. */
export function stateOf(
  gateway: GatewayConfig,
  all: readonly ListenerCounts[],
): ListenerCounts['state'] {
  const states = ownOf(gateway, all).map(({ state }) => state)
  return states.find((state) => state === 'open') ?? states[0] ?? 'closed'
}

function ownOf({ port }: GatewayConfig, all: readonly ListenerCounts[]): ListenerCounts[] {
  return all.filter(({ bind }) => bind === bindKey(port))
}

/** Those with the most requests first; a listener stands for what none of its routes took. */
function busiest(config: Config, traffic: ReturnType<GatewayFacts['traffic']>): RouteTraffic[] {
  const listeners = config.gateways.flatMap((gateway) => gateway.listeners)
  const routes = listeners.flatMap((listener) => listener.routes.map(({ key }) => key))
  const others = listeners.map(({ key }) => key).filter((key) => traffic.has(key))
  return [...routes, ...others]
    .map((key) => trafficOf(key, traffic))
    .sort((one, other) => other.requests - one.requests)
}

export function trafficOf(key: string, traffic: ReturnType<GatewayFacts['traffic']>): RouteTraffic {
  const { requests = 0, errors = 0, refused = 0 } = traffic.get(key) ?? {}
  return { key, requests, errors, refused }
}
