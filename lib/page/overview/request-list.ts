// The latest requests, and the details of one: its log fields and which rules denied it.

import type { MapView, PolicyNode } from '../../admin/page-api/page-api-types.ts'
import { html, useEffect, useState } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import {
  explain,
  expressionFor,
  shortRoute,
  summaryText,
  userText,
} from '../parts/seen-requests.ts'
import type { SeenRequest } from '../parts/seen-requests.ts'
import { Badge, toneOfStatus } from '../parts/elements.ts'
import { clockText, durationText } from '../parts/number-text.ts'
import { useLoaded } from '../server-data.ts'
import type { Reason } from '../parts/refusal-reasons.ts'

const COLUMNS = [
  ['Time', 'time'],
  ['Status', 'status-cell'],
  ['Method', 'method'],
  ['Path', 'path'],
  ['Route', 'route'],
  ['What happened', 'words'],
  ['Duration', 'took number'],
] as const

/** Why the list is paused: the pointer or the focus is on it, a request is open, or the user paused it. */
type PauseReason = 'pointer' | 'keyboard' | 'opened' | 'button'

export function RecentRequests(props: { readonly requests: readonly SeenRequest[] }): VNode {
  const { requests } = props
  const { shown, newer, pauses, hold, release } = usePauses(requests)
  const [open, setOpen] = useState<number | null>(null)
  const toggle = (number: number): void => {
    const isClosed = open === number
    setOpen(isClosed ? null : number)
    if (isClosed) release('opened')
    else hold('opened')
  }
  const resume = (): void => {
    setOpen(null)
    release('button', 'opened', 'keyboard')
  }
  const isPaused = pauses.has('button') || pauses.has('opened')
  return html`
    <div>
      <div class="row list-state">
        <span class="dim" role="status">
          ${pauses.size === 0 ? `the latest ${shown.length}` : `paused, ${newer} newer`}
        </span>
        <button type="button" onClick=${() => (isPaused ? resume() : hold('button'))}>
          ${isPaused ? 'Resume' : 'Pause'}
        </button>
      </div>
      <table class="requests" role="table">
        <thead role="rowgroup">
          <tr role="row">
            ${COLUMNS.map(
              ([name, style]) => html`
                <th role="columnheader" scope="col" class=${style}>${name}</th>
              `,
            )}
          </tr>
        </thead>
        <tbody
          role="rowgroup"
          onPointerEnter=${({ pointerType }: PointerEvent) =>
            pointerType === 'mouse' && hold('pointer')}
          onPointerLeave=${() => release('pointer')}
          onFocusIn=${(event: FocusEvent) => isByKeyboard(event) && hold('keyboard')}
          onFocusOut=${() => release('keyboard')}
        >
          ${shown.map(
            (request) => html`
              <${Row}
                key=${request.number}
                request=${request}
                isOpen=${request.number === open}
                toggle=${toggle}
              />
            `,
          )}
        </tbody>
      </table>
    </div>
  `
}

function isByKeyboard({ target }: FocusEvent): boolean {
  return (target as Element).matches(':focus-visible')
}

function usePauses(requests: readonly SeenRequest[]): {
  readonly shown: readonly SeenRequest[]
  /** As many as are kept: `50+`. */
  readonly newer: string
  readonly pauses: ReadonlySet<PauseReason>
  readonly hold: (why: PauseReason) => void
  readonly release: (...whys: readonly PauseReason[]) => void
} {
  const [pauses, setPauses] = useState<ReadonlySet<PauseReason>>(new Set())
  const [held, setHeld] = useState(requests)
  const isLive = pauses.size === 0
  useEffect(() => {
    if (isLive) setHeld(requests)
  }, [isLive, requests])
  const shown = isLive ? requests : held
  const top = shown[0]?.number ?? 0
  const newer = requests.filter(({ number }) => number > top).length
  return {
    shown,
    newer: newer < requests.length ? String(newer) : `${newer}+`,
    pauses,
    hold: (why) => setPauses((was) => new Set([...was, why])),
    release: (...whys) =>
      setPauses((was) => new Set([...was].filter((one) => !whys.includes(one)))),
  }
}

function Row(props: {
  readonly request: SeenRequest
  readonly isOpen: boolean
  readonly toggle: (number: number) => void
}): VNode {
  const { request, isOpen, toggle } = props
  const { number, at, method, path, route, status, duration } = request
  const reason = explain(request)
  const outcome = reason === null ? summaryText(request) : reason.words
  const words = [userText(request), outcome].filter((text) => text !== '').join(': ')
  const tone = reason === null ? toneOfStatus(status) : toneOfStatus(Math.max(status, 400))
  return html`
    <tr role="row" class=${`request ${isOpen ? 'open' : ''}`} onClick=${() => toggle(number)}>
      <td role="cell" class="time">
        <button
          type="button"
          class="plain"
          aria-expanded=${isOpen}
          aria-label=${`${clockText(at)} ${method} ${path} ${status}`}
          onClick=${(event: Event) => {
            event.stopPropagation()
            toggle(number)
          }}
        >
          ${clockText(at)}
        </button>
      </td>
      <td role="cell" class="status-cell">
        <${Badge} tone=${tone}>${status === 0 ? 'none' : status}<//>
      </td>
      <td role="cell" class="method mono">${method}</td>
      <td role="cell" class="path mono" title=${path}>${path}</td>
      <td role="cell" class="route" title=${route}>${shortRoute(route)}</td>
      <td role="cell" class=${`words ${reason === null ? 'dim' : ''}`} title=${words}>${words}</td>
      <td role="cell" class="took number">${durationText(duration)}</td>
    </tr>
    ${
      isOpen &&
      html`
        <tr role="row" class="opened">
          <td role="cell" colspan=${COLUMNS.length}><${RequestDetail} request=${request} /></td>
        </tr>
      `
    }
  `
}

function RequestDetail(props: { readonly request: SeenRequest }): VNode {
  const { request } = props
  const reason = explain(request)
  return html`
    <div class="detail">
      <${Explanation} reason=${reason} status=${request.status} />
      ${isAboutRules(reason) && html`<${Rules} request=${request} />`}
      <p class="row">
        <a
          class="button"
          href=${`#/trace?expression=${encodeURIComponent(expressionFor(request))}`}
        >
          Trace the next request like this
        </a>
        ${request.route !== '' && html`<${RouteLinks} route=${request.route} />`}
        ${reason?.policy === 'rateLimit' && html`<a href="#/limits">Show the limits</a>`}
      </p>
      <dl class="pairs mono">
        ${request.fields.map(
          ([name, value]) => html`
            <dt key=${name}>${name}</dt>
            <dd>${String(value)}</dd>
          `,
        )}
      </dl>
    </div>
  `
}

function Explanation(props: { readonly reason: Reason | null; readonly status: number }): VNode {
  const { reason, status } = props
  if (reason === null) return html`<p><strong>The response was ${status}.</strong></p>`
  return html`
    <div>
      <p><strong>${reason.words}</strong></p>
      <p>${reason.advice}</p>
      ${reason.policy !== null && html`<p>Policy: <code>${reason.policy}</code></p>`}
    </div>
  `
}

function isAboutRules(reason: Reason | null): boolean {
  return reason?.policy?.startsWith('authorization') === true
}

/** As written in the configuration in force. */
function Rules(props: { readonly request: SeenRequest }): VNode | null {
  const [map] = useLoaded<MapView>('/api/map')
  const rules = map.state === 'ready' ? deniedRules(map.value, props.request) : []
  if (rules.length === 0) return null
  return html`
    <ul class="rules mono">
      ${rules.map(
        ({ mode, expression }) => html`<li><span class="dim">${mode}</span> ${expression}</li>`,
      )}
    </ul>
  `
}

function RouteLinks(props: { readonly route: string }): VNode {
  const route = encodeURIComponent(props.route)
  return html`
    <span class="row">
      <a href=${`#/map?route=${route}`}>Show the route on the map</a>
      <a href=${`#/logs?route=${route}`}>Show its log lines</a>
    </span>
  `
}

export interface ShownRule {
  readonly mode: string
  readonly expression: string
}

/** The rule that the log names, or all rules that could have allowed it; none after the configuration changed. */
export function deniedRules(map: MapView, request: SeenRequest): readonly ShownRule[] {
  const fields = new Map(request.fields)
  if (fields.get('reason') !== 'authorization_denied') return []
  const rules = rulesIn(policiesOf(map, request.route, String(fields.get('listener') ?? '')))
  const at = fields.get('rule')
  if (typeof at === 'number') return rules.slice(at, at + 1)
  return rules.filter(({ mode }) => mode === 'allow')
}

/** Rules of the listener apply before a route is selected. */
function policiesOf(map: MapView, route: string, listener: string): readonly PolicyNode[] {
  const listeners = map.gateways.flatMap((gateway) => gateway.listeners)
  if (route === '') return listeners.find(({ key }) => key === listener)?.policies ?? []
  const routes = listeners.flatMap((one) => one.routes)
  return routes.find(({ key }) => key === route)?.policies ?? []
}

function rulesIn(policies: readonly PolicyNode[]): readonly ShownRule[] {
  const config = policies.find(({ kind }) => kind === 'authorization')?.config
  const { rules } = (config ?? {}) as { readonly rules?: unknown }
  return Array.isArray(rules) ? rules.map(ruleOf) : []
}

function ruleOf(rule: unknown): ShownRule {
  const { mode, expression } = (rule ?? {}) as Readonly<Record<string, unknown>>
  return { mode: String(mode), expression: String(expression) }
}
