// Draws the boxes and connecting lines of the map.

import { backendsFirstUsed, policiesId } from './map-graph.ts'
import {
  BackendFace,
  GatewayFace,
  GraphBox,
  ListenerFace,
  listenerIsBad,
  PolicyFrame,
  RouteFace,
  routeIsBad,
} from './map-boxes.ts'
import type { RouteTraffic } from '../../admin/page-api/page-api-types.ts'
import { html, useMemo, useState } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import { shareText } from '../parts/number-text.ts'
import { farFrom, layoutOf, lineWidthOf } from './map-layout.ts'
import type { Layout, Line, PolicyForm, Rect } from './map-layout.ts'
import type { BackendBox, GatewayBox, Graph, ListenerBox, RouteBox } from './map-graph.ts'
import { countedText, errorShare, sumOf } from './map-texts.ts'
import type { RouteRate } from './map-texts.ts'

export interface DrawProps {
  readonly graph: Graph
  readonly form: PolicyForm
  readonly rates: ReadonlyMap<string, RouteRate>
  readonly opened: string | null
  readonly open: (id: string) => void
}

const TITLES = ['Gateways', 'Routes', 'Policies', 'Backends']

export function GraphDrawing(props: DrawProps & { readonly width: number }): VNode {
  const { graph, form, rates, opened, open, width } = props
  const [near, setNear] = useState<string | null>(null)
  const layout = useMemo(() => layoutOf(graph, width, form), [graph, form, width])
  // Boxes are not rendered again while the pointer moves: there may be hundreds.
  const boxes = useMemo(() => {
    const backends = new Map(graph.backends.map((box) => [box.id, box]))
    const parts = { layout, opened, open, form, rates, backends }
    return graph.gateways.map(
      (gateway) => html`<${GatewayPart} key=${gateway.id} box=${gateway} ...${parts} />`,
    )
  }, [layout, opened, open, rates])
  const size = { width: `${width}px`, height: `${layout.height}px` }
  return html`
    <div>
      <div class="map-titles dim" style=${{ width: `${width}px` }} aria-hidden="true">
        ${TITLES.map((title, index) => html`<span style=${{ left: `${layout.columns[index]}px` }}>${title}</span>`)}
      </div>
      <div
        class="map-sheet"
        style=${size}
        onPointerOver=${(event: Event) => setNear(boxAt(event))}
        onPointerLeave=${() => setNear(null)}
      >
        <${Wires} layout=${layout} graph=${graph} rates=${rates} near=${near ?? opened} />
        ${boxes}
      </div>
    </div>
  `
}

function boxAt(event: Event): string | null {
  return (event.target as Element).closest<HTMLElement>('[data-box]')?.dataset['box'] ?? null
}

interface Parts extends Omit<DrawProps, 'graph'> {
  readonly layout: Layout
  readonly backends: ReadonlyMap<string, BackendBox>
}

function GatewayPart(props: Parts & { readonly box: GatewayBox }): VNode {
  const { box, layout, opened, open } = props
  const rect = layout.rects.get(box.id)
  const isAlone = rect === undefined
  const bad = box.listeners.some(listenerIsBad)
  return html`
    <div role="group" aria-label=${`Gateway ${box.gateway.name}`}>
      ${
        rect &&
        html`
          <${GraphBox}
            id=${box.id}
            what="Gateway"
            kind="gateway"
            isBad=${bad}
            isOpen=${opened === box.id}
            open=${open}
            style=${styleOf(rect)}
          >
            <${GatewayFace} box=${box} />
          <//>
        `
      }
      ${box.listeners.map((one) => ListenerPart({ ...props, box: one, place: isAlone ? 'alone' : 'under' }))}
    </div>
  `
}

function ListenerPart(
  props: Parts & { readonly box: ListenerBox; readonly place: 'alone' | 'under' },
): unknown[] {
  const { box, layout, opened, open, place } = props
  return [
    html`
      <${GraphBox}
        key=${box.id}
        id=${box.id}
        what=${place === 'alone' ? 'Gateway' : 'Listener'}
        kind="listener"
        isBad=${listenerIsBad(box)}
        isOpen=${opened === box.id}
        open=${open}
        style=${styleOf(layout.rects.get(box.id)!)}
      >
        <${ListenerFace} box=${box} place=${place} />
      <//>
    `,
    ...box.routes.flatMap((route) => RoutePart({ ...props, box: route })),
  ]
}

function RoutePart(props: Parts & { readonly box: RouteBox }): unknown[] {
  const { box, layout, opened, open, rates, backends } = props
  return [
    html`
      <${GraphBox}
        key=${box.id}
        id=${box.id}
        what="Route"
        kind="route"
        isBad=${routeIsBad(box)}
        isOpen=${opened === box.id}
        open=${open}
        style=${styleOf(layout.rects.get(box.id)!)}
      >
        <${RouteFace}
          box=${box}
          rate=${rates.get(box.route.key) ?? null}
          far=${farFrom(box, layout.rects)}
        />
      <//>
    `,
    box.policies.length > 0 &&
      html`<${PolicyFrame}
        key=${policiesId(box)}
        ...${props}
        style=${styleOf(layout.rects.get(policiesId(box))!)}
      />`,
    ...backendsFirstUsed(box, backends).map((backend) => {
      const { id } = backend
      return html`
        <${GraphBox}
          key=${id}
          id=${id}
          what="Backend"
          kind="backend"
          isBad=${backend.problems.length > 0}
          isOpen=${opened === id}
          open=${open}
          style=${styleOf(layout.rects.get(id)!)}
        >
          <${BackendFace} box=${backend} />
        <//>
      `
    }),
  ]
}

function styleOf({ x, y, width, height }: Rect): Record<string, string> {
  return { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` }
}

/** From this share of errors on, a line is drawn in the error colour. */
const BAD_SHARE = 0.01

interface WiresProps {
  readonly layout: Layout
  readonly graph: Graph
  readonly rates: ReadonlyMap<string, RouteRate>
  /** The box whose lines are highlighted. */
  readonly near: string | null
}

function Wires({ layout, graph, rates, near }: WiresProps): VNode {
  const boxes = graph.gateways.flatMap(({ listeners }) => listeners).flatMap(({ routes }) => routes)
  const traffic = new Map(boxes.map(({ route }) => [route.key, route.traffic]))
  const most = Math.max(1, ...boxes.map(({ route }) => route.traffic.requests))
  const onWay = near === null ? new Set<string>() : routesThrough(near, layout, boxes)
  const wires = layout.lines.map((line) => {
    const sum = sumOf(line.routes.map((key) => traffic.get(key)!))
    return { line, sum, words: lineTitle(line, { sum, rates, onWay }) }
  })
  // Important lines are drawn last, so that they stay visible where many overlap.
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
            stroke-width=${lineWidthOf(sum.requests * line.share, most)}
          >
            <title>
              ${countedText(sum.requests, 'request')}, ${shareText(errorShare(sum))} errors
            </title>
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

interface ShownLine {
  readonly sum: RouteTraffic
  readonly rates: ReadonlyMap<string, RouteRate>
  readonly onWay: ReadonlySet<string>
}

function lineTitle({ routes }: Line, { sum, rates, onWay }: ShownLine): string[] {
  const recent = routes.flatMap((key) => rates.get(key) ?? [])
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
