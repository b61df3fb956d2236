// The MCP page: servers and their addresses, sessions, child processes, and the playground.

import type {
  ChildProcessState,
  McpBackendView,
  McpView,
  RuntimeView,
  SessionView,
  LimitedList,
} from '../../admin/page-api/page-api-types.ts'
import { bytesText } from '../../trace-view/amounts.ts'
import { html, useEffect, useState } from '../page-view.ts'
import type { ComponentChildren, PageProps, VNode } from '../page-view.ts'
import { RUNTIME, useLive, useLoaded } from '../server-data.ts'
import type { LinkState, Loaded } from '../server-data.ts'
import { Await, Badge, Copy, Empty } from '../parts/elements.ts'
import type { Tone } from '../parts/elements.ts'
import { countText, spanText } from '../parts/number-text.ts'
import { urlOf } from './item-view.ts'
import { PlaygroundView } from './playground-view.ts'

const EXAMPLE = `mcp:
  targets:
    - name: demo
      stdio: { cmd: node, args: [server.js] }`

const TABS = ['playground', 'sessions', 'children'] as const

type Tab = (typeof TABS)[number]

const TITLES = { playground: 'Playground', sessions: 'Sessions', children: 'Child processes' }

/** The view, and when it arrived: ages count from then. */
interface ReceivedView {
  readonly view: McpView
  /** On the clock of `performance.now()`. */
  readonly at: number
}

const ASK_MS = 5_000

export function Mcp({ query }: PageProps): VNode {
  const [loaded, again] = useLoaded<McpView>('/api/mcp')
  const [runtime, askAgain] = useLoaded<RuntimeView>(RUNTIME)
  const [received, setReceived] = useState<ReceivedView | null>(null)
  const gateway = useLive('mcp', (view) => setReceived({ view, at: performance.now() }))
  useEffect(() => {
    if (loaded.state === 'ready') setReceived({ view: loaded.value, at: performance.now() })
  }, [loaded])
  const tab = TABS.find((one) => one === query.get('tab')) ?? 'playground'
  // Changes of memory are not pushed.
  useEffect(() => {
    const timer = tab === 'children' ? setInterval(again, ASK_MS) : undefined
    return () => clearInterval(timer)
  }, [tab])
  const shown = received === null ? waiting(loaded) : ({ state: 'ready', value: received } as const)
  return html`
    <${Await} of=${runtime} again=${askAgain}>
      ${(known: RuntimeView) => html`
        <${Await} of=${shown} again=${again}>
          ${(value: ReceivedView) => html`
            <${Backends}
              ...${value}
              query=${query}
              tab=${tab}
              place=${known.place}
              gateway=${gateway}
            />
          `}
        <//>
      `}
    <//>
  `
}

/** Loaded, but the live event has not arrived yet. */
function waiting<T>(loaded: Loaded<T>): Loaded<never> {
  return loaded.state === 'ready' ? { state: 'loading' } : loaded
}

function Backends(
  props: ReceivedView & {
    readonly query: URLSearchParams
    readonly tab: Tab
    readonly place: RuntimeView['place']
    readonly gateway: LinkState
  },
): ComponentChildren {
  const { view, at, query, tab, place, gateway } = props
  const { backends } = view
  const backend = backends.find(({ key }) => key === query.get('backend')) ?? backends[0]
  if (backend === undefined)
    return html`
      <${Empty} title="No MCP servers are configured">
        <p>A configuration such as this serves one at <code>/mcp</code>:</p>
        <pre class="example">${EXAMPLE}</pre>
      <//>
    `
  return html`
    ${backends.length > 1 && html`<${Chooser} of=${backends} chosen=${backend} tab=${tab} />`}
    <${BackendHead} backend=${backend} />
    <${Tabs} backend=${backend} view=${view} chosen=${tab} />
    <div hidden=${tab !== 'playground'}>
      <${PlaygroundView} key=${backend.key} backend=${backend} place=${place} gateway=${gateway} />
    </div>
    ${
      tab === 'sessions' &&
      html`<div class="card"><${Sessions} of=${backend.sessions} at=${at} /></div>`
    }
    ${
      tab === 'children' &&
      html`<div class="card"><${Children} of=${view.children} at=${at} /></div>`
    }
  `
}

function Chooser(props: {
  readonly of: readonly McpBackendView[]
  readonly chosen: McpBackendView
  readonly tab: Tab
}): VNode {
  const { of, chosen, tab } = props
  return html`
    <nav class="backends" aria-label="MCP backends">
      ${of.map(
        (one) => html`
          <a
            key=${one.key}
            href=${hrefOf(one, tab)}
            aria-current=${one === chosen ? 'true' : undefined}
          >
            <strong>${shortOf(one.route)}</strong>${' '}
            <code>${urlOf(one, location.hostname)}</code>${' '}
            <span class="dim">
              ${countOf(one.targets.length, 'target')}, ${countOf(one.open, 'session')}
            </span>
          </a>
        `,
      )}
    </nav>
  `
}

function Tabs(props: {
  readonly backend: McpBackendView
  readonly view: McpView
  readonly chosen: Tab
}): VNode {
  const { backend, view, chosen } = props
  return html`
    <nav class="tabs" aria-label="Views of this backend">
      ${TABS.map(
        (one) => html`
          <a
            key=${one}
            href=${hrefOf(backend, one)}
            aria-current=${one === chosen ? 'true' : undefined}
          >
            ${`${TITLES[one]} `}
            ${one !== 'playground' && html`<span class="count">${amountOf(one, backend, view)}</span>`}
          </a>
        `,
      )}
    </nav>
  `
}

function BackendHead({ backend }: { readonly backend: McpBackendView }): VNode {
  const url = urlOf(backend, location.hostname)
  const { authentication } = backend
  return html`
    <section class="card backend" aria-label="Backend">
      <div class="row">
        <h2>${shortOf(backend.route)}</h2>
        <code class="url">${url}</code>
        <${Copy} text=${url} />
        ${
          authentication === null
            ? html`<${Badge}>no mcpAuthentication<//>`
            : html`<${Badge} tone="accent">sign in at ${hostOf(authentication.issuer)}<//>`
        }
      </div>
      <${Targets} of=${backend.targets} />
    </section>
  `
}

function hrefOf({ key }: McpBackendView, tab: Tab): string {
  const query = new URLSearchParams({ backend: key, ...(tab === 'playground' ? {} : { tab }) })
  return `#/mcp?${query.toString()}`
}

function amountOf(tab: Tab, backend: McpBackendView, { children }: McpView): number {
  return tab === 'sessions' ? backend.open : children.shown.length + children.more
}

/** The name without its listener: `gateway/default/default/tools` becomes `tools`. */
function shortOf(route: string): string {
  return route.split('/').at(-1) ?? route
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url
}

function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

const TICK_MS = 1_000

const TONES: Readonly<Record<string, Tone>> = {
  open: 'good',
  ready: 'good',
  running: 'good',
  failed: 'bad',
  dead: 'bad',
  closed: 'warn',
  ending: 'warn',
}

interface Ageing {
  /** When the data arrived, on the clock of `performance.now()`. */
  readonly at: number
}

/** Milliseconds since the data arrived. */
function useAge({ at }: Ageing): number {
  const [now, setNow] = useState(performance.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  return Math.max(now - at, 0)
}

function State(props: { readonly of: string }): VNode {
  return html`<${Badge} tone=${TONES[props.of] ?? 'plain'}>${props.of}<//>`
}

function Targets(props: { readonly of: McpBackendView['targets'] }): VNode {
  return html`
    <ul class="targets" aria-label="Targets">
      ${props.of.map(
        ({ name, kind, where }) => html`
          <li key=${name}>
            <span>${name}</span>${' '} <${Badge}>${kind}<//>${' '}
            <code class="dim">${where}</code>
          </li>
        `,
      )}
    </ul>
  `
}

function Sessions(props: Ageing & { readonly of: LimitedList<SessionView> }): VNode {
  const { shown, more } = props.of
  const since = useAge(props)
  if (shown.length === 0)
    return html`
      <${Empty} title="No sessions">
        <p>A session opens when a client connects; the playground is a client too.</p>
      <//>
    `
  const hasWorkers = shown.some(({ worker }) => worker !== undefined)
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Sessions">
      <table>
        <thead>
          <tr>
            <th scope="col">Session</th>
            ${hasWorkers && html`<th scope="col">Worker</th>`}
            <th scope="col">State</th>
            <th scope="col" class="number">Age</th>
            <th scope="col" class="number">Idle</th>
            <th scope="col" class="number">Open calls</th>
            <th scope="col" class="number">Open streams</th>
            <th scope="col" class="states">Targets</th>
          </tr>
        </thead>
        <tbody>
          ${shown.map(
            (one) => html`
              <tr key=${one.id}>
                <td><code>${one.id}</code></td>
                ${hasWorkers && html`<td>${one.worker}</td>`}
                <td><${State} of=${one.state} /></td>
                <td class="number">${spanText(one.age + since)}</td>
                <td class="number">${spanText(one.calls > 0 ? one.idle : one.idle + since)}</td>
                <td class="number">${countText(one.calls)}</td>
                <td class="number">${one.channels}</td>
                <td class="states">
                  ${one.targets.map(
                    ({ name, state }) =>
                      html`<span key=${name}>${name} <${State} of=${state} /></span>`,
                  )}
                </td>
              </tr>
            `,
          )}
        </tbody>
      </table>
      ${more > 0 && html`<p class="dim">… ${more} more</p>`}
    </div>
  `
}

function Children(props: Ageing & { readonly of: LimitedList<ChildProcessState> }): VNode {
  const { shown, more } = props.of
  const since = useAge(props)
  if (shown.length === 0)
    return html`
      <${Empty} title="No child processes">
        <p>Each session starts one for each of its stdio targets.</p>
      <//>
    `
  return html`
    <ul class="children">
      ${shown.map(
        (one) => html`
          <li key=${one.pid}>
            <div class="row">
              <strong>${one.target}</strong>
              <${State} of=${one.state} />
              <dl class="facts">
                <div>
                  <dt>pid</dt>
                  <dd>${one.pid}</dd>
                </div>
                <div>
                  <dt>age</dt>
                  <dd>${spanText(one.age + since)}</dd>
                </div>
                <div>
                  <dt>memory</dt>
                  <dd>${one.rss === null ? 'unknown' : bytesText(one.rss)}</dd>
                </div>
                ${
                  one.worker !== undefined &&
                  html`
                    <div>
                      <dt>worker</dt>
                      <dd>${one.worker}</dd>
                    </div>
                  `
                }
                <div>
                  <dt>session</dt>
                  <dd><code>${one.session}</code></dd>
                </div>
              </dl>
            </div>
            ${
              one.lastStderr.length > 0 &&
              html`<pre class="wrapped" tabindex="0" aria-label="Last lines of its standard error">
${one.lastStderr.join('\n')}</pre>`
            }
          </li>
        `,
      )}
    </ul>
    ${more > 0 && html`<p class="dim">… ${more} more</p>`}
  `
}
