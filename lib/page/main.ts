// The frame of the page: the menu, the connection state, the theme, and the page that the address selects.

import type { RuntimeView } from '../admin/page-api/page-api-types.ts'
import { html, render, useEffect, useRef, useState } from './page-view.ts'
import type { ComponentType, PageProps, VNode } from './page-view.ts'
import { Badge, Empty } from './parts/elements.ts'
import { RUNTIME, useLive, useLoaded, useStored } from './server-data.ts'
import type { LinkState } from './server-data.ts'
import { Configuration } from './configuration/configuration-page.ts'
import { Limits } from './limits/limits-page.ts'
import { LiveTrace } from './trace/trace-page.ts'
import { Logs } from './logs/logs-page.ts'
import { MapPage } from './map/map-page.ts'
import { Mcp } from './mcp/mcp-page.ts'
import { Overview } from './overview/overview-page.ts'
import { isRedirectTarget, SignedIn } from './mcp/sign-in.ts'

export function App(): VNode {
  const address = usePageAddress()
  const page = PAGES.find(({ path }) => path === address.path) ?? NOT_FOUND
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${page.title} · gateway`
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest' })
    if (!isFirst.current) document.getElementById('content')?.focus()
    isFirst.current = false
  }, [page])
  return html`
    <a class="skip" href="#content" onClick=${skip}>Skip to content</a>
    <header class="top">
      <a class="brand" href="#/">gateway</a>
      <nav aria-label="Pages">
        ${PAGES.map(
          ({ path, title }) => html`
            <a
              key=${path}
              href=${`#/${path}`}
              aria-current=${path === address.path ? 'page' : undefined}
            >
              ${title}
            </a>
          `,
        )}
      </nav>
      <${Status} />
      <${Theme} />
    </header>
    <main id="content" tabindex="-1">
      <h1>${page.title}</h1>
      <${page.view} key=${page.path} query=${address.query} />
    </main>
  `
}

/** The part of the address after the `#`: `#/trace?expression=…` */
interface PageAddress {
  readonly path: string
  readonly query: URLSearchParams
}

function usePageAddress(): PageAddress {
  const [address, set] = useState(pageAddressOf)
  useEffect(() => {
    const changed = (): void => set(pageAddressOf())
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return address
}

function pageAddressOf(): PageAddress {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
  return { path, query: new URLSearchParams(query) }
}

/** The hash selects the page, so a link to an anchor would lose it. */
function skip(event: Event): void {
  event.preventDefault()
  document.getElementById('content')?.focus()
}

const LINK_TEXTS: Readonly<Record<LinkState, string>> = {
  opening: 'connecting',
  open: 'live',
  lost: 'offline',
}

/** Whether live data arrives, and whether the last reload was refused. */
function Status(): VNode {
  const [runtime, again] = useLoaded<RuntimeView>(RUNTIME)
  const [refused, setRefused] = useState(false)
  const known = useRef(0)
  const link = useLive('config', ({ generation, isRefused }) => {
    setRefused(isRefused)
    if (generation !== known.current) again()
    known.current = generation
  })
  const facts = runtime.state === 'ready' ? runtime.value : null
  // A refusal by a policy is shown by the page itself.
  const isAnswered = runtime.state === 'failed' && runtime.status !== null
  return html`
    <div class="status">
      ${refused && html`<a href="#/config"><${Badge} tone="bad">reload refused<//></a>`}
      ${
        facts !== null &&
        facts.readiness !== 'ready' &&
        html`<${Badge} tone="warn">${facts.readiness}<//>`
      }
      <span class=${`link ${link}`} role="status">${LINK_TEXTS[link]}</span>
      ${facts !== null && html`<span class="dim version">${facts.version}</span>`}
    </div>
    ${
      link === 'lost' &&
      !isAnswered &&
      html`
        <div class="toast" role="alert">
          <strong>Connection to the gateway lost.</strong> The page shows the last known state and
          reconnects automatically.
        </div>
      `
    }
  `
}

const THEMES = ['system', 'light', 'dark'] as const

function Theme(): VNode {
  const [theme, set] = useStored('theme', 'system')
  useEffect(() => {
    const { dataset } = document.documentElement
    if (theme === 'system') delete dataset['theme']
    else dataset['theme'] = theme
  }, [theme])
  return html`
    <label class="theme">
      <span class="unseen">Theme</span>
      <select
        value=${theme}
        onChange=${(event: Event) => set((event.target as HTMLSelectElement).value)}
      >
        ${THEMES.map((name) => html`<option value=${name}>${name}</option>`)}
      </select>
    </label>
  `
}

interface Page {
  readonly path: string
  readonly title: string
  readonly view: ComponentType<PageProps>
}

export const PAGES: readonly Page[] = [
  { path: '', title: 'Overview', view: Overview },
  { path: 'map', title: 'Map', view: MapPage },
  { path: 'trace', title: 'Live trace', view: LiveTrace },
  { path: 'mcp', title: 'MCP', view: Mcp },
  { path: 'limits', title: 'Limits', view: Limits },
  { path: 'logs', title: 'Logs', view: Logs },
  { path: 'config', title: 'Configuration', view: Configuration },
]

/** For an address that no page has, such as one with a mistake or of another version. */
const NOT_FOUND: Page = {
  path: '?',
  title: 'Page not found',
  view: () => html`
    <${Empty} title="There is no page at this address.">
      <p>Choose a page in the menu, or open the <a href="#/">overview</a>.</p>
    <//>
  `,
}

render(html`<${isRedirectTarget() ? SignedIn : App} />`, document.getElementById('page')!)
