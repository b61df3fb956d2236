// Where the gateway listens, and which routes the traffic takes.

import { html, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import { isListenerKey, shortRoute } from '../parts/requests.ts'
import type {
  ListenerState,
  RouteTraffic,
  RuntimeView,
} from '../../../admin/page-api/page-api-types.ts'
import { Badge } from '../parts/badge.ts'
import { Empty } from '../parts/loading.ts'
import { countText } from '../parts/words.ts'

const TONES = { open: 'good', draining: 'warn', closed: 'bad' } as const

export function Listeners(props: { readonly listeners: readonly ListenerState[] }): VNode {
  const { listeners } = props
  return html`
    <section class="card">
      <h2>Listeners</h2>
      ${listeners.length === 0 && html`<${Empty} title="None is open." />`}
      <ul class="plain-list">
        ${listeners.map(
          ({ name, bind, protocol, state, open, accepted, routes }) => html`
            <li key=${`${name} ${bind}`}>
              <div class="row">
                <strong>${name}</strong>
                <span class="mono">${bind}</span>
                <span class="dim">${protocol}</span>
                <${Badge} tone=${TONES[state]}>${state}<//>
              </div>
              <div class="dim">
                ${countText(open)} connections open, ${countText(accepted)} accepted, ${' '}<a
                  href="#/map"
                  >${routes} ${routes === 1 ? 'route' : 'routes'}</a
                >
              </div>
            </li>
          `,
        )}
      </ul>
    </section>
  `
}

/** Shown at first; the others by a button. */
const FEW = 8

export function Routes(props: { readonly routes: RuntimeView['routes'] }): VNode {
  const { shown, more } = props.routes
  const [isWhole, setWhole] = useState(false)
  const busiest = shown.toSorted((one, other) => other.requests - one.requests)
  const left = shown.length - FEW
  return html`
    <section class="card">
      <h2>Routes by traffic</h2>
      ${
        shown.length === 0
          ? html`<${Empty} title="There are no routes." />`
          : html`<${RouteTable} routes=${isWhole ? busiest : busiest.slice(0, FEW)} />`
      }
      ${
        left > 0 &&
        !isWhole &&
        html`<button type="button" class="plain" onClick=${() => setWhole(true)}>
          ${left} more
        </button>`
      }
      ${more > 0 && (isWhole || left <= 0) && html`<p class="dim">${more} more are not shown.</p>`}
    </section>
  `
}

function RouteTable(props: { readonly routes: readonly RouteTraffic[] }): VNode {
  const most = Math.max(1, ...props.routes.map(({ requests }) => requests))
  return html`
    <table class="routes">
      <thead>
        <tr>
          <th scope="col">Route</th>
          <th scope="col" class="number">Requests</th>
          <th scope="col" class="number">4xx</th>
          <th scope="col" class="number">5xx</th>
          <th scope="col"><span class="unseen">Log</span></th>
        </tr>
      </thead>
      <tbody>
        ${props.routes.map(
          ({ key, requests, errors, refused }) => html`
            <tr key=${key}>
              <td title=${key}>
                ${
                  isListenerKey(key)
                    ? html`<span class="dim">no route (${shortRoute(key)})</span>`
                    : html`<a href=${`#/map?route=${encodeURIComponent(key)}`}
                        >${shortRoute(key)}</a
                      >`
                }
                <span class="bar" aria-hidden="true">
                  <span style=${{ width: `${(requests / most) * 100}%` }}></span>
                </span>
              </td>
              <td class="number">${countText(requests)}</td>
              <td class=${`number ${refused > 0 ? 'warn' : 'dim'}`}>${countText(refused)}</td>
              <td class=${`number ${errors > 0 ? 'bad' : 'dim'}`}>${countText(errors)}</td>
              <td><a href=${`#/logs?${logQuery(key)}`}>log</a></td>
            </tr>
          `,
        )}
      </tbody>
    </table>
  `
}

function logQuery(key: string): string {
  const query = isListenerKey(key) ? { text: `listener=${key} ROUTE_NOT_FOUND` } : { route: key }
  return new URLSearchParams(query).toString()
}
