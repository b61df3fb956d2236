// The frame around every page: where one can go, what is served, and light or dark.

import { html, useEffect, useState } from './view.ts'
import type { VNode } from './view.ts'
import { PAGES } from './pages.ts'
import { useKept, useLive, useLoaded } from './use.ts'
import type { Runtime } from '../api.ts'

export function App(): VNode {
  const place = usePlace()
  const page = PAGES.find(({ path }) => path === place.path) ?? PAGES[0]!
  useEffect(() => {
    document.title = `${page.title} · gateway`
    document.getElementById('content')?.focus()
  }, [page])
  return html`
    <a class="skip" href="#content" onClick=${skip}>Skip to the content</a>
    <header class="top">
      <a class="brand" href="#/">gateway</a>
      <nav aria-label="Pages">
        ${PAGES.map(
          ({ path, title }) => html`
            <a href=${`#/${path}`} aria-current=${path === page.path ? 'page' : undefined}>
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

/** Whether what is shown is live, and whether the last reload was refused. */
function Status(): VNode {
  const [runtime, again] = useLoaded<Runtime>('/api/runtime')
  const [refused, setRefused] = useState(false)
  const link = useLive('config', ({ isRefused }) => {
    setRefused(isRefused)
    again()
  })
  const words = { opening: 'connecting', open: 'live', lost: 'not connected' }
  return html`
    <div class="status" role="status">
      ${refused && html`<a class="bad" href="#/config">reload refused</a>`}
      <span class=${`link ${link}`}>${words[link]}</span>
      ${runtime.state === 'ready' && html`<span class="dim">${runtime.value.version}</span>`}
    </div>
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
