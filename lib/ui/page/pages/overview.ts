// What a newcomer sees first: that traffic flows, where to, and why a request was refused.

import { html, useMemo, useRef, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import { useLogTail } from '../log-lines.ts'
import type { LogTail } from '../log-lines.ts'
import { Badge } from '../parts/badge.ts'
import { Listeners, Routes } from '../parts/listeners.ts'
import { Await } from '../parts/loading.ts'
import { NoRequests } from '../parts/no-requests.ts'
import { RecentRequests } from '../parts/recent-requests.ts'
import { Tiles } from '../parts/tiles.ts'
import { dateText, spanText } from '../parts/words.ts'
import { requestOf } from '../requests.ts'
import { joined } from '../samples.ts'
import { useLive, useLoaded, useReturn } from '../use.ts'
import type { LogLine, Runtime, Sample } from '../../api.ts'

const MOST_REQUESTS = 50
/** Samples between two looks at listeners and routes. */
const LOOK_EVERY = 5

export function Overview(): VNode {
  const [runtime, again] = useLoaded<Runtime>('/api/runtime')
  const [heard, setHeard] = useState<readonly Sample[]>([])
  const count = useRef(0)
  const link = useLive('runtime', (sample) => {
    setHeard((was) => joined(was, [sample]))
    if (++count.current % LOOK_EVERY === 0) again()
  })
  useReturn(link, again)
  const tail = useLogTail(MOST_REQUESTS, isRequest)
  return html`
    <${Await} of=${runtime} again=${again}>
      ${(value: Runtime) => html`<${Body} runtime=${value} heard=${heard} tail=${tail} />`}
    <//>
  `
}

function Body(props: {
  readonly runtime: Runtime
  readonly heard: readonly Sample[]
  readonly tail: LogTail
}): VNode {
  const { runtime, heard, tail } = props
  const samples = useMemo(() => joined(runtime.samples, heard), [runtime, heard])
  return html`
    <${Facts} runtime=${runtime} />
    <${Tiles} samples=${samples} />
    <div class="beside">
      <${Recent} runtime=${runtime} samples=${samples} tail=${tail} />
      <div class="stack">
        <${Listeners} listeners=${runtime.listeners} />
        <${Routes} routes=${runtime.routes} />
      </div>
    </div>
  `
}

function Facts(props: { readonly runtime: Runtime }): VNode {
  const { readiness, startedAt, generation, loadedAt, file, node } = props.runtime
  return html`
    <p class="facts dim">
      <${Badge} tone=${readiness === 'ready' ? 'good' : 'warn'}>${readiness}<//>
      <span title=${dateText(startedAt)}>up ${spanText(Date.now() - startedAt)}</span>
      <a href="#/config" title=${`${file}, loaded ${dateText(loadedAt)}`}>
        configuration ${generation}
      </a>
      <span class="minor">node ${node}</span>
      <span class="minor">charts: the last 5 minutes</span>
    </p>
  `
}

function Recent(props: {
  readonly runtime: Runtime
  readonly samples: readonly Sample[]
  readonly tail: LogTail
}): VNode {
  const { runtime, samples, tail } = props
  const requests = useMemo(
    () =>
      tail.lines
        .map(requestOf)
        .filter((one) => one !== null)
        .reverse(),
    [tail.lines],
  )
  return html`
    <section class="card recent">
      <h2>Recent requests</h2>
      <${Await} of=${tail.loaded} again=${tail.again}>
        ${({ filter }: { readonly filter: string }) =>
          requests.length > 0
            ? html`<${RecentRequests} requests=${requests} />`
            : html`<${NoRequests} runtime=${runtime} samples=${samples} filter=${filter} />`}
      <//>
    </section>
  `
}

function isRequest(line: LogLine): boolean {
  return requestOf(line) !== null
}
