// How the lines of the map run between its boxes. Pure.

import type { ListenerBox, RouteBox, Use } from './model.ts'

export interface Rect {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

type Rects = ReadonlyMap<string, Rect>

export interface Line {
  readonly id: string
  readonly from: string
  readonly to: string
  /** Of an SVG path. */
  readonly path: string
  /** Keys of the routes whose requests it carries. */
  readonly routes: readonly string[]
  /** Of those requests. */
  readonly share: number
  /** Where it ends. */
  readonly end: Place
}

type Place = readonly [x: number, y: number]

/** Of listeners under a gateway that has several. */
export const INDENT = 16
const CORNER = 8
const FAR = 300
/** Of the line of the busiest route, in pixels. */
const WIDEST = 6
const THINNEST = 1.25

/** Of the frame around a route's policies. */
export const policiesId = ({ route }: RouteBox): string => `policies ${route.key}`

export function linesFrom({ id, routes }: ListenerBox, rects: Rects): Line[] {
  const from = rects.get(id)!
  return routes.map(({ id: to, route }) => {
    const target = rects.get(to)!
    const start = [from.x + from.width, from.y + Math.min(from.height, target.height) / 2] as const
    const end = [target.x, target.y + target.height / 2] as const
    const path = elbow(start, end)
    return { id: `${id} > ${to}`, from: id, to, path, routes: [route.key], share: 1, end }
  })
}

/** Down the left side, from a gateway to one of its listeners. */
export function groupLine(id: string, box: ListenerBox, rects: Rects): Line {
  const [from, to] = [rects.get(id)!, rects.get(box.id)!]
  const [x, y] = [from.x + INDENT / 2, to.y + to.height / 2]
  const path = `M${x} ${from.y + from.height}V${y - 4}Q${x} ${y} ${x + 4} ${y}H${to.x}`
  const routes = box.routes.map(({ route }) => route.key)
  return { id: `${id} > ${box.id}`, from: id, to: box.id, path, routes, share: 1, end: [to.x, y] }
}

interface Ways {
  readonly rects: Rects
  /** Where the column of policies ends, for a route that has none. */
  readonly through: number
  /** Uses of the same backend as one, in the order of their routes. */
  readonly beside: (use: Use) => readonly Use[]
}

export function linesOf(box: RouteBox, ways: Ways): Line[] {
  const { id, route, uses } = box
  const own = ways.rects.get(id)!
  const frame = ways.rects.get(policiesId(box))
  const start = [own.x + own.width, own.y + own.height / 2] as const
  if (frame === undefined) return uses.map((use) => useLine(use, id, start, ways))
  const to = policiesId(box)
  const end = [frame.x, start[1]] as const
  const path = `M${start.join(' ')}H${frame.x}`
  const routes = [route.key]
  const first: Line = { id: `${id} > ${to}`, from: id, to, path, routes, share: 1, end }
  const behind = [frame.x + frame.width, start[1]] as const
  return [first, ...uses.map((use) => useLine(use, to, behind, ways))]
}

function useLine(use: Use, from: string, start: Place, { rects, through, beside }: Ways): Line {
  const { to, route, backend, share } = use
  const { x, y, height } = rects.get(to)!
  const all = beside(use)
  // Lines of several routes end side by side, not on top of each other.
  const several = Math.round(y + (height * (all.indexOf(use) + 1)) / (all.length + 1))
  const end = [x, all.length > 1 ? several : clamp(start[1], y + 10, y + height - 10)] as const
  // Level as long as boxes of other routes are above and below.
  const path = `M${start.join(' ')}H${through}${curve([through, start[1]], end)}`
  return { id: `${from} > ${backend.key}`, from, to, path, routes: [route.key], share, end }
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}

function curve([x, y]: Place, [toX, toY]: Place): string {
  const bend = Math.round((toX - x) * 0.5)
  return `C${x + bend} ${y} ${toX - bend} ${toY} ${toX} ${toY}`
}

/** Right, down or up, right: what goes to many shares one trunk. */
function elbow([x, y]: Place, [toX, toY]: Place): string {
  const trunk = Math.round(x + (toX - x) / 2)
  if (Math.abs(toY - y) < 1) return `M${x} ${y}H${toX}`
  const corner = Math.min(CORNER, Math.abs(toY - y) / 2)
  const turn = toY > y ? corner : -corner
  return (
    `M${x} ${y}H${trunk - corner}Q${trunk} ${y} ${trunk} ${y + turn}` +
    `V${toY - turn}Q${trunk} ${toY} ${trunk + corner} ${toY}H${toX}`
  )
}

/** Labels of backends that lie so far above or below that one does not see both. */
export function farFrom({ id, uses }: RouteBox, rects: Rects): string[] {
  const own = rects.get(id)!
  const far = uses.filter(({ to }) => Math.abs(rects.get(to)!.y - own.y) > FAR)
  return [...new Set(far.map(({ backend }) => backend.label))]
}

/** A busy route is a strong line; one of a thousandth of its traffic is still told from an idle one. */
export function strength(requests: number, most: number): number {
  const share = Math.log1p(requests) / Math.log1p(Math.max(most, requests, 1))
  return Math.round((THINNEST + share * (WIDEST - THINNEST)) * 10) / 10
}
