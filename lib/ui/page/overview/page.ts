// What a newcomer sees first: that traffic flows, where to, and why a request was refused.

import { html, useMemo, useRef, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import { useLogTail } from '../parts/log-lines.ts'
import type { LogTail } from '../parts/log-lines.ts'
import { Badge } from '../parts/badge.ts'
import { Listeners, Routes } from './listeners.ts'
import { Await, Empty } from '../parts/loading.ts'
import { NoRequests } from './no-requests.ts'
import { RecentRequests } from './recent-requests.ts'
import { Tiles } from './tiles.ts'
import { dateText, spanText } from '../parts/words.ts'
import { explain, requestOf } from '../parts/requests.ts'
import { joined } from './samples.ts'
import { RUNTIME } from '../api.ts'
import { useLive, useLoaded, useReturn } from '../use.ts'
import type { LogLine, RuntimeView, Sample } from '../../../admin/page-api/page-api-types.ts'

const MOST_REQUESTS = 50
/** Samples between two looks at listeners and routes. */
const LOOK_EVERY = 5
const NONE: readonly Sample[] = []

export function Overview(): VNode {
  const [runtime, again] = useLoaded<RuntimeView>(RUNTIME)
  const [past, askPast] = useLoaded<RuntimeView>('/api/runtime')
  const [heard, setHeard] = useState<readonly Sample[]>([])
  const count = useRef(0)
  const link = useLive('runtime', (sample) => {
    setHeard((was) => joined(was, [sample]))
    if (++count.current % LOOK_EVERY === 0) again()
  })
  useReturn(link, () => {
    again()
    askPast()
  })
  const before = past.state === 'ready' ? past.value.samples : NONE
  const samples = useMemo(() => joined(before, heard), [before, heard])
  const tails = {
    all: useLogTail(MOST_REQUESTS, isRequest),
    troubled: useLogTail(MOST_REQUESTS, isTroubled),
  }
  return html`
    <${Await} of=${runtime} again=${again}>
      ${(value: RuntimeView) => html`<${Body} runtime=${value} samples=${samples} tails=${tails} />`}
    <//>
  `
}

function Body(props: {
  readonly runtime: RuntimeView
  readonly samples: readonly Sample[]
  readonly tails: Tails
}): VNode {
  const { runtime, samples, tails } = props
  // Lines of the log come more often than there is something new to draw.
  const tiles = useMemo(() => html`<${Tiles} samples=${samples} />`, [samples])
  return html`
    <${Facts} runtime=${runtime} />
    ${tiles}
    <div class="beside">
      <${Recent} runtime=${runtime} samples=${samples} tails=${tails} />
      <div class="stack">
        <${Listeners} listeners=${runtime.listeners} />
        <${Routes} routes=${runtime.routes} />
      </div>
    </div>
  `
}

function Facts(props: { readonly runtime: RuntimeView }): VNode {
  const { readiness, startedAt, generation, loadedAt, file, node, workers } = props.runtime
  return html`
    <p class="facts dim">
      <${Badge} tone=${readiness === 'ready' ? 'good' : 'warn'}>${readiness}<//>
      ${
        workers !== null &&
        html`
          <${Badge} tone=${workers.running < workers.wanted ? 'warn' : 'plain'}>
            ${workers.running} of ${workers.wanted} workers
          <//>
        `
      }
      <span title=${dateText(startedAt)}>up ${spanText(Date.now() - startedAt)}</span>
      <a href="#/config" title=${`${file}, loaded ${dateText(loadedAt)}`}>
        configuration ${generation}
      </a>
      <span class="minor">node ${node}</span>
      <span class="minor">charts: the last 5 minutes</span>
    </p>
  `
}

/** Those that were refused or failed apart, since on a busy gateway they are soon out of sight. */
interface Tails {
  readonly all: LogTail
  readonly troubled: LogTail
}

function Recent(props: {
  readonly runtime: RuntimeView
  readonly samples: readonly Sample[]
  readonly tails: Tails
}): VNode {
  const { runtime, samples, tails } = props
  const [kept, setKept] = useState<keyof Tails>('all')
  const { lines } = tails[kept]
  const requests = useMemo(
    () =>
      lines
        .map(requestOf)
        .filter((one) => one !== null)
        .reverse(),
    [lines],
  )
  const choice = (name: keyof Tails, title: string): VNode => html`
    <button type="button" aria-pressed=${kept === name} onClick=${() => setKept(name)}>
      ${title}
    </button>
  `
  return html`
    <section class="card recent">
      <div class="row">
        <h2>Recent requests</h2>
        <span class="choice"
          >${choice('all', 'All')}${choice('troubled', 'Refused or failed')}</span
        >
      </div>
      <${Await} of=${tails.all.loaded} again=${tails.all.again}>
        ${({ filter }: { readonly filter: string }) => {
          if (requests.length > 0)
            return html`<${RecentRequests} key=${kept} requests=${requests} />`
          if (kept === 'troubled' && tails.all.lines.length > 0)
            return html`<${Empty} title="None of the last requests was refused or failed." />`
          return html`<${NoRequests} runtime=${runtime} samples=${samples} filter=${filter} />`
        }}
      <//>
    </section>
  `
}

function isRequest(line: LogLine): boolean {
  return requestOf(line) !== null
}

function isTroubled(line: LogLine): boolean {
  const request = requestOf(line)
  return request !== null && explain(request) !== null
}
