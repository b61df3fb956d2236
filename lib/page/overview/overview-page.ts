// The overview: state of the process, traffic, listeners, and the latest requests.

import type {
  ListenerState,
  LogLine,
  RouteTraffic,
  RuntimeView,
  Sample,
} from '../../admin/page-api/page-api-types.ts'
import { html, useMemo, useRef, useState } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import { useLogTail } from '../parts/log-lines.ts'
import type { LogTail } from '../parts/log-lines.ts'
import { Await, Badge, Copy, Empty } from '../parts/elements.ts'
import { countText, dateText, spanText } from '../parts/number-text.ts'
import {
  curlFor,
  explain,
  isListenerKey,
  logsRequests,
  requestOf,
  shortRoute,
} from '../parts/seen-requests.ts'
import { RUNTIME, useLive, useLoaded, useReconnect } from '../server-data.ts'
import { RecentRequests } from './request-list.ts'
import { mergeSamples, sumOf, Tiles } from './traffic-tiles.ts'

const MAX_REQUESTS = 50
/** Samples between two updates of listeners and routes. */
const UPDATE_EVERY = 5
const NONE: readonly Sample[] = []

export function Overview(): VNode {
  const [runtime, again] = useLoaded<RuntimeView>(RUNTIME)
  const [past, askPast] = useLoaded<RuntimeView>('/api/runtime')
  const [received, setReceived] = useState<readonly Sample[]>([])
  const count = useRef(0)
  const link = useLive('runtime', (sample) => {
    setReceived((was) => mergeSamples(was, [sample]))
    if (++count.current % UPDATE_EVERY === 0) again()
  })
  useReconnect(link, () => {
    again()
    askPast()
  })
  const before = past.state === 'ready' ? past.value.samples : NONE
  const samples = useMemo(() => mergeSamples(before, received), [before, received])
  const tails = {
    all: useLogTail(MAX_REQUESTS, isRequest),
    troubled: useLogTail(MAX_REQUESTS, isRefusedOrFailed),
  }
  return html`
    <${Await} of=${runtime} again=${again}>
      ${(value: RuntimeView) => html`<${Body} runtime=${value} samples=${samples} tails=${tails} />`}
    <//>
  `
}

function Body(props: {
  readonly runtime: RuntimeView
  readonly samples: readonly Sample[]
  readonly tails: LogTails
}): VNode {
  const { runtime, samples, tails } = props
  // Log lines arrive more often than the screen is drawn.
  const tiles = useMemo(() => html`<${Tiles} samples=${samples} />`, [samples])
  return html`
    <${Facts} runtime=${runtime} />
    ${tiles}
    <div class="columns">
      <${Recent} runtime=${runtime} samples=${samples} tails=${tails} />
      <div class="stack">
        <${Listeners} listeners=${runtime.listeners} />
        <${Routes} routes=${runtime.routes} />
      </div>
    </div>
  `
}

function Facts(props: { readonly runtime: RuntimeView }): VNode {
  const { readiness, startedAt, generation, loadedAt, file, node, workers } = props.runtime
  return html`
    <p class="facts dim">
      <${Badge} tone=${readiness === 'ready' ? 'good' : 'warn'}>${readiness}<//>
      ${
        workers !== null &&
        html`
          <${Badge} tone=${workers.running < workers.wanted ? 'warn' : 'plain'}>
            ${workers.running} of ${workers.wanted} workers
          <//>
        `
      }
      <span title=${dateText(startedAt)}>up ${spanText(Date.now() - startedAt)}</span>
      <a href="#/config" title=${`${file}, loaded ${dateText(loadedAt)}`}>
        configuration ${generation}
      </a>
      <span class="minor">node ${node}</span>
      <span class="minor">charts: the last 5 minutes</span>
    </p>
  `
}

/** RequestError and failed requests are kept separately, since on a busy gateway they soon leave the list. */
interface LogTails {
  readonly all: LogTail
  readonly troubled: LogTail
}

function Recent(props: {
  readonly runtime: RuntimeView
  readonly samples: readonly Sample[]
  readonly tails: LogTails
}): VNode {
  const { runtime, samples, tails } = props
  const [kept, setKept] = useState<keyof LogTails>('all')
  const { lines } = tails[kept]
  const requests = useMemo(
    () =>
      lines
        .map(requestOf)
        .filter((one) => one !== null)
        .reverse(),
    [lines],
  )
  const choice = (name: keyof LogTails, title: string): VNode => html`
    <button type="button" aria-pressed=${kept === name} onClick=${() => setKept(name)}>
      ${title}
    </button>
  `
  return html`
    <section class="card recent">
      <div class="row">
        <h2>Recent requests</h2>
        <span class="choice"
          >${choice('all', 'All')}${choice('troubled', 'Refused or failed')}</span
        >
      </div>
      <${Await} of=${tails.all.loaded} again=${tails.all.again}>
        ${({ filter }: { readonly filter: string }) => {
          if (requests.length > 0)
            return html`<${RecentRequests} key=${kept} requests=${requests} />`
          if (kept === 'troubled' && tails.all.lines.length > 0)
            return html`<${Empty} title="None of the latest requests was refused or failed." />`
          return html`<${NoRequests} runtime=${runtime} samples=${samples} filter=${filter} />`
        }}
      <//>
    </section>
  `
}

function isRequest(line: LogLine): boolean {
  return requestOf(line) !== null
}

function isRefusedOrFailed(line: LogLine): boolean {
  const request = requestOf(line)
  return request !== null && explain(request) !== null
}

const TONES = { open: 'good', draining: 'warn', closed: 'bad' } as const

function Listeners(props: { readonly listeners: readonly ListenerState[] }): VNode {
  const { listeners } = props
  return html`
    <section class="card">
      <h2>Listeners</h2>
      ${listeners.length === 0 && html`<${Empty} title="No listener is open." />`}
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

/** Shown at first; a button shows the others. */
const FIRST_ROUTES = 8

function Routes(props: { readonly routes: RuntimeView['routes'] }): VNode {
  const { shown, more } = props.routes
  const [isWhole, setWhole] = useState(false)
  const busiest = shown.toSorted((one, other) => other.requests - one.requests)
  const left = shown.length - FIRST_ROUTES
  return html`
    <section class="card">
      <h2>Routes by traffic</h2>
      ${
        shown.length === 0
          ? html`<${Empty} title="There are no routes." />`
          : html`<${RouteTable} routes=${isWhole ? busiest : busiest.slice(0, FIRST_ROUTES)} />`
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

function NoRequests(props: {
  readonly runtime: RuntimeView
  readonly samples: readonly Sample[]
  readonly filter: string
}): VNode {
  const { runtime, samples, filter } = props
  const count = sumOf(samples, ({ requests }) => requests)
  if (!logsRequests(filter))
    return html`
      <${Empty} title="The log has no lines for requests.">
        <p>
          Its level filter is <code>${filter}</code>; <code>request=info</code> would log them.
          ${count > 0 && ` ${countText(count)} requests arrived in the last five minutes.`}
        </p>
        <p><a href="#/logs">Change the log level</a></p>
      <//>
    `
  if (count > 0)
    return html`
      <${Empty} title="The latest requests are no longer in the log.">
        <p>${countText(count)} came in the last five minutes; the next will be shown here.</p>
      <//>
    `
  return html`<${FirstRequest} runtime=${runtime} />`
}

function FirstRequest(props: { readonly runtime: RuntimeView }): VNode {
  const listener = props.runtime.listeners.find(({ state }) => state === 'open')
  if (listener === undefined)
    return html`<${Empty} title="No requests yet, and no port is open." />`
  const line = curlFor(listener, location.hostname)
  return html`
    <${Empty} title="No requests yet.">
      <p>Send the first request and watch it here:</p>
      <p class="row centre"><code class="command">${line}</code><${Copy} text=${line} /></p>
      <p>
        The <a href="#/map">map</a> shows what is served where; call tools on the ${' '}<a
          href="#/mcp"
          >MCP page</a
        >.
      </p>
    <//>
  `
}
