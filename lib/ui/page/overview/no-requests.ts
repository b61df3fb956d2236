// In place of the last requests while there are none: how to send the first, or why none are told of.

import { html } from '../view.ts'
import type { VNode } from '../view.ts'
import { curlFor, tellsOfRequests } from '../parts/requests.ts'
import { sumOf } from './samples.ts'
import type { RuntimeView, Sample } from '../../../admin/page-api/page-api-types.ts'
import { Copy } from '../parts/copy.ts'
import { Empty } from '../parts/loading.ts'
import { countText } from '../parts/words.ts'

export function NoRequests(props: {
  readonly runtime: RuntimeView
  readonly samples: readonly Sample[]
  readonly filter: string
}): VNode {
  const { runtime, samples, filter } = props
  const count = sumOf(samples, ({ requests }) => requests)
  if (!tellsOfRequests(filter))
    return html`
      <${Empty} title="The log does not tell of requests.">
        <p>
          Its filter is <code>${filter}</code>; it would with <code>request=info</code>.
          ${count > 0 && ` ${countText(count)} came in the last five minutes.`}
        </p>
        <p><a href="#/logs">Change the level</a></p>
      <//>
    `
  if (count > 0)
    return html`
      <${Empty} title="None of the newest requests is in the log any more.">
        <p>${countText(count)} came in the last five minutes; the next will be shown here.</p>
      <//>
    `
  return html`<${First} runtime=${runtime} />`
}

function First(props: { readonly runtime: RuntimeView }): VNode {
  const listener = props.runtime.listeners.find(({ state }) => state === 'open')
  if (listener === undefined)
    return html`<${Empty} title="No request has come, and no port is open." />`
  const line = curlFor(listener, location.hostname)
  return html`
    <${Empty} title="No request has come yet.">
      <p>Send the first, and see here what becomes of it:</p>
      <p class="row centre"><code class="command">${line}</code><${Copy} text=${line} /></p>
      <p>
        What is served where is on the <a href="#/map">map</a>; tools can be called on the ${' '}<a
          href="#/mcp"
          >MCP page</a
        >.
      </p>
    <//>
  `
}
