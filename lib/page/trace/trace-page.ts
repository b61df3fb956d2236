// The live trace page: start a trace, the list of kept traces, and the selected one.

import { html, useEffect, useRef, useState } from '../page-view.ts'
import type { PageProps, VNode } from '../page-view.ts'
import { Badge, Empty, toneOfStatus } from '../parts/elements.ts'
import { useObservable } from '../observable.ts'
import { clockText, dateText } from '../parts/number-text.ts'
import { TraceStart } from './trace-start.ts'
import { TraceDetails } from './trace-step.ts'
import { TraceOutcome } from './trace-outcome.ts'
import { TraceTimeline } from './trace-timeline.ts'
import { fileNote, loadFile } from './trace-files.ts'
import type { FileNote } from './trace-files.ts'
import { firstStepOf, titleOf, TRACER } from './tracer.ts'
import type { KeptTrace, TraceMode } from './tracer.ts'

export function LiveTrace(props: PageProps): VNode {
  const wanted = props.query.get('expression')
  const expression = useObservable(TRACER.expression)
  const traces = useObservable(TRACER.traces)
  const watch = useObservable(TRACER.watch)
  const selection = useObservable(TRACER.selection)
  const { note, load, forget } = useFiles()
  const trace = traces.find(({ id }) => id === selection.id) ?? traces[0]
  const start = (mode: TraceMode): void => void TRACER.start(expression.trim(), mode)
  useEffect(() => {
    if (wanted === null) return
    // Without the query, so that going back shows the trace and does not start another one.
    history.replaceState(null, '', '#/trace')
    TRACER.expression.set(wanted)
    void TRACER.start(wanted.trim(), 'once')
  }, [props.query])
  const isBusy = watch.state !== 'idle' && watch.state !== 'failed'
  // After a link that starts a trace, only the waiting state is shown.
  const isAwaited = isBusy && selection.id === 0
  return html`
    <div class="trace-page">
      <div class="trace-top">
        <${TraceStart}
          expression=${expression}
          setExpression=${(text: string) => TRACER.expression.set(text)}
          watch=${watch}
          start=${start}
          stop=${() => TRACER.stop()}
          load=${load}
        />
        <${TraceList}
          traces=${traces}
          chosen=${trace?.id ?? 0}
          choose=${(id: number) => TRACER.selectTrace(id)}
          clear=${() => TRACER.clear()}
        />
      </div>
      ${note !== null && html`<${Problems} note=${note} forget=${forget} />`}
      ${
        trace === undefined
          ? !isBusy && html`<${About} />`
          : !isAwaited &&
            html`<${OneTrace}
              key=${trace.id}
              trace=${trace}
              picked=${selection.id === trace.id ? selection.step : null}
              again=${isBusy || trace.file !== null ? null : () => start('once')}
            />`
      }
    </div>
  `
}

function OneTrace(props: {
  readonly trace: KeptTrace
  readonly picked: number | null
  readonly again: (() => void) | null
}): VNode {
  const { trace, picked, again } = props
  const place = useRef<HTMLDivElement>(null)
  const isNarrow = useNarrow()
  const selected = picked ?? firstStepOf(trace)
  const pick = (step: number): void => TRACER.selectStep(trace.id, step)
  const show = (what: string): void =>
    place.current?.querySelector(what)?.scrollIntoView({ block: 'start' })
  /** Where the details are below the steps, opening a step scrolls to them. */
  const open = (step: number): void => {
    pick(step)
    if (isNarrow) show('.trace-details')
  }
  return html`
    <${TraceOutcome} trace=${trace} choose=${open} again=${again} />
    <div class="trace-split" ref=${place}>
      <${TraceTimeline} steps=${trace.steps} selected=${selected} choose=${pick} open=${open} />
      <${TraceDetails}
        steps=${trace.steps}
        at=${selected}
        back=${isNarrow ? () => show(`#step-${selected}`) : null}
      />
    </div>
  `
}

function About(): VNode {
  return html`
    <${Empty} title="Follow one request, step by step.">
      <p>
        The selected route, the result of each policy, the request to the backend and its response,
        with exact bodies and times. Credentials in headers are not shown.
      </p>
      <p>Click the button and send a request, or drop a saved trace file here.</p>
    <//>
  `
}

function Problems(props: { readonly note: FileNote; readonly forget: () => void }): VNode {
  const { title, problems } = props.note
  return html`
    <div class="note warn trace-note" role="alert">
      <div class="row">
        <span>${title}</span>
        <span class="space"></span>
        <button type="button" onClick=${props.forget}>Close</button>
      </div>
      ${
        problems.length > 0 &&
        html`<details>
          <summary>More</summary>
          <ul class="notes mono">
            ${problems.map((text) => html`<li>${text}</li>`)}
          </ul>
        </details>`
      }
    </div>
  `
}

/** Loads files that are selected, or dropped anywhere on the page. */
function useFiles(): {
  readonly note: FileNote | null
  readonly load: (file: File) => void
  readonly forget: () => void
} {
  const [note, set] = useState<FileNote | null>(null)
  const load = (file: File): void => {
    loadFile(file).then(
      ({ traces, problems, wrong, left }) => {
        TRACER.add(file.name, traces)
        set(fileNote(file.name, { found: traces.length, wrong, left, problems }))
      },
      (error: Error) => set({ title: `${file.name}: ${error.message}`, problems: [] }),
    )
  }
  useEffect(() => {
    const over = (event: DragEvent): void => event.preventDefault()
    const drop = (event: DragEvent): void => {
      event.preventDefault()
      const file = event.dataTransfer?.files[0]
      if (file !== undefined) load(file)
    }
    addEventListener('dragover', over)
    addEventListener('drop', drop)
    return () => {
      removeEventListener('dragover', over)
      removeEventListener('drop', drop)
    }
  }, [])
  return { note, load, forget: () => set(null) }
}

function TraceList(props: {
  readonly traces: readonly KeptTrace[]
  readonly chosen: number
  readonly choose: (id: number) => void
  readonly clear: () => void
}): VNode {
  const { traces, chosen, choose, clear } = props
  return html`
    <section class=${`card trace-list ${traces.length > 1 ? '' : 'few'}`} aria-label="Kept traces">
      <div class="row">
        <h2>${traces.length === 0 ? 'Traces' : countOf(traces.length)}</h2>
        <span class="space"></span>
        ${traces.length > 0 && html`<button type="button" onClick=${clear}>Remove all</button>`}
      </div>
      ${traces.length === 0 && html`<p class="dim">Traces are kept while this tab is open.</p>`}
      <ul>
        ${traces.map(
          (trace) => html`
            <li key=${trace.id}>
              <button
                type="button"
                class="plain"
                aria-current=${trace.id === chosen ? 'true' : undefined}
                onClick=${() => choose(trace.id)}
              >
                <${TraceTitle} trace=${trace} />
              </button>
            </li>
          `,
        )}
      </ul>
    </section>
  `
}

function countOf(count: number): string {
  return count === 1 ? '1 trace' : `${count} traces`
}

function TraceTitle(props: { readonly trace: KeptTrace }): VNode {
  const { trace } = props
  const { method, path, status, time } = titleOf(trace)
  return html`
    <span class="trace-title">
      <${TraceStatus} trace=${trace} status=${status} />
      <span class="mono path">${method} ${path}</span>
      <span class="number">${time}</span>
      <span class="dim when" title=${trace.file ?? dateText(trace.at)}>
        ${trace.file ?? clockText(trace.at)}
      </span>
    </span>
  `
}

function TraceStatus(props: { readonly trace: KeptTrace; readonly status: number | null }): VNode {
  const { trace, status } = props
  if (trace.state === 'running') return html`<${Badge} tone="accent">in progress<//>`
  if (trace.state === 'incomplete') return html`<${Badge} tone="warn">incomplete<//>`
  return html`<${Badge} tone=${toneOfStatus(status ?? 0)}>${status ?? 'no response'}<//>`
}

/** The same width as in the style sheet. */
const NARROW = '(max-width: 1000px)'

function useNarrow(): boolean {
  const [isNarrow, set] = useState(() => matchMedia(NARROW).matches)
  useEffect(() => {
    const media = matchMedia(NARROW)
    const changed = (): void => set(media.matches)
    media.addEventListener('change', changed)
    return () => media.removeEventListener('change', changed)
  }, [])
  return isNarrow
}
