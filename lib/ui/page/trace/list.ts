// The traces that are kept, to choose from.

import { html } from '../view.ts'
import type { VNode } from '../view.ts'
import { titleOf } from './traces.ts'
import type { KeptTrace } from './traces.ts'
import { Badge, toneOfStatus } from '../parts/badge.ts'
import { clockText, dateText } from '../parts/words.ts'

export function TraceList(props: {
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
        ${traces.length > 0 && html`<button type="button" onClick=${clear}>Forget all</button>`}
      </div>
      ${traces.length === 0 && html`<p class="dim">Kept here as long as this tab is open.</p>`}
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
  if (trace.state === 'running') return html`<${Badge} tone="accent">on its way<//>`
  if (trace.state === 'broken') return html`<${Badge} tone="warn">broken off<//>`
  return html`<${Badge} tone=${toneOfStatus(status ?? 0)}>${status ?? 'no answer'}<//>`
}
