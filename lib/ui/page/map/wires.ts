// The lines of the map: as strong as the traffic since the start, coloured by that of the last seconds.

import { html } from '../view.ts'
import type { VNode } from '../view.ts'
import type { Layout } from './layout.ts'
import { strength } from './lines.ts'
import type { Line } from './lines.ts'
import type { Graph, RouteBox } from './model.ts'
import { errorShare, some, sumOf } from './words.ts'
import type { Pace } from './words.ts'
import { shareText } from '../parts/words.ts'
import type { RouteTraffic } from '../../../admin/page-api/page-api-types.ts'

/** From this share of errors on, a line is drawn as a bad one. */
const BAD_SHARE = 0.01

interface WiresProps {
  readonly layout: Layout
  readonly graph: Graph
  readonly paces: ReadonlyMap<string, Pace>
  /** The box whose way is brought out. */
  readonly near: string | null
}

export function Wires({ layout, graph, paces, near }: WiresProps): VNode {
  const boxes = graph.gateways.flatMap(({ listeners }) => listeners).flatMap(({ routes }) => routes)
  const traffic = new Map(boxes.map(({ route }) => [route.key, route.traffic]))
  const most = Math.max(1, ...boxes.map(({ route }) => route.traffic.requests))
  const onWay = near === null ? new Set<string>() : routesThrough(near, layout, boxes)
  const wires = layout.lines.map((line) => {
    const sum = sumOf(line.routes.map((key) => traffic.get(key)!))
    return { line, sum, words: wordsOf(line, { sum, paces, onWay }) }
  })
  // What matters most is drawn last: on a trunk that many share, it stays seen.
  wires.sort((one, other) => one.words.length - other.words.length)
  return html`
    <svg
      width=${layout.width}
      height=${layout.height}
      viewBox=${`0 0 ${layout.width} ${layout.height}`}
      aria-hidden="true"
    >
      ${wires.map(
        ({ line, sum, words }) => html`
          <path
            key=${line.id}
            class=${words.join(' ')}
            d=${line.path}
            stroke-width=${strength(sum.requests * line.share, most)}
          >
            <title>${some(sum.requests, 'request')}, ${shareText(errorShare(sum))} errors</title>
          </path>
        `,
      )}
      ${layout.lines.map(
        ({ id, share, end: [x, y] }) =>
          share < 1 &&
          html`<text key=${id} class="share" x=${x - 5} y=${y - 9}>${shareText(share)}</text>`,
      )}
    </svg>
  `
}

interface Seen {
  readonly sum: RouteTraffic
  readonly paces: ReadonlyMap<string, Pace>
  readonly onWay: ReadonlySet<string>
}

function wordsOf({ routes }: Line, { sum, paces, onWay }: Seen): string[] {
  const recent = routes.flatMap((key) => paces.get(key) ?? [])
  const words = ['wire']
  if (recent.length > 0) words.push('live')
  if (errorShare(sum) >= BAD_SHARE || recent.some(({ errors }) => errors > 0)) words.push('failing')
  if (routes.some((key) => onWay.has(key))) words.push('near')
  return words
}

function routesThrough(id: string, layout: Layout, boxes: readonly RouteBox[]): Set<string> {
  const found = new Set<string>()
  for (const { from, to, routes } of layout.lines)
    if (from === id || to === id) for (const key of routes) found.add(key)
  for (const { route, policies } of boxes)
    if (policies.some((policy) => policy.id === id)) found.add(route.key)
  return found
}
