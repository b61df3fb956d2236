// The map as a nested list, for narrow screens and screen readers.

import { backendsFirstUsed, policiesId } from './map-graph.ts'
import {
  BackendFace,
  GatewayFace,
  GraphBox,
  ListenerFace,
  listenerIsBad,
  PolicyCount,
  PolicyFace,
  reasonOf,
  RouteFace,
  routeIsBad,
} from './map-boxes.ts'
import { html } from '../page-view.ts'
import type { ComponentChildren, VNode } from '../page-view.ts'
import type { DrawProps } from './map-drawing.ts'
import type { BackendBox, GatewayBox, ListenerBox, RouteBox } from './map-graph.ts'

interface TreeProps extends DrawProps {
  readonly panel: VNode | null
}

interface Parts extends TreeProps {
  readonly backends: ReadonlyMap<string, BackendBox>
}

export function GraphTree(props: TreeProps): VNode {
  const backends = new Map(props.graph.backends.map((box) => [box.id, box]))
  return html`
    <ul class="tree">
      ${props.graph.gateways.map((box) => html`<${GatewayItem} key=${box.id} ...${props} backends=${backends} box=${box} />`)}
    </ul>
  `
}

/** A box with its panel below. */
function Item(
  props: Parts & {
    readonly id: string
    readonly what: string
    readonly kind: string
    readonly isBad: boolean
    readonly children: ComponentChildren
  },
): ComponentChildren {
  const { id, what, kind, isBad, opened, open, panel, children } = props
  const isOpen = opened === id
  return html`
    <${GraphBox} ...${{ id, what, kind, isBad, isOpen, open }}>${children}<//>
    ${isOpen && panel}
  `
}

function GatewayItem(props: Parts & { readonly box: GatewayBox }): VNode {
  const { gateway, listeners, id } = props.box
  const [only, ...others] = listeners
  if (only !== undefined && others.length === 0)
    return html`<${ListenerItem} ...${props} box=${only} place="alone" />`
  return html`
    <li aria-label=${gateway.name}>
      <${Item}
        ...${props}
        id=${id}
        what="Gateway"
        kind="gateway"
        isBad=${listeners.some(listenerIsBad)}
      >
        <${GatewayFace} box=${props.box} />
      <//>
      <ul>
        ${listeners.map((box) => html`<${ListenerItem} key=${box.id} ...${props} box=${box} place="under" />`)}
      </ul>
    </li>
  `
}

function ListenerItem(
  props: Parts & { readonly box: ListenerBox; readonly place: 'alone' | 'under' },
): VNode {
  const { box, place } = props
  const what = place === 'alone' ? 'Gateway' : 'Listener'
  return html`
    <li>
      <${Item} ...${props} id=${box.id} what=${what} kind="listener" isBad=${listenerIsBad(box)}>
        <${ListenerFace} box=${box} place=${place} />
      <//>
      <ul>
        ${box.routes.map((route) => html`<${RouteItem} key=${route.id} ...${props} box=${route} />`)}
      </ul>
    </li>
  `
}

function RouteItem(props: Parts & { readonly box: RouteBox }): VNode {
  const { box, rates, backends } = props
  const first = backendsFirstUsed(box, backends)
  const again = [...new Set(box.uses.map(({ to }) => backends.get(to)!))].filter(
    (backend) => !first.includes(backend),
  )
  return html`
    <li>
      <${Item} ...${props} id=${box.id} what="Route" kind="route" isBad=${routeIsBad(box)}>
        <${RouteFace} box=${box} rate=${rates.get(box.route.key) ?? null} />
      <//>
      ${box.policies.length > 0 && html`<${PolicyRow} ...${props} />`}
      <ul>
        ${first.map(
          (backend) => html`
            <li key=${backend.id}>
              <${Item}
                ...${props}
                id=${backend.id}
                what="Backend"
                kind="backend"
                isBad=${backend.problems.length > 0}
              >
                <${BackendFace} box=${backend} />
              <//>
            </li>
          `,
        )}
        ${again.map(
          ({ id, uses }) => html`
            <li key=${id}>
              <button type="button" class="plain go one-line" onClick=${() => props.open(id)}>
                ${uses[0]!.backend.label} <span class="dim">see above</span>
              </button>
            </li>
          `,
        )}
      </ul>
    </li>
  `
}

function PolicyRow(props: Parts & { readonly box: RouteBox }): ComponentChildren {
  const { box, form, opened, open, panel } = props
  const id = policiesId(box)
  const reason = reasonOf(box)
  if (form === 'counts')
    return html`
      <div class="chips"><${PolicyCount} ...${{ box, opened, open }} /></div>
      ${opened === id && panel}
    `
  return html`
    <div class="chips">
      ${box.policies.map(
        (policy) => html`
          <${GraphBox}
            key=${policy.id}
            ...${{ id: policy.id, what: 'Policy', kind: 'policy', isBad: policy.policy.problems.length > 0, isOpen: opened === policy.id, open }}
          >
            <${PolicyFace} box=${policy} />
          <//>
        `,
      )}
      ${reason !== null && html`<span class="one-line bad">${reason}</span>`}
    </div>
    ${box.policies.some((policy) => policy.id === opened) && panel}
  `
}
