// Builds maps for specs, with simple defaults.

import type {
  BackendNode,
  GatewayNode,
  ListenerNode,
  MapView,
  PolicyNode,
  RouteNode,
} from '../../../lib/admin/page-api/page-api-types.ts'

export function policy(kind: string, more: Partial<PolicyNode> = {}): PolicyNode {
  return { kind, from: null, config: {}, problems: [], ...more }
}

export function backend(label: string, more: Partial<BackendNode> = {}): BackendNode {
  const plain = { key: label, kind: 'host', weight: 1, policies: [], config: {} } as const
  return { ...plain, label, pool: null, problems: [], ...more }
}

export function route(name: string, more: Partial<RouteNode> = {}): RouteNode {
  const lists = { hostnames: [], matches: ['/*'], policies: [], backends: [], problems: [] }
  const traffic = { key: name, requests: 0, errors: 0, refused: 0 }
  return { key: name, name, place: null, ...lists, more: 0, traffic, ...more }
}

export function listener(
  routes: readonly RouteNode[],
  more: Partial<ListenerNode> = {},
): ListenerNode {
  const plain = { key: 'l', name: 'l', hostname: '', protocol: 'HTTP', place: null } as const
  return { ...plain, policies: [], routes, ...more }
}

export function gateway(listeners: readonly ListenerNode[], name = 'default'): GatewayNode {
  return { name, bind: '127.0.0.1:3000', place: null, state: 'open', listeners }
}

export function map(...gateways: readonly GatewayNode[]): MapView {
  return { generation: 1, gateways, problems: [], more: 0 }
}

/** Everything on one listener. */
export function mapOf(...routes: readonly RouteNode[]): MapView {
  return map(gateway([listener(routes)]))
}
