// What the map is made of, before anything is drawn: the routes that fit a search, the boxes they need, and backends of
// several routes as one box. Pure.

import type {
  BackendNode,
  GatewayNode,
  ListenerNode,
  MapView,
  PolicyNode,
  RouteNode,
} from '../../../admin/page-api/page-api-types.ts'
import { partsOf } from './words.ts'

/** Routes that are drawn at first; more are drawn when asked for. */
export const FIRST_ROUTES = 40
/** A browser stays quick with these. */
export const MOST_ROUTES = 400
/** Problems that are listed above the map. */
export const MOST_PROBLEMS = 100

export type Choice = 'all' | 'problems' | 'errors' | 'traffic'

export interface Filter {
  /** Each word must be found, in any case. */
  readonly words: string
  readonly choice: Choice
  readonly most: number
  /** Key of a route that is drawn whatever else holds. */
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

/** Of one backend by one route. */
export interface Use {
  /** Id of the backend's box. */
  readonly to: string
  readonly route: RouteNode
  readonly backend: BackendNode
  /** Of the route's requests, by weight; 0 to 1. */
  readonly share: number
}

export interface BackendBox {
  readonly id: string
  readonly uses: readonly Use[]
  readonly problems: readonly string[]
}

export interface Graph {
  readonly gateways: readonly GatewayBox[]
  /** In the order in which routes first name them. */
  readonly backends: readonly BackendBox[]
  readonly drawn: number
  /** Routes that fit the filter. */
  readonly fitting: number
  readonly routes: number
}

export interface FoundProblem {
  readonly reason: string
  /** Who has it, in words. */
  readonly where: string
  readonly route: string | null
  /** Of the box; null for a resource that is attached to nothing. */
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
    isPlain || (isChosen(route, filter.choice) && hasWords(words, gateway, listener, route))
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
    return { id: gatewayId(gateway), gateway, listeners: listeners.filter(isWanted(isPlain)) }
  })
  const kept = gateways.filter((gateway) => gateway.listeners.length > 0 || isPlain)
  return { gateways: kept, backends: backendBoxes(kept), drawn, fitting, routes }
}

/** A search shows what it found; without one, listeners that have no route are shown, too. */
function isWanted(isPlain: boolean): (box: ListenerBox) => boolean {
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

/** The backends that no route above names: there they stand when boxes are read one by one. */
export function firstNamed(
  { route, uses }: RouteBox,
  backends: ReadonlyMap<string, BackendBox>,
): BackendBox[] {
  const own = new Set(uses.map(({ to }) => backends.get(to)!))
  return [...own].filter((box) => box.uses[0]!.route === route)
}

function isChosen(route: RouteNode, choice: Choice): boolean {
  if (choice === 'problems') return routeProblems(route).length > 0
  if (choice === 'errors') return route.traffic.errors > 0
  if (choice === 'traffic') return route.traffic.requests > 0
  return true
}

function hasWords(
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

/** Its own and those of its policies. */
export function allProblems(node: {
  readonly problems: readonly string[]
  readonly policies: readonly PolicyNode[]
}): string[] {
  return [...new Set([...node.problems, ...node.policies.flatMap(({ problems }) => problems)])]
}

/** All that are on the way of its requests. */
function routeProblems(route: RouteNode): string[] {
  return [...new Set([...allProblems(route), ...route.backends.flatMap(allProblems)])]
}

/** Every problem once, with the box to look at. */
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
