// One request, step by step: watched as it passes, or read from a file.

import { html, useEffect, useRef, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import type { PageProps } from '../pages.ts'
import { Empty } from '../parts/loading.ts'
import { TraceArm } from './arm.ts'
import { TraceDetails } from './details.ts'
import { TraceList } from './list.ts'
import { TraceOutcome } from './outcome.ts'
import { TraceTimeline } from './timeline.ts'
import { useHeld } from '../use-held.ts'
import { useNarrow } from './narrow.ts'
import { loadFile } from './file.ts'
import { fileNote } from './file-note.ts'
import type { FileNote } from './file-note.ts'
import { firstLook } from './traces.ts'
import type { KeptTrace } from './traces.ts'
import { TRACER } from './of-tab.ts'
import type { Pace } from './tracer.ts'

export function LiveTrace(props: PageProps): VNode {
  const wanted = props.query.get('expression')
  const expression = useHeld(TRACER.expression)
  const traces = useHeld(TRACER.traces)
  const watch = useHeld(TRACER.watch)
  const look = useHeld(TRACER.look)
  const { note, load, forget } = useFiles()
  const trace = traces.find(({ id }) => id === look.id) ?? traces[0]
  const arm = (pace: Pace): void => void TRACER.arm(expression.trim(), pace)
  useEffect(() => {
    if (wanted === null) return
    // Whoever comes back to this place finds what was traced, and traces nothing anew.
    history.replaceState(null, '', '#/trace')
    TRACER.expression.set(wanted)
    void TRACER.arm(wanted.trim(), 'once')
  }, [props.query])
  const isBusy = watch.state !== 'idle' && watch.state !== 'failed'
  // Of a link that traces at once there is nothing yet to be shown but the wait.
  const isAwaited = isBusy && look.id === 0
  return html`
    <div class="trace-page">
      <div class="trace-top">
        <${TraceArm}
          expression=${expression}
          setExpression=${(text: string) => TRACER.expression.set(text)}
          watch=${watch}
          arm=${arm}
          stop=${() => TRACER.stop()}
          load=${load}
        />
        <${TraceList}
          traces=${traces}
          chosen=${trace?.id ?? 0}
          choose=${(id: number) => TRACER.choose(id)}
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
              picked=${look.id === trace.id ? look.step : null}
              again=${isBusy || trace.file !== null ? null : () => arm('once')}
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
  const selected = picked ?? firstLook(trace)
  const pick = (step: number): void => TRACER.pick(trace.id, step)
  const show = (what: string): void =>
    place.current?.querySelector(what)?.scrollIntoView({ block: 'start' })
  /** Where the details are below the steps, whoever opens one is taken there. */
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
    <${Empty} title="See one request, step by step.">
      <p>
        Which route it took, what each policy did and why, what was sent to the backend and what
        came back, with bodies and times. Secrets are not shown.
      </p>
      <p>Press the button and send a request, or drop the file of a saved trace here.</p>
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

/** Files that are chosen, or dropped anywhere on the page. */
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
