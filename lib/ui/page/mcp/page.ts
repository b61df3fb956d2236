// MCP: which servers there are and where clients find them, who uses them, what runs for that, and a playground.

import { html, useEffect, useState } from '../view.ts'
import type { ComponentChildren, VNode } from '../view.ts'
import { RUNTIME } from '../api.ts'
import type {
  McpBackendView,
  McpView,
  RuntimeView,
} from '../../../admin/page-api/page-api-types.ts'
import { urlOf } from './curl.ts'
import type { PageProps } from '../pages.ts'
import { Badge } from '../parts/badge.ts'
import { Copy } from '../parts/copy.ts'
import { Await, Empty } from '../parts/loading.ts'
import { Children, Sessions, Targets } from './running.ts'
import { PlaygroundView } from './playground.ts'
import { useLive, useLoaded } from '../use.ts'
import type { Loaded } from '../use.ts'
import type { LinkState } from '../live.ts'

const EXAMPLE = `mcp:
  targets:
    - name: demo
      stdio: { cmd: node, args: [server.js] }`

const TABS = ['playground', 'sessions', 'children'] as const

type Tab = (typeof TABS)[number]

const TITLES = { playground: 'Playground', sessions: 'Sessions', children: 'Children' }

/** Ages grow from there on. */
interface Told {
  readonly view: McpView
  /** On the clock of `performance.now()`. */
  readonly at: number
}

const ASK_MS = 5_000

export function Mcp({ query }: PageProps): VNode {
  const [loaded, again] = useLoaded<McpView>('/api/mcp')
  const [runtime, askAgain] = useLoaded<RuntimeView>(RUNTIME)
  const [told, setTold] = useState<Told | null>(null)
  const gateway = useLive('mcp', (view) => setTold({ view, at: performance.now() }))
  useEffect(() => {
    if (loaded.state === 'ready') setTold({ view: loaded.value, at: performance.now() })
  }, [loaded])
  const tab = TABS.find((one) => one === query.get('tab')) ?? 'playground'
  // Memory is not told whenever it changes.
  useEffect(() => {
    const timer = tab === 'children' ? setInterval(again, ASK_MS) : undefined
    return () => clearInterval(timer)
  }, [tab])
  const shown = told === null ? waiting(loaded) : ({ state: 'ready', value: told } as const)
  return html`
    <${Await} of=${runtime} again=${askAgain}>
      ${(known: RuntimeView) => html`
        <${Await} of=${shown} again=${again}>
          ${(value: Told) => html`
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

/** What is there is told in a moment. */
function waiting<T>(loaded: Loaded<T>): Loaded<never> {
  return loaded.state === 'ready' ? { state: 'loading' } : loaded
}

function Backends(
  props: Told & {
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
        <pre>${EXAMPLE}</pre>
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
    <nav class="tabs" aria-label="Of this backend">
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

/** Behind its listener: `gateway/default/default/tools` is `tools`. */
function shortOf(route: string): string {
  return route.split('/').at(-1) ?? route
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url
}

function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
