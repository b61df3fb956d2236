// The steps of a trace, each with a bar on the time scale of the whole request.

import { timeText } from '../../trace-view/amounts.ts'
import { labelOf, summaryOf } from '../../trace-view/event-summary.ts'
import { timingOf, totalOf } from '../../trace-view/trace-event.ts'
import type { Step, Timing } from '../../trace-view/trace-event.ts'
import { html, useEffect, useMemo, useRef } from '../page-view.ts'
import type { VNode } from '../page-view.ts'

/** Rows shown at once; more would make browsers slow. */
const MAX_ROWS = 500
const PAGE_STEPS = 10
/** Distance to the end of the window in pixels, since the part above may grow by a line. */
const MARGIN = 32

interface TimelineProps {
  readonly steps: readonly Step[]
  readonly selected: number
  /** Selection by keyboard. */
  readonly choose: (step: number) => void
  /** Selection by pointer. */
  readonly open: (step: number) => void
}

export function TraceTimeline(props: TimelineProps): VNode {
  const { steps, selected, choose, open } = props
  const list = useRef<HTMLDivElement>(null)
  const total = totalOf(steps)
  const first = Math.max(0, Math.floor(selected / MAX_ROWS)) * MAX_ROWS
  const shown = steps.slice(first, first + MAX_ROWS)
  useEffect(() => {
    // Scrolls the list only, not the page.
    const row = list.current?.querySelector<HTMLElement>('[aria-selected="true"]')
    if (row && list.current) scrollInto(list.current, row)
  }, [selected, first, steps.length])
  const press = (event: KeyboardEvent): void => {
    const next = nextOf(event.key, selected, steps.length - 1)
    if (next === null) return
    event.preventDefault()
    choose(next)
    // Where the list is not scrollable, the page scrolls.
    document.getElementById(`step-${next}`)?.scrollIntoView({ block: 'nearest' })
  }
  return html`
    <section class="card trace-timeline" aria-label="Timeline">
      <div class="head" aria-hidden="true">
        <span class="number">#</span>
        <span>Step</span>
        <span class="scale"><span>0</span><span>${timeText(total)}</span></span>
        <span class="number">Duration</span>
        <span class="what">Details</span>
      </div>
      <div
        class="steps"
        role="listbox"
        tabindex="0"
        aria-label="Steps of the request"
        aria-activedescendant=${selected >= 0 ? `step-${selected}` : undefined}
        ref=${list}
        onKeyDown=${press}
      >
        ${shown.map((step, at) => {
          const index = first + at
          return html`
            <${Row}
              key=${index}
              step=${step}
              index=${index}
              timing=${timingOf(steps, index)}
              total=${total}
              isSelected=${index === selected}
              open=${open}
            />
          `
        })}
      </div>
      ${steps.length > MAX_ROWS && html`<${Pages} steps=${steps} first=${first} choose=${choose} />`}
    </section>
  `
}

const SIGNS: ReadonlyMap<string, readonly [sign: string, word: string]> = new Map([
  ['error', ['✕', 'error']],
  ['warn', ['!', 'warning']],
  ['success', ['✓', 'allowed']],
])

interface RowProps {
  readonly step: Step
  readonly index: number
  readonly timing: Timing
  readonly total: number
  readonly isSelected: boolean
  readonly open: (step: number) => void
}

function Row(props: RowProps): VNode {
  const { step, index, timing, total, isSelected, open } = props
  const { event } = step
  const { from, to } = timing
  const words = useMemo(() => summaryOf({ ...event, scope: [] }), [event])
  const [sign, word] = SIGNS.get(event.severity) ?? ['', '']
  const tone = SIGNS.has(event.severity) ? event.severity : 'info'
  return html`
    <div
      id=${`step-${index}`}
      class=${`step ${tone}`}
      role="option"
      aria-selected=${isSelected}
      onClick=${() => open(index)}
    >
      <span class="number dim">${index + 1}</span>
      <span class="label">
        ${labelOf(event)} ${sign !== '' && html`<span class="sign" title=${word}>${sign}</span>`}
      </span>
      <span class="track" aria-hidden="true">
        <span class=${`mark ${to === from ? 'point' : ''}`} style=${placeOf(timing, total)}></span>
      </span>
      <span class="number took">${timeText(to - from)}</span>
      <span class="what" title=${words}>
        ${event.scope.length > 0 && html`<span class="badge accent">${event.scope.join(' › ')}</span>`}
        ${words}
      </span>
    </div>
  `
}

function Pages(props: {
  readonly steps: readonly Step[]
  readonly first: number
  readonly choose: (step: number) => void
}): VNode {
  const { steps, first, choose } = props
  const last = Math.min(first + MAX_ROWS, steps.length)
  return html`
    <div class="row pages">
      <button type="button" disabled=${first === 0} onClick=${() => choose(first - 1)}>
        Earlier
      </button>
      <span class="dim">${first + 1} to ${last} of ${steps.length}</span>
      <button type="button" disabled=${last === steps.length} onClick=${() => choose(last)}>
        Later
      </button>
    </div>
  `
}

function placeOf({ from, to }: Timing, total: number): Record<string, string> {
  if (total <= 0) return { left: '0%', width: '0%' }
  return { left: `${(from / total) * 100}%`, width: `${((to - from) / total) * 100}%` }
}

function nextOf(key: string, selected: number, last: number): number | null {
  const to = (step: number): number => Math.max(0, Math.min(step, last))
  if (key === 'ArrowDown' || key === 'j') return to(selected + 1)
  if (key === 'ArrowUp' || key === 'k') return to(selected - 1)
  if (key === 'PageDown') return to(selected + PAGE_STEPS)
  if (key === 'PageUp') return to(selected - PAGE_STEPS)
  if (key === 'Home') return 0
  return key === 'End' ? to(last) : null
}

/** Also where the end of the list is below the visible part of the window. */
function scrollInto(list: HTMLElement, row: HTMLElement): void {
  const [frame, own] = [list.getBoundingClientRect(), row.getBoundingClientRect()]
  const bottom = Math.min(frame.bottom, innerHeight - MARGIN)
  if (own.top < frame.top) list.scrollTop -= frame.top - own.top
  else if (own.bottom > bottom) list.scrollTop += own.bottom - bottom
}
