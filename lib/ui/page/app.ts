// The frame around every page: where one can go, what is served, and light or dark.

import { html, useEffect, useRef, useState } from './view.ts'
import type { VNode } from './view.ts'
import { Badge } from './parts/badge.ts'
import { PAGES } from './pages.ts'
import { useKept, useLive, useLoaded } from './use.ts'
import type { LinkState } from './live.ts'
import { RUNTIME } from './api.ts'
import type { RuntimeView } from '../../admin/page-api/page-api-types.ts'

export function App(): VNode {
  const place = usePlace()
  const page = PAGES.find(({ path }) => path === place.path) ?? PAGES[0]!
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${page.title} · gateway`
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest' })
    if (!isFirst.current) document.getElementById('content')?.focus()
    isFirst.current = false
  }, [page])
  return html`
    <a class="skip" href="#content" onClick=${skip}>Skip to the content</a>
    <header class="top">
      <a class="brand" href="#/">gateway</a>
      <nav aria-label="Pages">
        ${PAGES.map(
          ({ path, title }) => html`
            <a
              key=${path}
              href=${`#/${path}`}
              aria-current=${path === page.path ? 'page' : undefined}
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
      <${page.view} key=${page.path} query=${place.query} />
    </main>
  `
}

/** Behind the `#`: `#/trace?expression=…` */
interface PagePlace {
  readonly path: string
  readonly query: URLSearchParams
}

function usePlace(): PagePlace {
  const [place, set] = useState(placeOf)
  useEffect(() => {
    const changed = (): void => set(placeOf())
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return place
}

function placeOf(): PagePlace {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
  return { path, query: new URLSearchParams(query) }
}

/** The hash is where the page is: a link to the content would lose it. */
function skip(event: Event): void {
  event.preventDefault()
  document.getElementById('content')?.focus()
}

const WORDS: Readonly<Record<LinkState, string>> = {
  opening: 'connecting',
  open: 'live',
  lost: 'offline',
}

/** Whether what is shown is live, and whether the last reload was refused. */
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
  // Whoever may not read is told so by the page itself.
  const isAnswered = runtime.state === 'failed' && runtime.status !== null
  return html`
    <div class="status">
      ${refused && html`<a href="#/config"><${Badge} tone="bad">reload refused<//></a>`}
      ${
        facts !== null &&
        facts.readiness !== 'ready' &&
        html`<${Badge} tone="warn">${facts.readiness}<//>`
      }
      <span class=${`link ${link}`} role="status">${WORDS[link]}</span>
      ${facts !== null && html`<span class="dim version">${facts.version}</span>`}
    </div>
    ${
      link === 'lost' &&
      !isAnswered &&
      html`
        <div class="toast" role="alert">
          <strong>The connection to the gateway is lost.</strong> What is shown is as it was last;
          it is tried again by itself.
        </div>
      `
    }
  `
}

const THEMES = ['system', 'light', 'dark'] as const

function Theme(): VNode {
  const [theme, set] = useKept('theme', 'system')
  useEffect(() => {
    const { dataset } = document.documentElement
    if (theme === 'system') delete dataset['theme']
    else dataset['theme'] = theme
  }, [theme])
  return html`
    <label class="theme">
      <span class="unseen">Colours</span>
      <select
        value=${theme}
        onChange=${(event: Event) => set((event.target as HTMLSelectElement).value)}
      >
        ${THEMES.map((name) => html`<option value=${name}>${name}</option>`)}
      </select>
    </label>
  `
}
