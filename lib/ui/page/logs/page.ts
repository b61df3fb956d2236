// The log as it is written, and how much of it is.

import { html, useMemo, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import type { PageProps } from '../pages.ts'
import { LEVELS, wants } from './filter.ts'
import type { Wanted } from './filter.ts'
import { useLogTail } from '../parts/log-lines.ts'
import { missingIn } from '../parts/merged.ts'
import { Await, Empty } from '../parts/loading.ts'
import { LogLevel } from './level.ts'
import { LogList } from './list.ts'
import { useKept } from '../use.ts'
import type { LogLine, LogsView as LogsView } from '../../../admin/page-api/page-api-types.ts'

/** Of lines in the page. */
const MOST_LINES = 1_000

export function Logs({ query }: PageProps): VNode {
  const tail = useLogTail(MOST_LINES, any)
  return html`
    <${Await} of=${tail.loaded} again=${tail.again}>
      ${(logs: LogsView) => html`
        <div class="stack">
          <${LogLevel} logs=${logs} again=${tail.again} />
          <${Tail}
            key=${query.toString()}
            lines=${tail.lines}
            modules=${logs.modules}
            query=${query}
          />
        </div>
      `}
    <//>
  `
}

function any(): boolean {
  return true
}

/** `?route=` is one of the fields. */
function firstText(query: URLSearchParams): string {
  const route = query.get('route')
  return [query.get('text') ?? '', route === null ? '' : `route=${route}`].join(' ').trim()
}

function Tail(props: {
  readonly lines: readonly LogLine[]
  readonly modules: readonly string[]
  readonly query: URLSearchParams
}): VNode {
  const { lines, modules, query } = props
  const [wanted, setWanted] = useState<Wanted>({
    text: firstText(query),
    level: query.get('level') ?? '',
    module: query.get('module') ?? '',
  })
  const [held, setHeld] = useState<readonly LogLine[] | null>(null)
  const [cleared, setCleared] = useState(0)
  const [ends, setEnds] = useKept('log-ends', 'cut')
  const last = lines.at(-1)?.number ?? 0
  const shown = useMemo(() => {
    // A gateway that began anew counts anew.
    const from = cleared > last ? 0 : cleared
    return (held ?? lines).filter(({ number }) => number > from).filter(wants(wanted))
  }, [lines, held, cleared, wanted])
  const newer = held === null ? 0 : lines.filter(({ number }) => number > lastOf(held)).length
  return html`
    <section class="card tail" aria-label="Lines">
      <${Filters} wanted=${wanted} modules=${modules} change=${setWanted} />
      <div class="row tail-bar">
        <button type="button" onClick=${() => setHeld(held === null ? lines : null)}>
          ${held === null ? 'Pause' : 'Resume'}
        </button>
        <button type="button" onClick=${() => setCleared(last)}>Clear</button>
        <label>
          <input
            type="checkbox"
            checked=${ends === 'wrapped'}
            onChange=${() => setEnds(ends === 'cut' ? 'wrapped' : 'cut')}
          />${' '}Wrap
        </label>
        <span class="dim" role="status">${stateOf(held ?? lines, shown.length, newer)}</span>
      </div>
      ${
        shown.length > 0
          ? html`<${LogList} lines=${shown} ends=${ends} />`
          : html`<${NoLines} all=${lines.length} isCleared=${cleared > 0 && cleared === last} />`
      }
    </section>
  `
}

function stateOf(lines: readonly LogLine[], shown: number, newer: number): string {
  const missing = missingIn(lines)
  return [
    shown === lines.length ? `${shown} lines` : `${shown} of ${lines.length} lines`,
    ...(newer > 0 ? [`${newer} newer`] : []),
    ...(missing > 0 ? [`${missing} came too fast to be shown`] : []),
  ].join(', ')
}

function lastOf(lines: readonly LogLine[]): number {
  return lines.at(-1)?.number ?? 0
}

function NoLines(props: { readonly all: number; readonly isCleared: boolean }): VNode {
  const soon = html`<p>New lines appear by themselves.</p>`
  if (props.all === 0) return html`<${Empty} title="Nothing was logged yet.">${soon}<//>`
  if (props.isCleared) return html`<${Empty} title="Cleared.">${soon}<//>`
  return html`<${Empty} title="No line is like this."><p>Others are hidden by the filter.</p><//>`
}

function Filters(props: {
  readonly wanted: Wanted
  readonly modules: readonly string[]
  readonly change: (wanted: Wanted) => void
}): VNode {
  const { wanted, modules, change } = props
  const set = (name: keyof Wanted) => (event: Event) =>
    change({ ...wanted, [name]: (event.target as HTMLInputElement | HTMLSelectElement).value })
  return html`
    <div class="filters" role="search">
      <label>
        Text
        <input
          type="search"
          class="mono"
          placeholder="words, or field=value"
          value=${wanted.text}
          onInput=${set('text')}
        />
      </label>
      <label>
        Level
        <select value=${wanted.level} onChange=${set('level')}>
          <option value="">any</option>
          ${LEVELS.map((level) => html`<option value=${level}>${level === 'error' ? level : `${level} and worse`}</option>`)}
        </select>
      </label>
      <label>
        Module
        <select value=${wanted.module} onChange=${set('module')}>
          <option value="">any</option>
          ${modules.map((module) => html`<option value=${module}>${module}</option>`)}
        </select>
      </label>
    </div>
  `
}
