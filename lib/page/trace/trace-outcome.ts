// The outcome of a traced request in one sentence, and the actions on its trace.

import { buildCurlCommand } from '../../trace-view/curl-command.ts'
import { explain } from '../../trace-view/explain-outcome.ts'
import { html, useMemo, useState } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import { Copy } from '../parts/elements.ts'
import { dateText } from '../parts/number-text.ts'
import { canShare, saveTrace, shareTrace } from './trace-files.ts'
import { startTimeOf, titleOf } from './tracer.ts'
import type { KeptTrace } from './tracer.ts'

export function TraceOutcome(props: {
  readonly trace: KeptTrace
  readonly choose: (step: number) => void
  /** Null while another trace is in progress. */
  readonly again: (() => void) | null
}): VNode {
  const { trace, choose, again } = props
  const [said, say] = useState('')
  const [isCurl, setCurl] = useState(false)
  const { method, path } = titleOf(trace)
  const share = (): void => {
    shareTrace(trace).then(say, () => say('Not shared.'))
  }
  return html`
    <section class="card trace-outcome" aria-label="Outcome">
      <div class="row">
        <p class="request-line">
          <span class="mono dim">${method} ${path}</span>${' '}
          <span class="dim from">${originOf(trace)}</span>
        </p>
        <span class="dim" role="status">${said}</span>
        ${again !== null && html`<button type="button" onClick=${again}>Trace again</button>`}
        <button type="button" aria-expanded=${isCurl} onClick=${() => setCurl(!isCurl)}>
          Show as curl
        </button>
        <button type="button" onClick=${() => saveTrace(trace)}>Save as JSONL</button>
        ${canShare() && html`<button type="button" onClick=${share}>Share</button>`}
      </div>
      <div role="status"><${Sentence} trace=${trace} choose=${choose} /></div>
      ${isCurl && html`<${Curl} trace=${trace} />`}
    </section>
  `
}

/** `from trace-get.jsonl, 2026-11-15 14:03:09` */
function originOf(trace: KeptTrace): string {
  const at = startTimeOf(trace)
  const date = at === null ? '' : dateText(at)
  if (trace.file === null) return date
  return `from ${trace.file}${date === '' ? '' : `, ${date}`}`
}

function Sentence(props: {
  readonly trace: KeptTrace
  readonly choose: (step: number) => void
}): VNode {
  const { trace, choose } = props
  const found = useMemo(() => explain(trace.steps), [trace.steps])
  if (found === null)
    return html`
      <p class="sentence">
        ${
          trace.state === 'running'
            ? 'The request is in progress.'
            : 'The trace ended before the request was complete.'
        }
      </p>
    `
  const { tone, outcome, reason, step, notes } = found
  return html`
    <div>
      <p class="sentence">
        <strong class=${tone}>${outcome}</strong>${reason}.
        ${
          step !== null &&
          html` <button type="button" class="plain link-like" onClick=${() => choose(step)}>
            Show step ${step + 1}
          </button>`
        }
      </p>
      ${notes.length > 0 && html`<p class="dim">${notes.join(' · ')}</p>`}
      ${trace.left > 0 && html`<p class="dim">${trace.left} more events were not kept.</p>`}
    </div>
  `
}

function Curl(props: { readonly trace: KeptTrace }): VNode {
  const found = useMemo(() => buildCurlCommand(props.trace.steps), [props.trace.steps])
  if (found === null) return html`<p class="dim">The trace contains no request.</p>`
  return html`
    <div class="curl">
      <div class="row">
        <span class="dim">The request as the client sent it, without credentials in headers</span>
        <${Copy} text=${found.command} />
      </div>
      <pre class="block" tabindex="0">${found.command}</pre>
      ${
        found.notes.length > 0 &&
        html`<ul class="notes dim">
          ${found.notes.map((note) => html`<li>${note}</li>`)}
        </ul>`
      }
    </div>
  `
}
