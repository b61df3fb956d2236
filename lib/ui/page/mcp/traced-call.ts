// Traces the request of a call while it is made: armed first, called then, and a link to what was seen.

import { html } from '../view.ts'
import type { VNode } from '../view.ts'
import type { McpBackendView } from '../../../admin/page-api/page-api-types.ts'
import { TRACER } from '../trace/of-tab.ts'
import { useHeld } from '../use-held.ts'
import type { Members } from './messages.ts'
import type { Work } from './work.ts'

export async function callTraced(
  work: Work,
  { path }: McpBackendView,
  values: Members,
): Promise<void> {
  const expression = `request.method == "POST" && request.path == ${JSON.stringify(path)}`
  work.traced.set({ state: 'arming' })
  TRACER.expression.set(expression)
  const armed = await TRACER.arm(expression, 'once')
  const { value: watch } = TRACER.watch
  if (armed === 'refused') {
    const error = watch.state === 'failed' ? watch.error : 'something else is traced'
    return work.traced.set({ state: 'failed', error })
  }
  work.traced.set({ state: 'armed' })
  const stop = TRACER.watch.listen(() => {
    const { value: now } = TRACER.watch
    if (now.state === 'waiting') return
    stop()
    work.traced.set(
      now.state === 'running'
        ? { state: 'kept', id: now.id }
        : { state: 'failed', error: 'stopped' },
    )
  })
  work.run(values)
}

export function TracedNote(props: { readonly work: Work }): VNode {
  const traced = useHeld(props.work.traced)
  return html`
    <div class="traced" role="status">
      ${(traced.state === 'arming' || traced.state === 'armed') && html`<span class="dim">Tracing…</span>`}
      ${
        traced.state === 'kept' &&
        html`<a href="#/trace" onClick=${() => TRACER.choose(traced.id)}
          >See the trace of this call</a
        >`
      }
      ${traced.state === 'failed' && html`<span class="bad">Not traced: ${traced.error}</span>`}
    </div>
  `
}
