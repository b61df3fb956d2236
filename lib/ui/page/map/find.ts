// Finding a box of the map: by its name, and the one that lies beside another. Pure.

import type { BackendBox, GatewayBox, Graph, ListenerBox, PolicyBox, RouteBox } from './model.ts'
import { policiesId } from './lines.ts'
import type { Rect } from './lines.ts'

export type Opened =
  | { readonly kind: 'gateway'; readonly box: GatewayBox }
  | { readonly kind: 'listener'; readonly box: ListenerBox }
  /** `policies`: opened by the box that only counts them. */
  | { readonly kind: 'route' | 'policies'; readonly box: RouteBox }
  | { readonly kind: 'policy'; readonly box: PolicyBox; readonly route: RouteBox }
  | { readonly kind: 'backend'; readonly box: BackendBox }

/** Null when it is not drawn, or not any more. */
export function findBox({ gateways, backends }: Graph, id: string): Opened | null {
  for (const gateway of gateways) {
    if (gateway.id === id) return { kind: 'gateway', box: gateway }
    for (const listener of gateway.listeners) {
      if (listener.id === id) return { kind: 'listener', box: listener }
      for (const route of listener.routes) {
        const found = inRoute(route, id)
        if (found !== null) return found
      }
    }
  }
  const box = backends.find((backend) => backend.id === id)
  return box === undefined ? null : { kind: 'backend', box }
}

function inRoute(route: RouteBox, id: string): Opened | null {
  if (route.id === id) return { kind: 'route', box: route }
  if (policiesId(route) === id) return { kind: 'policies', box: route }
  const box = route.policies.find((policy) => policy.id === id)
  return box === undefined ? null : { kind: 'policy', box, route }
}

const ARROWS = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
} as const

/** What lies aside counts as this much farther away. */
const ASIDE = 3

/** Index of the rectangle that an arrow key leads to; null for another key, and where there is none. */
export function besideOf(key: string, from: Rect, all: readonly Rect[]): number | null {
  if (!Object.hasOwn(ARROWS, key)) return null
  const [right, down] = ARROWS[key as keyof typeof ARROWS]
  let best: number | null = null
  let least = Infinity
  all.forEach((rect, index) => {
    const [x, y] = [centre(rect).x - centre(from).x, centre(rect).y - centre(from).y]
    const ahead = right === 0 ? y * down : x * right
    const room = right === 0 ? rect.height : rect.width
    // What overlaps lies beside, not ahead.
    if (ahead < Math.min(room, right === 0 ? from.height : from.width) / 2) return
    const distance = ahead + ASIDE * Math.abs(right === 0 ? x : y)
    if (distance >= least) return
    least = distance
    best = index
  })
  return best
}

function centre({ x, y, width, height }: Rect): { x: number; y: number } {
  return { x: x + width / 2, y: y + height / 2 }
}
