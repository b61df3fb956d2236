// The traces that are kept, to choose from.

import { html } from '../view.ts'
import type { VNode } from '../view.ts'
import { titleOf } from './traces.ts'
import type { KeptTrace } from './traces.ts'
import { Badge, toneOfStatus } from '../parts/badge.ts'
import { clockText } from '../parts/words.ts'

export function TraceList(props: {
  readonly traces: readonly KeptTrace[]
  readonly chosen: number
  readonly choose: (id: number) => void
  readonly clear: () => void
}): VNode {
  const { traces, chosen, choose, clear } = props
  return html`
    <section class="card trace-list" aria-label="Kept traces">
      <div class="row">
        <h2>${traces.length} traces</h2>
        <span class="space"></span>
        <button type="button" onClick=${clear}>Forget all</button>
      </div>
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

function TraceTitle(props: { readonly trace: KeptTrace }): VNode {
  const { trace } = props
  const { method, path, status, time } = titleOf(trace)
  return html`
    <span class="trace-title">
      <${TraceStatus} trace=${trace} status=${status} />
      <span class="mono path">${method} ${path}</span>
      <span class="number">${time}</span>
      <span class="dim when">${trace.file ?? clockText(trace.at)}</span>
    </span>
  `
}

function TraceStatus(props: { readonly trace: KeptTrace; readonly status: number | null }): VNode {
  const { trace, status } = props
  if (trace.state === 'running') return html`<${Badge} tone="accent">on its way<//>`
  if (trace.state === 'broken') return html`<${Badge} tone="warn">broken off<//>`
  return html`<${Badge} tone=${toneOfStatus(status ?? 0)}>${status ?? 'no answer'}<//>`
}
