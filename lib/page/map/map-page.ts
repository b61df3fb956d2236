// The map: listeners, routes, policies and backends as a graph, with filters and live traffic.

import type { MapView, RouteTraffic } from '../../admin/page-api/page-api-types.ts'
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../page-view.ts'
import type { ComponentChildren, PageProps, VNode } from '../page-view.ts'
import { Await, Empty, Search, Select } from '../parts/elements.ts'
import { useLatest, useLive, useLoaded } from '../server-data.ts'
import type { Loaded } from '../server-data.ts'
import { GraphDrawing } from './map-drawing.ts'
import {
  findBox,
  FIRST_ROUTES,
  graphOf,
  keyOf,
  MAX_PROBLEMS,
  MAX_ROUTES,
  neighbourOf,
  problemsOf,
  routeId,
} from './map-graph.ts'
import type { Choice, FoundProblem, Graph } from './map-graph.ts'
import type { PolicyForm } from './map-layout.ts'
import { GraphPanel } from './map-panel.ts'
import { GraphTree } from './map-tree.ts'
import { countedText, drawnText, rateBetween } from './map-texts.ts'
import type { RouteRate } from './map-texts.ts'

/** Listed at first. */
const FIRST_PROBLEMS = 5
/** Height of the header that covers the top of the page. */
const HEADER_HEIGHT = 48
/** Narrower screens show the tree. */
const MIN_GRAPH_WIDTH = 720
/** With more routes than this, policies are shown as counts at first. */
const MANY_ROUTES = 60

const CHOICES: Readonly<Record<Choice, string>> = {
  all: 'All routes',
  problems: 'With problems',
  errors: 'With errors',
  traffic: 'With traffic',
}

export function MapPage({ query }: PageProps): VNode {
  const [loaded, again] = useMap()
  return html`
    <div class="map">
      <${Await} of=${loaded} again=${again}>
        ${(view: MapView) => html`<${Shown} view=${view} route=${query.get('route')} />`}
      <//>
    </div>
  `
}

function Shown({ view, route }: { readonly view: MapView; readonly route: string | null }): VNode {
  const [words, setWords] = useState('')
  const [choice, setChoice] = useState<Choice>('all')
  const [most, setMost] = useState(FIRST_ROUTES)
  const [form, setForm] = useState<PolicyForm | null>(null)
  const [opened, open] = useOpened(route)
  const rates = useRates(view)
  const graph = useMemo(
    () => graphOf(view, { words, choice, most, keep: opened.keep }),
    [view, words, choice, most, opened.keep],
  )
  const shownForm = form ?? (graph.routes > MANY_ROUTES ? 'counts' : 'names')
  const found = opened.id === null ? null : findBox(graph, opened.id)
  const panel =
    found &&
    html`<${GraphPanel} opened=${found} rates=${rates} open=${open} close=${() => open(null)} />`
  return html`
    <div>
      <${ProblemList} of=${problemsOf(view)} open=${open} />
      <div class="row map-tools">
        <${Search} hint="Search names, paths, policies, backends" words=${words} set=${setWords} />
        <${Select} name="Show" value=${choice} of=${CHOICES} set=${setChoice} />
        <${Select}
          name="Policies"
          value=${shownForm}
          of=${{ names: 'Policies by name', counts: 'Policies as counts' }}
          set=${setForm}
        />
      </div>
      <${DrawnNote}
        graph=${graph}
        more=${view.more}
        draw=${() => setMost(Math.min(most * 2, MAX_ROUTES))}
        most=${most}
      />
      ${route !== null && opened.id === routeId(route) && found === null && html`<p class="note warn" role="status">There is no route <code>${route}</code>.</p>`}
      <${Body}
        graph=${graph}
        form=${shownForm}
        rates=${rates}
        opened=${opened.id}
        open=${open}
        panel=${panel}
      />
    </div>
  `
}

interface OpenedBox {
  readonly id: string | null
  /** Key of a route that is always drawn. */
  readonly keep: string | null
}

type Open = (id: string | null, keep?: string | null) => void

/** The address contains the open route, so that it can be shared as a link. */
function useOpened(route: string | null): readonly [OpenedBox, Open] {
  const named = { id: route === null ? null : routeId(route), keep: route }
  const [opened, set] = useState<OpenedBox>(named)
  useEffect(() => set(named), [route])
  const open: Open = (id, keep = opened.keep) => {
    const key = id === null ? null : keyOf(id)
    set({ id, keep: key ?? keep })
    const query = key === null ? '' : `?route=${encodeURIComponent(key)}`
    history.replaceState(null, '', `#/map${query}`)
  }
  return [opened, open]
}

/** How many routes are drawn, and the legend of the lines. */
function DrawnNote(props: {
  readonly graph: Graph
  readonly more: number
  readonly most: number
  readonly draw: () => void
}): VNode {
  const { graph, more, most, draw } = props
  const isMore = graph.fitting > graph.drawn && most < MAX_ROUTES
  return html`
    <div class="dim map-note">
      <span role="status">${drawnText(graph, more)}</span>
      ${isMore && html`<button type="button" class="plain go" onClick=${draw}>Draw more</button>`}
      <span class="legend">
        <i class="wire-key" /> width: requests since the start <i class="wire-key live" /> traffic
        in the last seconds <i class="wire-key failing" /> with errors
      </span>
    </div>
  `
}

function ProblemList(props: {
  readonly of: readonly FoundProblem[]
  readonly open: Open
}): ComponentChildren {
  const { of, open } = props
  const [most, setMost] = useState(FIRST_PROBLEMS)
  if (of.length === 0) return null
  const left = Math.min(of.length, MAX_PROBLEMS) - most
  return html`
    <section class="note bad map-problems" aria-label="Problems">
      <h2>${countedText(of.length, 'problem')}</h2>
      <ul>
        ${of.slice(0, most).map(({ id, route, where, reason }) => {
          const to = html`<button type="button" class="plain go" onClick=${() => open(id, route)}>
            ${where}
          </button>`
          return html`<li>${id !== null && to} <span class="bad mono">${reason}</span></li>`
        })}
      </ul>
      ${left > 0 && html`<button type="button" class="plain go" onClick=${() => setMost(MAX_PROBLEMS)}>Show ${left} more</button>`}
    </section>
  `
}

function Body(props: {
  readonly graph: Graph
  readonly form: PolicyForm
  readonly rates: ReturnType<typeof useRates>
  readonly opened: string | null
  readonly open: Open
  readonly panel: VNode | null
}): VNode {
  const { graph, opened, open, panel, ...rest } = props
  const [whole, wholeWidth] = useWidth()
  const [place, width] = useWidth()
  const isTree = wholeWidth < MIN_GRAPH_WIDTH
  const lastOpened = useRef<string | null>(null)
  useEffect(() => {
    const id = opened ?? lastOpened.current
    lastOpened.current = opened
    if (id === null) return
    const box = whole.current?.querySelector<HTMLElement>(`[data-box="${CSS.escape(id)}"]`)
    if (opened === null) box?.focus()
    else if (box) show(box, isTree ? 'below' : 'side')
  }, [opened, width])
  const parts = { graph, opened, open, ...rest }
  const isAtSide = panel !== null && !isTree
  return html`
    <div
      ref=${whole}
      class=${`map-body ${isAtSide ? 'side' : ''}`}
      onKeyDown=${(event: KeyboardEvent) => press(event, opened === null ? null : open)}
    >
      <div class="map-place">
        <div ref=${place}>
          ${graph.drawn === 0 && graph.routes > 0 && html`<${Empty} title="No route matches." />`}
          ${graph.gateways.length === 0 && graph.routes === 0 && html`<${Empty} title="No routes are configured." />`}
          ${wholeWidth > 0 && (isTree ? html`<${GraphTree} ...${parts} panel=${panel} />` : html`<${GraphDrawing} ...${parts} width=${Math.max(width, MIN_GRAPH_WIDTH)} />`)}
        </div>
      </div>
      ${isAtSide && panel}
    </div>
  `
}

/** A visible box keeps its position, if there is room for the panel. */
function show(box: HTMLElement, panel: 'side' | 'below'): void {
  const { top, bottom } = box.getBoundingClientRect()
  const lowest = panel === 'below' ? innerHeight / 2 : innerHeight
  const isSeen = top >= HEADER_HEIGHT && bottom <= lowest
  const away = panel === 'below' ? 'start' : 'center'
  box.scrollIntoView({ block: isSeen ? 'nearest' : away, inline: 'nearest' })
}

/** Escape closes the panel; arrow keys move from box to box. */
function press(event: KeyboardEvent, open: Open | null): void {
  if (event.key === 'Escape' && open !== null) return open(null)
  const from = event.target as HTMLElement
  if (from.dataset['box'] === undefined) return
  const boxes = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>('[data-box]')]
  const rects = boxes.map((box) => box.getBoundingClientRect())
  const next = neighbourOf(event.key, from.getBoundingClientRect(), rects)
  if (next === null) return
  event.preventDefault()
  boxes[next]!.focus()
}

/** Between two reads of the counts, while the page is visible. */
const READ_EVERY_MS = 4_000

function useMap(): readonly [Loaded<MapView>, again: () => void] {
  const [loaded, again] = useLoaded<MapView>('/api/map')
  const latest = useLatest(loaded)
  useLive('config', ({ generation }) => {
    const { current } = latest
    if (current.state === 'failed') again()
    else if (current.state === 'ready' && current.value.generation !== generation) again()
  })
  useEffect(() => {
    const look = (): void => {
      if (!document.hidden) again()
    }
    const timer = setInterval(look, READ_EVERY_MS)
    document.addEventListener('visibilitychange', look)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [again])
  return [loaded, again]
}

interface CountRead {
  readonly at: number
  readonly counts: ReadonlyMap<string, RouteTraffic>
}

/** By key of the route; idle routes are absent. */
function useRates(view: MapView | null): ReadonlyMap<string, RouteRate> {
  const last = useRef<CountRead | null>(null)
  const [rates, set] = useState<ReadonlyMap<string, RouteRate>>(new Map())
  useEffect(() => {
    if (view === null) return
    const routes = view.gateways.flatMap(({ listeners }) => listeners).flatMap((one) => one.routes)
    const counts = new Map(routes.map(({ key, traffic }) => [key, traffic]))
    const now = { at: performance.now(), counts }
    const before = last.current
    last.current = now
    if (before === null) return
    const found = new Map<string, RouteRate>()
    for (const [key, traffic] of counts) {
      const was = before.counts.get(key)
      const rate = was === undefined ? null : rateBetween(was, traffic, now.at - before.at)
      if (rate !== null && rate.requests > 0) found.set(key, rate)
    }
    set(found)
  }, [view])
  return rates
}

/** Width of the element with this reference; 0 before it is rendered. */
function useWidth(): readonly [{ current: HTMLDivElement | null }, number] {
  const place = useRef<HTMLDivElement>(null)
  const [width, set] = useState(0)
  useLayoutEffect(() => {
    const element = place.current
    if (element === null) return
    set(element.clientWidth)
    const observer = new ResizeObserver(() => set(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [place, width]
}
