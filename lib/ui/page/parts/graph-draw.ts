// The map as a drawing: boxes where the layout has them, lines between them as strong as the traffic they carry.

import { html, useMemo, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import {
  BackendFace,
  GatewayFace,
  GraphBox,
  ListenerFace,
  PolicyFace,
  RouteFace,
  hasBad,
  listenerIsBad,
  routeIsBad,
} from './graph-box.ts'
import { MOST_LISTED, layoutOf, policyGrid } from './graph-layout.ts'
import type { Layout, PolicyForm } from './graph-layout.ts'
import { policiesId, strength } from './graph-lines.ts'
import type { Rect } from './graph-lines.ts'
import { firstNamed } from './graph-model.ts'
import type { BackendBox, GatewayBox, Graph, ListenerBox, RouteBox } from './graph-model.ts'
import { errorShare, some, sumOf } from './graph-words.ts'
import type { Pace } from './graph-words.ts'
import { shareText } from './words.ts'

export interface DrawProps {
  readonly graph: Graph
  readonly form: PolicyForm
  readonly paces: ReadonlyMap<string, Pace>
  readonly opened: string | null
  readonly open: (id: string) => void
}

/** From this share of errors on, a line is drawn as a bad one. */
const BAD_SHARE = 0.01
const TITLES = ['Gateways', 'Routes', 'Policies', 'Backends']

export function GraphDrawing(props: DrawProps & { readonly width: number }): VNode {
  const { graph, form, paces, opened, open, width } = props
  const [near, setNear] = useState<string | null>(null)
  const layout = useMemo(() => layoutOf(graph, width, form), [graph, form, width])
  const backends = new Map(graph.backends.map((box) => [box.id, box]))
  const parts = { layout, opened, open, form, paces, backends }
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
        <${Lines} layout=${layout} graph=${graph} paces=${paces} near=${near ?? opened} />
        ${graph.gateways.map((gateway) => html`<${GatewayPart} key=${gateway.id} box=${gateway} ...${parts} />`)}
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
  const { box, layout, opened, open, paces, backends } = props
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
        <${RouteFace} box=${box} pace=${paces.get(box.route.key) ?? null} />
      <//>
    `,
    box.policies.length > 0 && PoliciesPart(props),
    ...firstNamed(box, backends).map((backend) => {
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

function PoliciesPart(props: Parts & { readonly box: RouteBox }): VNode {
  const { box, layout, form, opened, open } = props
  const id = policiesId(box)
  const rect = layout.rects.get(id)!
  const count = box.policies.length
  const bad = hasBad(box.policies.map(({ policy }) => policy))
  if (form === 'counts')
    return html`
      <${GraphBox}
        key=${id}
        id=${id}
        what=${`Of route ${box.route.name}:`}
        kind="policies"
        isBad=${bad}
        isOpen=${opened === id}
        open=${open}
        style=${styleOf(rect)}
      >
        <span class="cut"
          >${count === 1 ? box.policies[0]!.policy.kind : some(count, 'policy', 'policies')}</span
        >
      <//>
    `
  const { across } = policyGrid(count, rect.width)
  const listed = count > MOST_LISTED + 1 ? MOST_LISTED : count
  return html`
    <div
      key=${id}
      class=${`frame across-${across} ${bad ? 'bad-box' : ''}`}
      style=${styleOf(rect)}
      data-frame=${id}
    >
      ${box.policies.slice(0, listed).map(
        (policy) => html`
          <${GraphBox}
            key=${policy.id}
            id=${policy.id}
            what=${`Policy of route ${box.route.name}:`}
            kind="policy"
            isBad=${policy.policy.problems.length > 0}
            isOpen=${opened === policy.id}
            open=${open}
          >
            <${PolicyFace} box=${policy} />
          <//>
        `,
      )}
      ${
        count > listed &&
        html`
          <${GraphBox}
            id=${id}
            what=${`Policies of route ${box.route.name}:`}
            kind="policy"
            isBad=${false}
            isOpen=${opened === id}
            open=${open}
          >
            <span class="dim">${count - listed} more</span>
          <//>
        `
      }
    </div>
  `
}

function styleOf({ x, y, width, height }: Rect): Record<string, string> {
  return { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` }
}

function Lines(props: {
  readonly layout: Layout
  readonly graph: Graph
  readonly paces: ReadonlyMap<string, Pace>
  readonly near: string | null
}): VNode {
  const { layout, graph, paces, near } = props
  const boxes = graph.gateways.flatMap(({ listeners }) => listeners).flatMap(({ routes }) => routes)
  const routes = new Map(boxes.map((box) => [box.route.key, box]))
  const most = Math.max(1, ...boxes.map(({ route }) => route.traffic.requests))
  const onWay = near === null ? null : routesThrough(near, layout, boxes)
  return html`
    <svg
      width=${layout.width}
      height=${layout.height}
      viewBox=${`0 0 ${layout.width} ${layout.height}`}
      aria-hidden="true"
    >
      ${layout.lines.map((line) => {
        const traffic = sumOf(line.routes.map((key) => routes.get(key)!.route.traffic))
        const recent = line.routes.map((key) => paces.get(key))
        const isBad =
          errorShare(traffic) >= BAD_SHARE || recent.some((pace) => (pace?.errors ?? 0) > 0)
        const isLive = recent.some((pace) => (pace?.requests ?? 0) > 0)
        const isNear = onWay !== null && line.routes.some((key) => onWay.has(key))
        const words = ['wire', isLive && 'live', isBad && 'failing', isNear && 'near']
        return html`
          <path
            key=${line.id}
            class=${words.filter(Boolean).join(' ')}
            d=${line.path}
            stroke-width=${strength(traffic.requests * line.share, most)}
          >
            <title>
              ${some(traffic.requests, 'request')}, ${shareText(errorShare(traffic))} errors
            </title>
          </path>
        `
      })}
      ${layout.lines.map(
        (line) =>
          line.share < 1 &&
          html`<text class="share" x=${line.middle[0]} y=${line.middle[1]}
            >${shareText(line.share)}</text
          >`,
      )}
    </svg>
  `
}

function routesThrough(id: string, layout: Layout, boxes: readonly RouteBox[]): Set<string> {
  const found = new Set<string>()
  for (const { from, to, routes } of layout.lines)
    if (from === id || to === id) for (const key of routes) found.add(key)
  for (const { route, policies } of boxes)
    if (policies.some((policy) => policy.id === id)) found.add(route.key)
  return found
}
