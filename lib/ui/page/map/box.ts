// What stands on the boxes of the map, wherever they are drawn. Every line is cut to fit; all of it is in the panel.

import { html } from '../view.ts'
import type { ComponentChildren, VNode } from '../view.ts'
import { Badge } from '../parts/badge.ts'
import type { Tone } from '../parts/badge.ts'
import type { BackendBox, GatewayBox, ListenerBox, PolicyBox, RouteBox } from './model.ts'
import { allProblems } from './model.ts'
import { MOST_LISTED } from './layout.ts'
import {
  KINDS,
  errorShare,
  backendNotes,
  kindsText,
  matchText,
  paceText,
  partsOf,
  some,
} from './words.ts'
import type { Pace } from './words.ts'
import { shareText } from '../parts/words.ts'

export interface BoxProps {
  readonly id: string
  /** What it is, for those who cannot see its column. */
  readonly what: string
  readonly kind: string
  readonly isBad: boolean
  readonly isOpen: boolean
  readonly open: (id: string) => void
  readonly style?: Readonly<Record<string, string>>
  readonly children: ComponentChildren
}

/** A button that opens the panel. */
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

/** `alone`: the gateway has no box of its own. */
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
  readonly pace: Pace | null
  /** Backends that are out of sight from here. */
  readonly far?: readonly string[]
}): VNode {
  const { route } = props.box
  const { far = [] } = props
  const [problem] = route.problems
  const isLive = props.pace !== null && props.pace.requests > 0
  return html`
    <span class="lines">
      <span class="head">
        <b class="one-line">${route.name}</b>
        ${isLive && html`<span class="pace">${paceText(props.pace!.requests)}</span>`}
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
      ${some(requests, 'request')}
      ${errors > 0 && html`<span class="bad"> · ${shareText(errorShare(traffic))} errors</span>`}
      ${refused > 0 && html`<span class="warn"> · ${shareText(refused / requests)} refused</span>`}
    </span>
  `
}

/** What a policy is and whether it came from a resource; the colour says that something is wrong with it. */
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
  const left = parts.length - MOST_LISTED
  const notes = backendNotes(uses)
  return html`
    <span class="lines">
      <span class="head">
        <b class="one-line">${backend.label}</b>
        <span class="dim">${KINDS[backend.kind]}</span>
      </span>
      ${parts
        .slice(0, MOST_LISTED)
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
