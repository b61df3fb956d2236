// Where the boxes of the map lie and how the lines between them run: four columns, a row for each route, backends beside
// those who use them. Pure: no box is measured, so what is on it is cut to fit.

import { INDENT, groupLine, linesFrom, linesOf, policiesId } from './lines.ts'
import type { Line, Rect } from './lines.ts'
import { routeId } from './model.ts'
import type { BackendBox, Graph, ListenerBox, RouteBox, Use } from './model.ts'
import { backendNotes, partsOf } from './words.ts'

/** `names`: every policy is a box; `counts`: one box says how many there are. */
export type PolicyForm = 'names' | 'counts'

export interface Layout {
  readonly width: number
  readonly height: number
  readonly rects: ReadonlyMap<string, Rect>
  readonly lines: readonly Line[]
  /** Left edges, for headings. */
  readonly columns: readonly [number, number, number, number]
}

/** Policies and parts of a backend that have a line of their own. */
export const MOST_LISTED = 6
/** Of text in a box. */
const LINE_HEIGHT = 17
/** Above and below the text of a box, its border included. */
const PADDING = 13
const ROW_GAP = 12
const GROUP_GAP = 28
/** Of the width; the rest lies between the columns. */
const SHARES = [0.18, 0.27, 0.2, 0.21] as const
/** More policies than these stand two beside each other, where a column is as wide as this. */
const MANY = 4
const TWO_ABREAST = 236

const heightOf = (lines: number): number => lines * LINE_HEIGHT + PADDING

/** Name, match and traffic; the first problem below them. */
const routeLines = ({ route }: RouteBox): number => 3 + Number(route.problems.length > 0)

const listenerLines = ({ listener }: ListenerBox): number =>
  2 + Number(listener.policies.length > 0)

function backendLines({ uses, problems }: BackendBox): number {
  const { backend } = uses[0]!
  const parts = partsOf(backend).length
  const listed = Math.min(parts, MOST_LISTED) + Number(parts > MOST_LISTED)
  return 1 + listed + Number(backendNotes(uses) !== '') + Number(problems.length > 0)
}

/** How many policies are beside each other, and in how many rows; the reason why one is wrong is below them. */
export function policyGrid(count: number, width: number): { across: number; rows: number } {
  const across = width >= TWO_ABREAST && count > MANY ? 2 : 1
  return { across, rows: Math.ceil(Math.min(count, MOST_LISTED + 1) / across) }
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
  const ways = { rects, through, beside: ({ to }: Use) => uses.get(to) ?? [] }
  for (const { routes } of graph.gateways.flatMap(({ listeners }) => listeners))
    for (const route of routes) lines.push(...linesOf(route, ways))
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

/** Of the backends that only this route uses, one above the other. */
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

/** Returns where the next one begins. */
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
  // Level with its first route.
  const beside = first === undefined ? null : rects.get(first.id)!
  const wish = beside === null ? 0 : beside.y + (beside.height - height) / 2
  const top = Math.max(placing.y, wish)
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

/** Each as near as it can be to the middle of those who use it. Returns where the last one ends. */
function placeBackends({ backends }: Graph, columns: Columns, rects: Map<string, Rect>): number {
  const boxes = backends.map((box) => {
    const height = heightOf(backendLines(box))
    const sum = box.uses.reduce(
      (total, { route }) => total + middleOf(rects.get(routeId(route.key))!),
      0,
    )
    return { id: box.id, height, wish: sum / box.uses.length - height / 2 }
  })
  const ordered = boxes.sort(
    (one, other) => one.wish + one.height / 2 - other.wish - other.height / 2,
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
 * Tops that keep the order and a gap and are as near to the wishes as can be: boxes that would overlap move as one, to the
 * mean of what they wish.
 */
export function spread(
  boxes: readonly { readonly wish: number; readonly height: number }[],
): number[] {
  const blocks: { wish: number; count: number; height: number }[] = []
  for (const { wish, height } of boxes) {
    let block = { wish, count: 1, height: height + ROW_GAP }
    for (let last = blocks.at(-1); last; last = blocks.at(-1)) {
      if (Math.max(last.wish, 0) + last.height <= block.wish) break
      blocks.pop()
      const count = last.count + block.count
      const sum = last.wish * last.count + (block.wish - last.height) * block.count
      block = { wish: sum / count, count, height: last.height + block.height }
    }
    blocks.push(block)
  }
  const tops: number[] = []
  for (const { wish, count } of blocks) {
    let y = Math.max(wish, 0)
    for (let left = count; left > 0; left--) {
      tops.push(Math.round(y))
      y += boxes[tops.length - 1]!.height + ROW_GAP
    }
  }
  return tops
}
