// The map as a drawing: boxes where the layout has them, lines between them as strong as the traffic they carry.

import { html, useMemo, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import {
  BackendFace,
  GatewayFace,
  GraphBox,
  ListenerFace,
  RouteFace,
  listenerIsBad,
  routeIsBad,
} from './box.ts'
import { layoutOf } from './layout.ts'
import type { Layout, PolicyForm } from './layout.ts'
import { farFrom, policiesId } from './lines.ts'
import type { Rect } from './lines.ts'
import { firstNamed } from './model.ts'
import type { BackendBox, GatewayBox, Graph, ListenerBox, RouteBox } from './model.ts'
import { PolicyFrame } from './policies.ts'
import { Wires } from './wires.ts'
import type { Pace } from './words.ts'

export interface DrawProps {
  readonly graph: Graph
  readonly form: PolicyForm
  readonly paces: ReadonlyMap<string, Pace>
  readonly opened: string | null
  readonly open: (id: string) => void
}

const TITLES = ['Gateways', 'Routes', 'Policies', 'Backends']

export function GraphDrawing(props: DrawProps & { readonly width: number }): VNode {
  const { graph, form, paces, opened, open, width } = props
  const [near, setNear] = useState<string | null>(null)
  const layout = useMemo(() => layoutOf(graph, width, form), [graph, form, width])
  // Boxes stay as they are while a pointer passes over them: there may be hundreds.
  const boxes = useMemo(() => {
    const backends = new Map(graph.backends.map((box) => [box.id, box]))
    const parts = { layout, opened, open, form, paces, backends }
    return graph.gateways.map(
      (gateway) => html`<${GatewayPart} key=${gateway.id} box=${gateway} ...${parts} />`,
    )
  }, [layout, opened, open, paces])
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
        <${Wires} layout=${layout} graph=${graph} paces=${paces} near=${near ?? opened} />
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
        <${RouteFace}
          box=${box}
          pace=${paces.get(box.route.key) ?? null}
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

function styleOf({ x, y, width, height }: Rect): Record<string, string> {
  return { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` }
}
