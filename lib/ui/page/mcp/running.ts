// What runs behind an MCP backend: its sessions, and the child processes of all.

import { bytesText } from '../../../trace-view/amounts.ts'
import { html, useEffect, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import type {
  ChildProcessState,
  McpBackendView,
  SessionView,
  LimitedList,
} from '../../../admin/page-api/page-api-types.ts'
import { Badge } from '../parts/badge.ts'
import type { Tone } from '../parts/badge.ts'
import { Empty } from '../parts/loading.ts'
import { countText, spanText } from '../parts/words.ts'

const TICK_MS = 1_000

const TONES: Readonly<Record<string, Tone>> = {
  open: 'good',
  ready: 'good',
  running: 'good',
  failed: 'bad',
  dead: 'bad',
  closed: 'warn',
  ending: 'warn',
}

interface Ageing {
  /** When it was told, on the clock of `performance.now()`. */
  readonly at: number
}

/** How long ago it was told. */
function useAge({ at }: Ageing): number {
  const [now, setNow] = useState(performance.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  return Math.max(now - at, 0)
}

function State(props: { readonly of: string }): VNode {
  return html`<${Badge} tone=${TONES[props.of] ?? 'plain'}>${props.of}<//>`
}

export function Targets(props: { readonly of: McpBackendView['targets'] }): VNode {
  return html`
    <ul class="targets" aria-label="Targets">
      ${props.of.map(
        ({ name, kind, where }) => html`
          <li key=${name}>
            <span>${name}</span>${' '} <${Badge}>${kind}<//>${' '}
            <code class="dim">${where}</code>
          </li>
        `,
      )}
    </ul>
  `
}

export function Sessions(props: Ageing & { readonly of: LimitedList<SessionView> }): VNode {
  const { shown, more } = props.of
  const since = useAge(props)
  if (shown.length === 0)
    return html`
      <${Empty} title="No sessions">
        <p>One begins when a client connects, also that of the playground.</p>
      <//>
    `
  const hasWorkers = shown.some(({ worker }) => worker !== undefined)
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Sessions">
      <table>
        <thead>
          <tr>
            <th scope="col">Session</th>
            ${hasWorkers && html`<th scope="col">Worker</th>`}
            <th scope="col">State</th>
            <th scope="col" class="number">Age</th>
            <th scope="col" class="number">Idle</th>
            <th scope="col" class="number">Open calls</th>
            <th scope="col" class="number">Open streams</th>
            <th scope="col" class="states">Targets</th>
          </tr>
        </thead>
        <tbody>
          ${shown.map(
            (one) => html`
              <tr key=${one.id}>
                <td><code>${one.id}</code></td>
                ${hasWorkers && html`<td>${one.worker}</td>`}
                <td><${State} of=${one.state} /></td>
                <td class="number">${spanText(one.age + since)}</td>
                <td class="number">${spanText(one.calls > 0 ? one.idle : one.idle + since)}</td>
                <td class="number">${countText(one.calls)}</td>
                <td class="number">${one.channels}</td>
                <td class="states">
                  ${one.targets.map(
                    ({ name, state }) =>
                      html`<span key=${name}>${name} <${State} of=${state} /></span>`,
                  )}
                </td>
              </tr>
            `,
          )}
        </tbody>
      </table>
      ${more > 0 && html`<p class="dim">… ${more} more</p>`}
    </div>
  `
}

export function Children(props: Ageing & { readonly of: LimitedList<ChildProcessState> }): VNode {
  const { shown, more } = props.of
  const since = useAge(props)
  if (shown.length === 0)
    return html`
      <${Empty} title="No child processes">
        <p>Each session starts one for each of its stdio targets.</p>
      <//>
    `
  return html`
    <ul class="children">
      ${shown.map(
        (one) => html`
          <li key=${one.pid}>
            <div class="row">
              <strong>${one.target}</strong>
              <${State} of=${one.state} />
              <dl class="facts">
                <div>
                  <dt>pid</dt>
                  <dd>${one.pid}</dd>
                </div>
                <div>
                  <dt>age</dt>
                  <dd>${spanText(one.age + since)}</dd>
                </div>
                <div>
                  <dt>memory</dt>
                  <dd>${one.rss === null ? 'unknown' : bytesText(one.rss)}</dd>
                </div>
                ${
                  one.worker !== undefined &&
                  html`
                    <div>
                      <dt>worker</dt>
                      <dd>${one.worker}</dd>
                    </div>
                  `
                }
                <div>
                  <dt>session</dt>
                  <dd><code>${one.session}</code></dd>
                </div>
              </dl>
            </div>
            ${
              one.lastStderr.length > 0 &&
              html`<pre class="wrapped" tabindex="0" aria-label="Last lines of its standard error">
${one.lastStderr.join('\n')}</pre>`
            }
          </li>
        `,
      )}
    </ul>
    ${more > 0 && html`<p class="dim">… ${more} more</p>`}
  `
}
