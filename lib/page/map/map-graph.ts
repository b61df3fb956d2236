// The configuration as a graph of boxes, and how boxes are found and filtered. Draws nothing.

import type {
  BackendNode,
  GatewayNode,
  ListenerNode,
  MapView,
  PolicyNode,
  RouteNode,
} from '../../admin/page-api/page-api-types.ts'
import { partsOf } from './map-texts.ts'
import type { Rect } from './map-layout.ts'

/** Routes drawn at first; a button draws more. */
export const FIRST_ROUTES = 40
/** More would make browsers slow. */
export const MAX_ROUTES = 400
/** Problems listed above the map. */
export const MAX_PROBLEMS = 100

export type Choice = 'all' | 'problems' | 'errors' | 'traffic'

export interface Filter {
  /** Each word must occur, ignoring case. */
  readonly words: string
  readonly choice: Choice
  readonly most: number
  /** Key of a route that is always drawn. */
  readonly keep: string | null
}

export interface ListenerBox {
  readonly id: string
  readonly gateway: GatewayNode
  readonly listener: ListenerNode
  readonly routes: readonly RouteBox[]
}

export interface GatewayBox {
  readonly id: string
  readonly gateway: GatewayNode
  /** A gateway of one listener is drawn as that listener. */
  readonly listeners: readonly ListenerBox[]
}

export interface RouteBox {
  readonly id: string
  readonly route: RouteNode
  readonly policies: readonly PolicyBox[]
  readonly uses: readonly Use[]
}

export interface PolicyBox {
  readonly id: string
  readonly policy: PolicyNode
}

/** The use of one backend by one route. */
export interface Use {
  /** Id of the backend's box. */
  readonly to: string
  readonly route: RouteNode
  readonly backend: BackendNode
  /** Share of the route's requests, by weight; 0 to 1. */
  readonly share: number
}

export interface BackendBox {
  readonly id: string
  readonly uses: readonly Use[]
  readonly problems: readonly string[]
}

export interface Graph {
  readonly gateways: readonly GatewayBox[]
  /** In the order in which routes first use them. */
  readonly backends: readonly BackendBox[]
  readonly drawn: number
  /** Routes that match the filter. */
  readonly fitting: number
  readonly routes: number
}

export interface FoundProblem {
  readonly reason: string
  /** Name of the box or resource with the problem. */
  readonly where: string
  readonly route: string | null
  /** Id of the box; null for a resource without a target. */
  readonly id: string | null
}

const gatewayId = ({ name, bind }: GatewayNode): string => `gateway ${name} ${bind}`
const listenerId = ({ key }: ListenerNode): string => `listener ${key}`
export const routeId = (key: string): string => `route ${key}`
/** Null for a box of another kind. */
export const keyOf = (id: string): string | null => (id.startsWith('route ') ? id.slice(6) : null)
const policyId = (owner: string, index: number): string => `policy ${owner} ${index}`
const backendId = ({ kind, label }: BackendNode): string => `backend ${kind} ${label}`

export function graphOf(view: MapView, filter: Filter): Graph {
  const words = filter.words.toLowerCase().split(/\s+/).filter(Boolean)
  const isPlain = words.length === 0 && filter.choice === 'all'
  const fits = (gateway: GatewayNode, listener: ListenerNode, route: RouteNode): boolean =>
    isPlain ||
    (matchesChoice(route, filter.choice) && matchesSearch(words, gateway, listener, route))
  let fitting = 0
  let drawn = 0
  let routes = 0
  const gateways = view.gateways.map((gateway): GatewayBox => {
    const listeners = gateway.listeners.map((listener): ListenerBox => {
      routes += listener.routes.length
      const shown = listener.routes.filter((route) => {
        const isKept = route.key === filter.keep
        const isFitting = fits(gateway, listener, route)
        if (isFitting) fitting++
        if (!isKept && (!isFitting || drawn >= filter.most)) return false
        drawn++
        return true
      })
      return { id: listenerId(listener), gateway, listener, routes: shown.map(routeBox) }
    })
    return { id: gatewayId(gateway), gateway, listeners: listeners.filter(isShown(isPlain)) }
  })
  const kept = gateways.filter((gateway) => gateway.listeners.length > 0 || isPlain)
  return { gateways: kept, backends: backendBoxes(kept), drawn, fitting, routes }
}

/** A search shows its matches only; without one, listeners without routes are shown too. */
function isShown(isPlain: boolean): (box: ListenerBox) => boolean {
  return ({ listener, routes }) => routes.length > 0 || (isPlain && listener.routes.length === 0)
}

function routeBox(route: RouteNode): RouteBox {
  const sum = route.backends.reduce((total, { weight }) => total + weight, 0)
  return {
    id: routeId(route.key),
    route,
    policies: route.policies.map((policy, index) => ({ id: policyId(route.key, index), policy })),
    uses: route.backends.map((backend) => ({
      to: backendId(backend),
      route,
      backend,
      share: sum > 0 ? backend.weight / sum : 0,
    })),
  }
}

function backendBoxes(gateways: readonly GatewayBox[]): BackendBox[] {
  const uses = new Map<string, Use[]>()
  for (const { routes } of gateways.flatMap(({ listeners }) => listeners))
    for (const use of routes.flatMap((route) => route.uses)) {
      const known = uses.get(use.to)
      if (known === undefined) uses.set(use.to, [use])
      else known.push(use)
    }
  return [...uses].map(([id, all]) => ({
    id,
    uses: all,
    problems: [...new Set(all.flatMap(({ backend }) => allProblems(backend)))],
  }))
}

/** Backends that no earlier route uses: in a list, each backend appears under its first route. */
export function backendsFirstUsed(
  { route, uses }: RouteBox,
  backends: ReadonlyMap<string, BackendBox>,
): BackendBox[] {
  const own = new Set(uses.map(({ to }) => backends.get(to)!))
  return [...own].filter((box) => box.uses[0]!.route === route)
}

function matchesChoice(route: RouteNode, choice: Choice): boolean {
  if (choice === 'problems') return routeProblems(route).length > 0
  if (choice === 'errors') return route.traffic.errors > 0
  if (choice === 'traffic') return route.traffic.requests > 0
  return true
}

function matchesSearch(
  words: readonly string[],
  gateway: GatewayNode,
  listener: ListenerNode,
  route: RouteNode,
): boolean {
  if (words.length === 0) return true
  const policies = [...route.policies, ...route.backends.flatMap((backend) => backend.policies)]
  const text = [
    ...[gateway.name, gateway.bind, listener.name, listener.hostname, route.name, route.key],
    ...[...route.hostnames, ...route.matches, route.place ?? ''],
    ...policies.flatMap(({ kind, from }) => [kind, from ?? '']),
    ...route.backends.flatMap((backend) => [
      ...[backend.kind, backend.label],
      ...partsOf(backend).flatMap(({ name, note }) => [name, note]),
    ]),
    ...routeProblems(route),
  ]
  const all = text.join('\n').toLowerCase()
  return words.every((word) => all.includes(word))
}

/** Its own problems and those of its policies. */
export function allProblems(node: {
  readonly problems: readonly string[]
  readonly policies: readonly PolicyNode[]
}): string[] {
  return [...new Set([...node.problems, ...node.policies.flatMap(({ problems }) => problems)])]
}

/** Problems of all boxes that its requests pass. */
function routeProblems(route: RouteNode): string[] {
  return [...new Set([...allProblems(route), ...route.backends.flatMap(allProblems)])]
}

/** Every problem once, with the id of its box. */
export function problemsOf(view: MapView): FoundProblem[] {
  const found: FoundProblem[] = []
  const add = (problem: FoundProblem): void => {
    if (!found.some(({ reason, where }) => reason === problem.reason && where === problem.where))
      found.push(problem)
  }
  for (const listener of view.gateways.flatMap(({ listeners }) => listeners)) {
    for (const { kind, problems } of listener.policies)
      for (const reason of problems)
        add({ reason, where: `${listener.key}: ${kind}`, route: null, id: listenerId(listener) })
    for (const route of listener.routes) for (const problem of problemsOfRoute(route)) add(problem)
  }
  for (const reason of view.problems) add({ reason, where: '', route: null, id: null })
  return found
}

function problemsOfRoute(route: RouteNode): FoundProblem[] {
  const at = (id: string, where: string) => (reason: string) => ({
    ...{ reason, where, id },
    route: route.key,
  })
  return [
    ...route.problems.map(at(routeId(route.key), route.name)),
    ...route.policies.flatMap(({ kind, problems }, index) =>
      problems.map(at(policyId(route.key, index), `${route.name}: ${kind}`)),
    ),
    ...route.backends.flatMap((backend) =>
      allProblems(backend).map(at(backendId(backend), `${route.name}: ${backend.label}`)),
    ),
  ]
}

export type Opened =
  | { readonly kind: 'gateway'; readonly box: GatewayBox }
  | { readonly kind: 'listener'; readonly box: ListenerBox }
  /** `policies`: opened by the box that shows their number only. */
  | { readonly kind: 'route' | 'policies'; readonly box: RouteBox }
  | { readonly kind: 'policy'; readonly box: PolicyBox; readonly route: RouteBox }
  | { readonly kind: 'backend'; readonly box: BackendBox }

/** Null when the box is not drawn. */
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

/** Sideways distance counts this many times as much. */
const SIDEWAYS_FACTOR = 3

/** Index of the rectangle that an arrow key moves to; null for another key, or where there is none. */
export function neighbourOf(key: string, from: Rect, all: readonly Rect[]): number | null {
  if (!Object.hasOwn(ARROWS, key)) return null
  const [right, down] = ARROWS[key as keyof typeof ARROWS]
  let best: number | null = null
  let least = Infinity
  all.forEach((rect, index) => {
    const [x, y] = [centre(rect).x - centre(from).x, centre(rect).y - centre(from).y]
    const ahead = right === 0 ? y * down : x * right
    const room = right === 0 ? rect.height : rect.width
    // A rectangle that overlaps is not ahead.
    if (ahead < Math.min(room, right === 0 ? from.height : from.width) / 2) return
    const distance = ahead + SIDEWAYS_FACTOR * Math.abs(right === 0 ? x : y)
    if (distance >= least) return
    least = distance
    best = index
  })
  return best
}

function centre({ x, y, width, height }: Rect): { x: number; y: number } {
  return { x: x + width / 2, y: y + height / 2 }
}

/** Padding of the frame around a route's policies. */
export const policiesId = ({ route }: RouteBox): string => `policies ${route.key}`
