// Gateways, routes, policies and backends as they hang together, with their traffic and what is wrong with them.

import { html, useEffect, useMemo, useRef, useState } from '../view.ts'
import type { ComponentChildren, VNode } from '../view.ts'
import type { PageProps } from '../pages.ts'
import { GraphDrawing } from './draw.ts'
import { besideOf, findBox } from './find.ts'
import type { PolicyForm } from './layout.ts'
import {
  FIRST_ROUTES,
  graphOf,
  keyOf,
  MOST_PROBLEMS,
  MOST_ROUTES,
  problemsOf,
  routeId,
} from './model.ts'
import type { Choice, FoundProblem, Graph } from './model.ts'
import { GraphPanel } from './panel.ts'
import { GraphTree } from './tree.ts'
import { useMap, usePaces, useWidth } from './use.ts'
import { drawnText, some } from './words.ts'
import { Search, Select } from '../parts/fields.ts'
import { Await, Empty } from '../parts/loading.ts'
import type { MapView } from '../../../admin/page-api/page-api-types.ts'

/** That are listed at first. */
const FIRST_PROBLEMS = 5
/** Of what covers the page above. */
const TOP_HEIGHT = 48
/** Narrower places have the tree. */
const LEAST_WIDTH = 720
/** With more routes than these, policies are counted at first. */
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
  const paces = usePaces(view)
  const graph = useMemo(
    () => graphOf(view, { words, choice, most, keep: opened.keep }),
    [view, words, choice, most, opened.keep],
  )
  const shownForm = form ?? (graph.routes > MANY_ROUTES ? 'counts' : 'names')
  const found = opened.id === null ? null : findBox(graph, opened.id)
  const panel =
    found &&
    html`<${GraphPanel} opened=${found} paces=${paces} open=${open} close=${() => open(null)} />`
  return html`
    <div>
      <${ProblemList} of=${problemsOf(view)} open=${open} />
      <div class="row map-tools">
        <${Search} hint="Search names, paths, policies, backends" words=${words} set=${setWords} />
        <${Select} name="Show" value=${choice} of=${CHOICES} set=${setChoice} />
        <${Select}
          name="Policies"
          value=${shownForm}
          of=${{ names: 'Policies by name', counts: 'Policies counted' }}
          set=${setForm}
        />
      </div>
      <${Told}
        graph=${graph}
        more=${view.more}
        draw=${() => setMost(Math.min(most * 2, MOST_ROUTES))}
        most=${most}
      />
      ${route !== null && opened.id === routeId(route) && found === null && html`<p class="note warn" role="status">There is no route <code>${route}</code> here, or not any more.</p>`}
      <${Body}
        graph=${graph}
        form=${shownForm}
        paces=${paces}
        opened=${opened.id}
        open=${open}
        panel=${panel}
      />
    </div>
  `
}

interface OpenedBox {
  readonly id: string | null
  /** Key of a route that stays drawn. */
  readonly keep: string | null
}

type Open = (id: string | null, keep?: string | null) => void

/** The address names the route that is open, so that it can be sent to somebody. */
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

/** How much of it all is drawn, and what the lines mean. */
function Told(props: {
  readonly graph: Graph
  readonly more: number
  readonly most: number
  readonly draw: () => void
}): VNode {
  const { graph, more, most, draw } = props
  const isMore = graph.fitting > graph.drawn && most < MOST_ROUTES
  return html`
    <div class="dim map-told">
      <span role="status">${drawnText(graph, more)}</span>
      ${isMore && html`<button type="button" class="plain go" onClick=${draw}>Draw more</button>`}
      <span class="legend">
        <i class="wire-key" /> as wide as the requests since the start
        <i class="wire-key live" /> in the last seconds <i class="wire-key failing" /> with errors
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
  const left = Math.min(of.length, MOST_PROBLEMS) - most
  return html`
    <section class="note bad map-problems" aria-label="Problems">
      <h2>${some(of.length, 'problem')}</h2>
      <ul>
        ${of.slice(0, most).map(({ id, route, where, reason }) => {
          const to = html`<button type="button" class="plain go" onClick=${() => open(id, route)}>
            ${where}
          </button>`
          return html`<li>${id !== null && to} <span class="bad mono">${reason}</span></li>`
        })}
      </ul>
      ${left > 0 && html`<button type="button" class="plain go" onClick=${() => setMost(MOST_PROBLEMS)}>Show ${left} more</button>`}
    </section>
  `
}

function Body(props: {
  readonly graph: Graph
  readonly form: PolicyForm
  readonly paces: ReturnType<typeof usePaces>
  readonly opened: string | null
  readonly open: Open
  readonly panel: VNode | null
}): VNode {
  const { graph, opened, open, panel, ...rest } = props
  const [whole, wholeWidth] = useWidth()
  const [place, width] = useWidth()
  const isTree = wholeWidth < LEAST_WIDTH
  const lastOpened = useRef<string | null>(null)
  useEffect(() => {
    const id = opened ?? lastOpened.current
    lastOpened.current = opened
    if (id === null) return
    const box = whole.current?.querySelector<HTMLElement>(`[data-box="${CSS.escape(id)}"]`)
    if (opened === null) box?.focus()
    else if (box) show(box, isTree ? 'below' : 'beside')
  }, [opened, width])
  const parts = { graph, opened, open, ...rest }
  const isBeside = panel !== null && !isTree
  return html`
    <div
      ref=${whole}
      class=${`map-body ${isBeside ? 'beside' : ''}`}
      onKeyDown=${(event: KeyboardEvent) => press(event, opened === null ? null : open)}
    >
      <div class="map-place">
        <div ref=${place}>
          ${graph.drawn === 0 && graph.routes > 0 && html`<${Empty} title="No route fits." />`}
          ${graph.gateways.length === 0 && graph.routes === 0 && html`<${Empty} title="There is nothing to serve yet." />`}
          ${wholeWidth > 0 && (isTree ? html`<${GraphTree} ...${parts} panel=${panel} />` : html`<${GraphDrawing} ...${parts} width=${Math.max(width, LEAST_WIDTH)} />`)}
        </div>
      </div>
      ${isBeside && panel}
    </div>
  `
}

/** A box that can be seen stays where it is, if there is room for the panel. */
function show(box: HTMLElement, panel: 'beside' | 'below'): void {
  const { top, bottom } = box.getBoundingClientRect()
  const lowest = panel === 'below' ? innerHeight / 2 : innerHeight
  const isSeen = top >= TOP_HEIGHT && bottom <= lowest
  const away = panel === 'below' ? 'start' : 'center'
  box.scrollIntoView({ block: isSeen ? 'nearest' : away, inline: 'nearest' })
}

/** Escape closes the panel; arrow keys go from box to box. */
function press(event: KeyboardEvent, open: Open | null): void {
  if (event.key === 'Escape' && open !== null) return open(null)
  const from = event.target as HTMLElement
  if (from.dataset['box'] === undefined) return
  const boxes = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>('[data-box]')]
  const rects = boxes.map((box) => box.getBoundingClientRect())
  const next = besideOf(event.key, from.getBoundingClientRect(), rects)
  if (next === null) return
  event.preventDefault()
  boxes[next]!.focus()
}
