// Where the boxes and lines of the map lie. Draws nothing.

import { policiesId, routeId } from './map-graph.ts'
import type { BackendBox, Graph, ListenerBox, RouteBox, Use } from './map-graph.ts'
import { backendNotes, partsOf } from './map-texts.ts'

/** `names`: every policy is a box; `counts`: one box says how many there are. */
export type PolicyForm = 'names' | 'counts'

export interface Layout {
  readonly width: number
  readonly height: number
  readonly rects: ReadonlyMap<string, Rect>
  readonly lines: readonly Line[]
  /** Left edges of the columns, for the headings. */
  readonly columns: readonly [number, number, number, number]
}

/** Policies, and parts of a backend, that get a line each. */
export const MAX_LISTED = 6
/** Line height of text in a box. */
const LINE_HEIGHT = 17
/** Padding above and below the text of a box, with its border. */
const PADDING = 13
const ROW_GAP = 12
const GROUP_GAP = 28
/** Shares of the width; the rest is space between the columns. */
const SHARES = [0.18, 0.27, 0.2, 0.21] as const
/** With more policies than this, and a column of at least this width, they are in two columns. */
const MANY_POLICIES = 4
const TWO_COLUMN_WIDTH = 236

const heightOf = (lines: number): number => lines * LINE_HEIGHT + PADDING

/** Lines for name, match and traffic, and one for the first problem. */
const routeLines = ({ route }: RouteBox): number => 3 + Number(route.problems.length > 0)

const listenerLines = ({ listener }: ListenerBox): number =>
  2 + Number(listener.policies.length > 0)

function backendLines({ uses, problems }: BackendBox): number {
  const { backend } = uses[0]!
  const parts = partsOf(backend).length
  const listed = Math.min(parts, MAX_LISTED) + Number(parts > MAX_LISTED)
  return 1 + listed + Number(backendNotes(uses) !== '') + Number(problems.length > 0)
}

/** The number of columns and rows of a route's policies; a problem takes one more line below. */
export function policyGrid(count: number, width: number): { across: number; rows: number } {
  const across = width >= TWO_COLUMN_WIDTH && count > MANY_POLICIES ? 2 : 1
  return { across, rows: Math.ceil(Math.min(count, MAX_LISTED + 1) / across) }
}

const POLICY_HEIGHT = 24

interface Columns {
  readonly x: readonly [number, number, number, number]
  readonly width: readonly [number, number, number, number]
}

function columnsOf(width: number): Columns {
  const gap = (width * (1 - SHARES.reduce((sum, share) => sum + share, 0))) / 3
  const widths = SHARES.map((share) => Math.floor(share * width))
  const [a = 0, b = 0, c = 0, d = 0] = widths
  const at = (left: number, gaps: number): number => Math.round(left + gap * gaps)
  return { x: [0, at(a, 1), at(a + b, 2), at(a + b + c, 3)], width: [a, b, c, d] }
}

export function layoutOf(graph: Graph, width: number, form: PolicyForm): Layout {
  const columns = columnsOf(width)
  const alone = aloneHeights(graph)
  const rects = new Map<string, Rect>()
  const lines: Line[] = []
  let y = 0
  for (const { id, listeners } of graph.gateways) {
    const isGroup = listeners.length !== 1
    if (isGroup) {
      rects.set(id, { x: 0, y, width: columns.width[0], height: heightOf(2) })
      y += heightOf(2) + ROW_GAP
    }
    for (const listener of listeners) {
      const indent = isGroup ? INDENT : 0
      y = placeListener(listener, { columns, rects, y, indent, form, alone })
      lines.push(...linesFrom(listener, rects))
      if (isGroup) lines.push(groupLine(id, listener, rects))
    }
    y += GROUP_GAP - ROW_GAP
  }
  const bottom = placeBackends(graph, columns, rects)
  const uses = new Map(graph.backends.map((box) => [box.id, box.uses]))
  const through = columns.x[2] + columns.width[2]
  const context = { rects, through, usesOfSame: ({ to }: Use) => uses.get(to) ?? [] }
  for (const { routes } of graph.gateways.flatMap(({ listeners }) => listeners))
    for (const route of routes) lines.push(...linesOf(route, context))
  return {
    width,
    height: Math.max(y - GROUP_GAP, bottom, 0) + 2,
    rects,
    lines,
    columns: columns.x,
  }
}

interface Placing {
  readonly columns: Columns
  readonly rects: Map<string, Rect>
  readonly y: number
  readonly indent: number
  readonly form: PolicyForm
  readonly alone: ReadonlyMap<string, number>
}

/** Height of the backends that only this route uses, stacked. */
function aloneHeights({ backends }: Graph): Map<string, number> {
  const heights = new Map<string, number>()
  for (const box of backends) {
    const [{ route } = { route: null }, ...others] = box.uses
    if (route === null || others.some((other) => other.route !== route)) continue
    const above = heights.get(route.key)
    const own = heightOf(backendLines(box))
    heights.set(route.key, above === undefined ? own : above + ROW_GAP + own)
  }
  return heights
}

/** Returns the top of the next one. */
function placeListener(box: ListenerBox, placing: Placing): number {
  const { columns, rects, indent, form, alone } = placing
  const height = heightOf(listenerLines(box))
  const [first] = box.routes
  let { y } = placing
  for (const route of box.routes) {
    const policies = policyRect(route, columns, form)
    const own = heightOf(routeLines(route))
    const row = Math.max(own, policies.height, alone.get(route.route.key) ?? 0)
    rects.set(route.id, {
      x: columns.x[1],
      y: y + (row - own) / 2,
      width: columns.width[1],
      height: own,
    })
    if (policies.height > 0)
      rects.set(policiesId(route), { ...policies, y: y + (row - policies.height) / 2 })
    y += row + ROW_GAP
  }
  // At the height of its first route.
  const firstRect = first === undefined ? null : rects.get(first.id)!
  const wished = firstRect === null ? 0 : firstRect.y + (firstRect.height - height) / 2
  const top = Math.max(placing.y, wished)
  rects.set(box.id, { x: indent, y: top, width: columns.width[0] - indent, height })
  return Math.max(y, top + height + ROW_GAP)
}

function policyRect({ policies }: RouteBox, columns: Columns, form: PolicyForm): Rect {
  const [x, width] = [columns.x[2], columns.width[2]]
  if (policies.length === 0) return { x, y: 0, width, height: 0 }
  const rows = form === 'counts' ? 1 : policyGrid(policies.length, width).rows
  const reason = Number(policies.some(({ policy }) => policy.problems.length > 0))
  return { x, y: 0, width, height: rows * POLICY_HEIGHT + reason * LINE_HEIGHT + 10 }
}

const middleOf = ({ y, height }: Rect): number => y + height / 2

/** Places each backend as near as possible to the middle of its routes. Returns the bottom of the last one. */
function placeBackends({ backends }: Graph, columns: Columns, rects: Map<string, Rect>): number {
  const boxes = backends.map((box) => {
    const height = heightOf(backendLines(box))
    const sum = box.uses.reduce(
      (total, { route }) => total + middleOf(rects.get(routeId(route.key))!),
      0,
    )
    return { id: box.id, height, wished: sum / box.uses.length - height / 2 }
  })
  const ordered = boxes.sort(
    (one, other) => one.wished + one.height / 2 - other.wished - other.height / 2,
  )
  const tops = spread(ordered)
  let bottom = 0
  ordered.forEach(({ id, height }, index) => {
    const y = tops[index]!
    rects.set(id, { x: columns.x[3], y, width: columns.width[3], height })
    bottom = Math.max(bottom, y + height)
  })
  return bottom
}

/**
 * Tops that keep the order and the gap, as near as possible to the wished ones: boxes that would overlap move together, * to the mean of their wishes.
 */
export function spread(
  boxes: readonly { readonly wished: number; readonly height: number }[],
): number[] {
  const blocks: { wished: number; count: number; height: number }[] = []
  for (const { wished, height } of boxes) {
    let block = { wished, count: 1, height: height + ROW_GAP }
    for (let last = blocks.at(-1); last; last = blocks.at(-1)) {
      if (Math.max(last.wished, 0) + last.height <= block.wished) break
      blocks.pop()
      const count = last.count + block.count
      const sum = last.wished * last.count + (block.wished - last.height) * block.count
      block = { wished: sum / count, count, height: last.height + block.height }
    }
    blocks.push(block)
  }
  const tops: number[] = []
  for (const { wished, count } of blocks) {
    let y = Math.max(wished, 0)
    for (let left = count; left > 0; left--) {
      tops.push(Math.round(y))
      y += boxes[tops.length - 1]!.height + ROW_GAP
    }
  }
  return tops
}

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
  /** The `d` of an SVG path. */
  readonly path: string
  /** Keys of the routes whose requests pass this line. */
  readonly routes: readonly string[]
  /** Share of those requests. */
  readonly share: number
  /** End point of the line. */
  readonly end: Place
}

type Place = readonly [x: number, y: number]

/** Indentation of listeners under a gateway with several. */
const INDENT = 16
const CORNER = 8
const FAR_DISTANCE = 300
/** Width of the line of the busiest route, in pixels. */
const MAX_LINE_WIDTH = 6
const MIN_LINE_WIDTH = 1.25

function linesFrom({ id, routes }: ListenerBox, rects: Rects): Line[] {
  const from = rects.get(id)!
  return routes.map(({ id: to, route }) => {
    const target = rects.get(to)!
    const start = [from.x + from.width, from.y + Math.min(from.height, target.height) / 2] as const
    const end = [target.x, target.y + target.height / 2] as const
    const path = elbow(start, end)
    return { id: `${id} > ${to}`, from: id, to, path, routes: [route.key], share: 1, end }
  })
}

/** A line down the left side, from a gateway to one of its listeners. */
function groupLine(id: string, box: ListenerBox, rects: Rects): Line {
  const [from, to] = [rects.get(id)!, rects.get(box.id)!]
  const [x, y] = [from.x + INDENT / 2, to.y + to.height / 2]
  const path = `M${x} ${from.y + from.height}V${y - 4}Q${x} ${y} ${x + 4} ${y}H${to.x}`
  const routes = box.routes.map(({ route }) => route.key)
  return { id: `${id} > ${box.id}`, from: id, to: box.id, path, routes, share: 1, end: [to.x, y] }
}

interface LineContext {
  readonly rects: Rects
  /** Right edge of the policy column, for a route without policies. */
  readonly through: number
  /** All uses of the same backend, in the order of the routes. */
  readonly usesOfSame: (use: Use) => readonly Use[]
}

function linesOf(box: RouteBox, context: LineContext): Line[] {
  const { id, route, uses } = box
  const own = context.rects.get(id)!
  const frame = context.rects.get(policiesId(box))
  const start = [own.x + own.width, own.y + own.height / 2] as const
  if (frame === undefined) return uses.map((use) => useLine(use, id, start, context))
  const to = policiesId(box)
  const end = [frame.x, start[1]] as const
  const path = `M${start.join(' ')}H${frame.x}`
  const routes = [route.key]
  const first: Line = { id: `${id} > ${to}`, from: id, to, path, routes, share: 1, end }
  const frameEnd = [frame.x + frame.width, start[1]] as const
  return [first, ...uses.map((use) => useLine(use, to, frameEnd, context))]
}

function useLine(
  use: Use,
  from: string,
  start: Place,
  { rects, through, usesOfSame }: LineContext,
): Line {
  const { to, route, backend, share } = use
  const { x, y, height } = rects.get(to)!
  const all = usesOfSame(use)
  // Lines of several routes end next to each other, not at the same point.
  const several = Math.round(y + (height * (all.indexOf(use) + 1)) / (all.length + 1))
  const end = [x, all.length > 1 ? several : clamp(start[1], y + 10, y + height - 10)] as const
  // Horizontal while boxes of other routes are above and below.
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

/** Right, then down or up, then right: lines to many targets share one trunk. */
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

/** Labels of backends so far above or below that both are not visible at once. */
export function farFrom({ id, uses }: RouteBox, rects: Rects): string[] {
  const own = rects.get(id)!
  const far = uses.filter(({ to }) => Math.abs(rects.get(to)!.y - own.y) > FAR_DISTANCE)
  return [...new Set(far.map(({ backend }) => backend.label))]
}

/** A busy route has a thick line; a thousandth of its traffic still differs from an idle route. */
export function lineWidthOf(requests: number, most: number): number {
  const share = Math.log1p(requests) / Math.log1p(Math.max(most, requests, 1))
  return Math.round((MIN_LINE_WIDTH + share * (MAX_LINE_WIDTH - MIN_LINE_WIDTH)) * 10) / 10
}
