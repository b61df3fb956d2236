// One request, step by step: watched as it passes, or read from a file.

import { html, useEffect, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import type { PageProps } from '../pages.ts'
import { Empty } from '../parts/loading.ts'
import { TraceArm } from './arm.ts'
import { TraceDetails } from './details.ts'
import { TraceList } from './list.ts'
import { TraceOutcome } from './outcome.ts'
import { TraceTimeline } from './timeline.ts'
import { loadFile } from './file.ts'
import { firstLook } from './traces.ts'
import type { KeptTrace } from './traces.ts'
import { useTracing } from './use-tracing.ts'
import type { Pace, Tracing } from './use-tracing.ts'

/** What was wrong with a file. */
interface FileNote {
  readonly title: string
  readonly problems: readonly string[]
}

export function LiveTrace(props: PageProps): VNode {
  const wanted = props.query.get('expression') ?? ''
  const [expression, setExpression] = useState(wanted)
  useEffect(() => setExpression(wanted), [wanted])
  const [chosen, choose] = useState(0)
  const [pace, setPace] = useState<Pace>('once')
  const tracing = useTracing((id) => {
    // Whoever keeps tracing looks at one while others come.
    choose((was) => (was > 0 && pace !== 'once' ? was : id))
  })
  const { note, load, forget } = useFiles(tracing, choose)
  const { traces, watch } = tracing
  const trace = traces.find(({ id }) => id === chosen) ?? traces[0]
  const arm = (next: Pace): void => {
    setPace(next)
    choose(0)
    const words = expression.trim()
    history.replaceState(
      null,
      '',
      words === '' ? '#/trace' : `#/trace?expression=${encodeURIComponent(words)}`,
    )
    tracing.arm(words, next)
  }
  const isBusy = watch.state !== 'idle' && watch.state !== 'failed'
  return html`
    <div class="trace-page">
      <div class="trace-top">
        <${TraceArm}
          expression=${expression}
          setExpression=${setExpression}
          watch=${watch}
          hasTraces=${traces.length > 0}
          arm=${arm}
          stop=${tracing.stop}
          load=${load}
        />
        ${
          traces.length > 1 &&
          html`<${TraceList}
            traces=${traces}
            chosen=${trace?.id ?? 0}
            choose=${choose}
            clear=${tracing.clear}
          />`
        }
      </div>
      ${note !== null && html`<${Problems} note=${note} forget=${forget} />`}
      ${
        trace === undefined
          ? !isBusy && html`<${About} />`
          : html`<${OneTrace}
              key=${trace.id}
              trace=${trace}
              again=${isBusy || trace.file !== null ? null : () => arm('once')}
            />`
      }
    </div>
  `
}

function OneTrace(props: {
  readonly trace: KeptTrace
  readonly again: (() => void) | null
}): VNode {
  const { trace, again } = props
  const [picked, pick] = useState<number | null>(null)
  const selected = picked ?? firstLook(trace)
  return html`
    <${TraceOutcome} trace=${trace} choose=${pick} again=${again} />
    <div class="trace-split">
      <${TraceTimeline} steps=${trace.steps} selected=${selected} choose=${pick} />
      <${TraceDetails} steps=${trace.steps} at=${selected} />
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
          <summary>Which?</summary>
          <ul class="notes mono">
            ${problems.map((text) => html`<li>${text}</li>`)}
          </ul>
        </details>`
      }
    </div>
  `
}

/** Files that are chosen, or dropped anywhere on the page. */
function useFiles(
  { add }: Tracing,
  choose: (id: number) => void,
): {
  readonly note: FileNote | null
  readonly load: (file: File) => void
  readonly forget: () => void
} {
  const [note, set] = useState<FileNote | null>(null)
  const load = (file: File): void => {
    loadFile(file).then(
      ({ traces, problems, wrong, left }) => {
        choose(add(file.name, traces))
        set(noteOf(file.name, { found: traces.length, wrong, left, problems }))
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
  }, [add])
  return { note, load, forget: () => set(null) }
}

interface Found {
  readonly found: number
  readonly wrong: number
  readonly left: number
  readonly problems: readonly string[]
}

function noteOf(name: string, { found, wrong, left, problems }: Found): FileNote | null {
  if (found === 0 && wrong === 0) return { title: `${name} is empty.`, problems }
  const said = [
    ...(found === 0 ? [`${name} has no trace`] : []),
    ...(wrong > 0 ? [`${wrong} ${wrong === 1 ? 'line is' : 'lines are'} no trace event`] : []),
    ...(left > 0 ? [`${left} events were left out: there are too many`] : []),
  ]
  return said.length === 0 ? null : { title: `${name}: ${said.join('; ')}.`, problems }
}
