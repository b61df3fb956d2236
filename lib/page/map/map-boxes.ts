// The boxes of the map, each a button with a few lines: gateways, listeners, routes, policies and backends.

import type { Layout, PolicyForm } from './map-layout.ts'
import { allProblems, policiesId } from './map-graph.ts'
import { MAX_LISTED, policyGrid } from './map-layout.ts'
import { shareText } from '../parts/number-text.ts'
import type { RouteRate } from './map-texts.ts'
import {
  backendNotes,
  countedText,
  errorShare,
  KINDS,
  kindsText,
  matchText,
  partsOf,
  rateText,
} from './map-texts.ts'
import type { BackendBox, GatewayBox, ListenerBox, PolicyBox, RouteBox } from './map-graph.ts'
import { Badge } from '../parts/elements.ts'
import type { Tone } from '../parts/elements.ts'
import { html } from '../page-view.ts'
import type { ComponentChildren, VNode } from '../page-view.ts'

export interface BoxProps {
  readonly id: string
  /** The kind of box, for screen readers. */
  readonly what: string
  readonly kind: string
  readonly isBad: boolean
  readonly isOpen: boolean
  readonly open: (id: string) => void
  readonly style?: Readonly<Record<string, string>>
  readonly children: ComponentChildren
}

/** A box is a button that opens the panel. */
export function GraphBox(props: BoxProps): VNode {
  const { id, what, kind, isBad, isOpen, open, style, children } = props
  const classes = ['box', kind, isBad && 'bad-box', isOpen && 'open-box'].filter(Boolean).join(' ')
  return html`
    <button
      type="button"
      class=${classes}
      style=${style}
      data-box=${id}
      aria-expanded=${isOpen}
      onClick=${() => open(id)}
    >
      <span class="unseen">${what} </span>
      ${children}
    </button>
  `
}

const STATE_TONES: Readonly<Record<string, Tone>> = {
  open: 'good',
  draining: 'warn',
  closed: 'bad',
}

export function StateBadge(props: { readonly state: string }): VNode {
  return html`<${Badge} tone=${STATE_TONES[props.state] ?? 'plain'}>${props.state}<//>`
}

export function GatewayFace(props: { readonly box: GatewayBox }): VNode {
  const { name, bind, state } = props.box.gateway
  return html`
    <span class="lines">
      <span class="head"><b class="one-line">${name}</b><${StateBadge} state=${state} /></span>
      <span class="one-line mono dim">${bind}</span>
    </span>
  `
}

/** `alone`: the gateway has one listener and no box of its own. */
export function ListenerFace(props: {
  readonly box: ListenerBox
  readonly place: 'alone' | 'under'
}): VNode {
  const { gateway, listener } = props.box
  const { name, hostname, protocol, policies } = listener
  const isAlone = props.place === 'alone'
  return html`
    <span class="lines">
      <span class="head">
        <b class="one-line">${isAlone ? gateway.name : name}</b>
        ${isAlone && html`<${StateBadge} state=${gateway.state} />`}
      </span>
      <span class="one-line mono dim">
        ${isAlone ? `${gateway.bind} ` : ''}${hostname || (isAlone ? '' : 'any host')} ${protocol}
      </span>
      ${
        policies.length > 0 &&
        html`<span class=${`one-line ${hasBad(policies) ? 'bad' : ''}`}
          >${kindsText(policies)}</span
        >`
      }
    </span>
  `
}

function hasBad(nodes: readonly { readonly problems: readonly string[] }[]): boolean {
  return nodes.some(({ problems }) => problems.length > 0)
}

export function RouteFace(props: {
  readonly box: RouteBox
  readonly rate: RouteRate | null
  /** Labels of backends that are far away from this route. */
  readonly far?: readonly string[]
}): VNode {
  const { route } = props.box
  const { far = [] } = props
  const [problem] = route.problems
  const isLive = props.rate !== null && props.rate.requests > 0
  return html`
    <span class="lines">
      <span class="head">
        <b class="one-line">${route.name}</b>
        ${isLive && html`<span class="rate">${rateText(props.rate!.requests)}</span>`}
      </span>
      <span class="one-line mono dim">${matchText(route)}</span>
      <span class="head">
        <${TrafficLine} of=${props.box} />
        ${far.length > 0 && html`<span class="one-line dim">→ ${far.join(', ')}</span>`}
      </span>
      ${problem !== undefined && html`<span class="one-line bad">${problem}</span>`}
    </span>
  `
}

function TrafficLine(props: { readonly of: RouteBox }): VNode {
  const { traffic } = props.of.route
  const { requests, errors, refused } = traffic
  if (requests === 0) return html`<span class="one-line dim">no requests yet</span>`
  return html`
    <span class="one-line">
      ${countedText(requests, 'request')}
      ${errors > 0 && html`<span class="bad"> · ${shareText(errorShare(traffic))} errors</span>`}
      ${refused > 0 && html`<span class="warn"> · ${shareText(refused / requests)} refused</span>`}
    </span>
  `
}

/** The kind of a policy and the resource it is from; the colour marks a problem. */
export function PolicyFace(props: { readonly box: PolicyBox }): VNode {
  const { kind, from, problems } = props.box.policy
  return html`
    <span class="one-line" title=${problems[0] ?? from ?? undefined}>
      ${kind} ${from !== null && html`<span class="dim"> ${from}</span>`}
      ${problems.length > 0 && html`<span class="unseen"> has a problem: ${problems[0]}</span>`}
    </span>
  `
}

export function BackendFace(props: { readonly box: BackendBox }): VNode {
  const { uses, problems } = props.box
  const { backend } = uses[0]!
  const parts = partsOf(backend)
  const left = parts.length - MAX_LISTED
  const notes = backendNotes(uses)
  return html`
    <span class="lines">
      <span class="head">
        <b class="one-line">${backend.label}</b>
        <span class="dim">${KINDS[backend.kind]}</span>
      </span>
      ${parts
        .slice(0, MAX_LISTED)
        .map(
          ({ name, note }) => html`
            <span class="one-line mono part">${name} <span class="dim">${note}</span></span>
          `,
        )}
      ${left > 0 && html`<span class="dim">… ${left} more</span>`}
      ${notes !== '' && html`<span class="one-line dim">${notes}</span>`}
      ${problems.length > 0 && html`<span class="one-line bad">${problems[0]}</span>`}
    </span>
  `
}

export const routeIsBad = ({ route }: RouteBox): boolean => route.problems.length > 0

export const listenerIsBad = ({ listener }: ListenerBox): boolean =>
  allProblems({ problems: [], policies: listener.policies }).length > 0

interface FrameProps {
  readonly box: RouteBox
  readonly layout: Layout
  readonly form: PolicyForm
  readonly opened: string | null
  readonly open: (id: string) => void
  readonly style: Readonly<Record<string, string>>
}

export function PolicyFrame(props: FrameProps): VNode {
  const { box, layout, form, style } = props
  if (form === 'counts') return html`<${PolicyCount} ...${props} />`
  const { width } = layout.rects.get(policiesId(box))!
  const count = box.policies.length
  const { across } = policyGrid(count, width)
  const reason = reasonOf(box)
  const listed = count > MAX_LISTED + 1 ? MAX_LISTED : count
  return html`
    <div class=${`frame across-${across} ${reason === null ? '' : 'bad-box'}`} style=${style}>
      <${PolicyButtons} ...${props} listed=${listed} />
      ${reason !== null && html`<span class="one-line bad reason">${reason}</span>`}
    </div>
  `
}

/** The first problem of the policies. */
export function reasonOf({ policies }: RouteBox): string | null {
  return policies.flatMap(({ policy }) => policy.problems)[0] ?? null
}

export function PolicyCount(
  props: Omit<FrameProps, 'layout' | 'form' | 'style'> & Partial<FrameProps>,
): VNode {
  const { box, opened, open, style } = props
  const { policies, route } = box
  const id = policiesId(box)
  const reason = reasonOf(box)
  return html`
    <${GraphBox}
      id=${id}
      what=${`Of route ${route.name}:`}
      kind="policies"
      isBad=${reason !== null}
      isOpen=${opened === id}
      open=${open}
      style=${style}
    >
      <span class="one-line">
        ${policies.length === 1 ? policies[0]!.policy.kind : countedText(policies.length, 'policy', 'policies')}
      </span>
      ${reason !== null && html`<span class="one-line bad">${reason}</span>`}
    <//>
  `
}

function PolicyButtons(props: FrameProps & { readonly listed: number }): ComponentChildren {
  const { box, listed, opened, open } = props
  const { policies, route } = box
  const id = policiesId(box)
  return html`
    ${policies.slice(0, listed).map(
      (policy) => html`
        <${GraphBox}
          key=${policy.id}
          id=${policy.id}
          what=${`Policy of route ${route.name}:`}
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
      policies.length > listed &&
      html`
        <${GraphBox}
          id=${id}
          what=${`Policies of route ${route.name}:`}
          kind="policy"
          isBad=${false}
          isOpen=${opened === id}
          open=${open}
        >
          <span class="dim">${policies.length - listed} more</span>
        <//>
      `
    }
  `
}
