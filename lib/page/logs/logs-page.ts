// The log page: the live log with filters, and the log level.

import type { LogLine, LogsView, RuntimeView } from '../../admin/page-api/page-api-types.ts'
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../page-view.ts'
import type { PageProps, VNode } from '../page-view.ts'
import { missingCount, useLogTail } from '../parts/log-lines.ts'
import { Await, Badge, Empty, toneOfStatus } from '../parts/elements.ts'
import { ask, RUNTIME, useLoaded, useStored } from '../server-data.ts'
import { requestOf } from '../parts/seen-requests.ts'
import { clockText } from '../parts/number-text.ts'

/** Lines kept in the page. */
const MAX_LINES = 1_000

export function Logs({ query }: PageProps): VNode {
  const tail = useLogTail(MAX_LINES, any)
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

/** `?route=` filters by that log field. */
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
  const [wanted, setWanted] = useState<LogFilter>({
    text: firstText(query),
    level: query.get('level') ?? '',
    module: query.get('module') ?? '',
  })
  const [held, setHeld] = useState<readonly LogLine[] | null>(null)
  const [cleared, setCleared] = useState(0)
  const [ends, setEnds] = useStored('log-ends', 'cut')
  const last = lines.at(-1)?.number ?? 0
  const shown = useMemo(() => {
    // A restarted gateway counts from 1.
    const from = cleared > last ? 0 : cleared
    return (held ?? lines).filter(({ number }) => number > from).filter(matchesFilter(wanted))
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
  const missing = missingCount(lines)
  return [
    shown === lines.length ? `${shown} lines` : `${shown} of ${lines.length} lines`,
    ...(newer > 0 ? [`${newer} newer`] : []),
    ...(missing > 0 ? [`${missing} lines were dropped: too many at once`] : []),
  ].join(', ')
}

function lastOf(lines: readonly LogLine[]): number {
  return lines.at(-1)?.number ?? 0
}

function NoLines(props: { readonly all: number; readonly isCleared: boolean }): VNode {
  const soon = html`<p>New lines appear automatically.</p>`
  if (props.all === 0) return html`<${Empty} title="No log lines yet.">${soon}<//>`
  if (props.isCleared) return html`<${Empty} title="Cleared.">${soon}<//>`
  return html`<${Empty} title="No line matches."><p>The filter hides the others.</p><//>`
}

function Filters(props: {
  readonly wanted: LogFilter
  readonly modules: readonly string[]
  readonly change: (wanted: LogFilter) => void
}): VNode {
  const { wanted, modules, change } = props
  const set = (name: keyof LogFilter) => (event: Event) =>
    change({ ...wanted, [name]: (event.target as HTMLInputElement | HTMLSelectElement).value })
  return html`
    <div class="filters" role="search">
      <label>
        Text
        <input
          type="search"
          class="mono"
          placeholder="text, or field=value"
          value=${wanted.text}
          onInput=${set('text')}
        />
      </label>
      <label>
        Level
        <select value=${wanted.level} onChange=${set('level')}>
          <option value="">any</option>
          ${LEVELS.map((level) => html`<option value=${level}>${level === 'error' ? level : `${level} and above`}</option>`)}
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

/** Pixels from the end that count as the end. */
const NEAR_END_PX = 24
/** Lines drawn at first, and added by each click on the button. */
const LINES_PER_PAGE = 200

function LogList(props: {
  readonly lines: readonly LogLine[]
  /** Whether long lines are cut or wrapped. */
  readonly ends: 'cut' | 'wrapped'
}): VNode {
  const { lines, ends } = props
  const frame = useRef<HTMLDivElement>(null)
  const [isFollowing, follow] = useState(true)
  const [most, setMost] = useState(LINES_PER_PAGE)
  const newest = lines.at(-1)?.number
  const older = lines.length - most
  useLayoutEffect(() => {
    if (isFollowing) frame.current!.scrollTop = frame.current!.scrollHeight
  }, [newest, lines.length, isFollowing, ends])
  useEffect(() => {
    // A resize wraps lines differently, which moves the end.
    const stay = (): void => {
      if (isFollowing) frame.current!.scrollTop = frame.current!.scrollHeight
    }
    addEventListener('resize', stay)
    return () => removeEventListener('resize', stay)
  }, [isFollowing])
  const scrolled = (): void => {
    const { scrollHeight, scrollTop, clientHeight } = frame.current!
    follow(scrollHeight - scrollTop - clientHeight < NEAR_END_PX)
  }
  return html`
    <div class="log-frame">
      <div
        class=${`log ${ends}`}
        ref=${frame}
        role="log"
        aria-live="off"
        aria-label="Log lines"
        tabindex="0"
        onScroll=${scrolled}
      >
        ${
          older > 0 &&
          html`
            <button
              type="button"
              class="plain older"
              onClick=${() => setMost(most + LINES_PER_PAGE)}
            >
              ${older} older
            </button>
          `
        }
        ${lines.slice(-most).map((line) => html`<${Line} key=${line.number} line=${line} />`)}
      </div>
      ${
        !isFollowing &&
        html`<button type="button" class="follow" onClick=${() => follow(true)}>Follow</button>`
      }
    </div>
  `
}

function Line(props: { readonly line: LogLine }): VNode {
  const { line } = props
  const [isWhole, setWhole] = useState(false)
  return useMemo(() => {
    const { at, level, module } = line
    const fields = requestOf(line) === null ? line.fields : orderFields(line.fields)
    return html`
      <div
        class=${`log-line ${level} ${isWhole ? 'whole' : ''}`}
        onClick=${() => hasNoSelection() && setWhole(!isWhole)}
      >
        <span class="dim">${clockText(at)}.${String(at % 1_000).padStart(3, '0')}</span>
        <span class="level">${level}</span>
        <span class="dim">${module}</span>
        <span class="log-text">
          <${Message} line=${line} />
          ${fields.map(([name, value]) => html` <span><i>${name}=</i>${String(value)}</span>`)}
        </span>
      </div>
    `
  }, [line, isWhole])
}

/** Fields that the message already contains. */
const SHOWN = ['http.method', 'http.path', 'http.status', 'duration']
const FIRST = ['reason', 'rule', 'error', 'route', 'endpoint']
const LAST = ['gateway', 'listener']

/** For a request line: the reason of a refusal matters more than fields that every line has. */
function orderFields(fields: LogLine['fields']): LogLine['fields'] {
  const left = fields.filter(([name]) => !SHOWN.includes(name))
  const rank = ([name]: LogLine['fields'][number]): number => {
    const first = FIRST.indexOf(name)
    if (first >= 0) return first - FIRST.length
    return LAST.includes(name) ? 1 : 0
  }
  return left.toSorted((one, other) => rank(one) - rank(other))
}

/** A click that ends a text selection does not fold the line. */
function hasNoSelection(): boolean {
  return getSelection()?.isCollapsed !== false
}

/** For a request line: the most important fields first. */
function Message(props: { readonly line: LogLine }): VNode {
  const request = requestOf(props.line)
  if (request === null) return html`<span class="log-message">${props.line.message}</span>`
  const { method, path, status, duration } = request
  const tone = status === 0 || status >= 400 ? toneOfStatus(status) : ''
  return html`
    <span>
      <span class="log-message">${method} ${path}</span>${' '}
      <b class=${tone}>${status === 0 ? 'no response' : status}</b> ${duration}
    </span>
  `
}

function LogLevel(props: { readonly logs: LogsView; readonly again: () => void }): VNode {
  const { logs, again } = props
  const [runtime] = useLoaded<RuntimeView>(RUNTIME)
  return html`
    <section class="card level-card">
      <h2>Level</h2>
      <p class="row">
        <span class="dim">Current</span>
        ${logs.filter
          .split(',')
          .map((word) => html`<${Badge} tone="accent"><span class="mono">${word}</span><//>`)}
      </p>
      ${runtime.state === 'ready' && runtime.value.place === 'admin' && html`<${Form} modules=${logs.modules} again=${again} />`}
      ${
        runtime.state === 'ready' &&
        runtime.value.place === 'listener' &&
        html`
          <p class="dim">
            It can be changed on the admin interface only: the page on a listener is read-only.
          </p>
        `
      }
    </section>
  `
}

type Result = { readonly kind: 'none' | 'done' | 'failed'; readonly text: string }

function Form(props: { readonly modules: readonly string[]; readonly again: () => void }): VNode {
  const { modules, again } = props
  const [module, setModule] = useState('')
  const [level, setLevel] = useState('debug')
  const [result, setResult] = useState<Result>({ kind: 'none', text: '' })
  const send = (query: string): void => {
    ask(`/logging?${query}`, { method: 'POST' })
      .then((response) => response.text())
      .then(
        (text) => {
          setResult({ kind: 'done', text })
          again()
        },
        (error: Error) => setResult({ kind: 'failed', text: error.message }),
      )
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    send(`set=${encodeURIComponent(module === '' ? level : `${module}=${level}`)}`)
  }
  const chosen = (event: Event): string => (event.target as HTMLSelectElement).value
  return html`
    <form class="row" onSubmit=${submit}>
      <label>
        Module${' '}
        <select value=${module} onChange=${(event: Event) => setModule(chosen(event))}>
          <option value="">all others</option>
          ${modules.map((name) => html`<option value=${name}>${name}</option>`)}
        </select>
      </label>
      <label>
        Level${' '}
        <select value=${level} onChange=${(event: Event) => setLevel(chosen(event))}>
          ${['off', ...LEVELS].map((name) => html`<option value=${name}>${name}</option>`)}
        </select>
      </label>
      <button type="submit" class="main">Set</button>
      <button type="button" onClick=${() => send('reset')}>Reset to configured</button>
      <span role="status" class=${result.kind === 'failed' ? 'bad' : 'good'}>${result.text}</span>
    </form>
  `
}

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const

export interface LogFilter {
  /** Each word must occur in the line, ignoring case. */
  readonly text: string
  /** This level and above; empty for any. */
  readonly level: string
  /** Empty for any. */
  readonly module: string
}

export function matchesFilter({ text, level, module }: LogFilter): (line: LogLine) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const rank = LEVELS.indexOf(level as LogLine['level'])
  return (line) => {
    if (rank >= 0 && LEVELS.indexOf(line.level) > rank) return false
    if (module !== '' && line.module !== module) return false
    if (words.length === 0) return true
    const all = textOf(line).toLowerCase()
    return words.every((word) => all.includes(word))
  }
}

/** As the log file has it. */
function textOf({ level, module, message, fields }: LogLine): string {
  const pairs = fields.map(([name, value]) => `${name}=${value}`)
  return [level, module, message, ...pairs].join(' ')
}
