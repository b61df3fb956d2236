// Lines of the log, the newest at the end and in sight as long as nobody scrolls away from it.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import { requestOf } from '../parts/requests.ts'
import type { LogLine } from '../../../admin/page-api/page-api-types.ts'
import { toneOfStatus } from '../parts/badge.ts'
import { clockText } from '../parts/words.ts'

/** Pixels from the end that still count as the end. */
const NEAR = 24
/** Lines that are drawn at first, and more of them each time somebody asks. */
const DRAWN = 200

export function LogList(props: {
  readonly lines: readonly LogLine[]
  /** Whether long lines are cut or wrapped. */
  readonly ends: 'cut' | 'wrapped'
}): VNode {
  const { lines, ends } = props
  const frame = useRef<HTMLDivElement>(null)
  const [isFollowing, follow] = useState(true)
  const [most, setMost] = useState(DRAWN)
  const newest = lines.at(-1)?.number
  const older = lines.length - most
  useLayoutEffect(() => {
    if (isFollowing) frame.current!.scrollTop = frame.current!.scrollHeight
  }, [newest, lines.length, isFollowing, ends])
  useEffect(() => {
    // Lines that wrap anew with the window move the end.
    const stay = (): void => {
      if (isFollowing) frame.current!.scrollTop = frame.current!.scrollHeight
    }
    addEventListener('resize', stay)
    return () => removeEventListener('resize', stay)
  }, [isFollowing])
  const scrolled = (): void => {
    const { scrollHeight, scrollTop, clientHeight } = frame.current!
    follow(scrollHeight - scrollTop - clientHeight < NEAR)
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
            <button type="button" class="plain older" onClick=${() => setMost(most + DRAWN)}>
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
    const fields = requestOf(line) === null ? line.fields : inOrder(line.fields)
    return html`
      <div
        class=${`log-line ${level} ${isWhole ? 'whole' : ''}`}
        onClick=${() => isNothingMarked() && setWhole(!isWhole)}
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

/** Said already. */
const SHOWN = ['http.method', 'http.path', 'http.status', 'duration']
const FIRST = ['reason', 'rule', 'error', 'route', 'endpoint']
const LAST = ['gateway', 'listener']

/** Of a request: what it was refused for is worth more than what is the same on every line. */
function inOrder(fields: LogLine['fields']): LogLine['fields'] {
  const left = fields.filter(([name]) => !SHOWN.includes(name))
  const rank = ([name]: LogLine['fields'][number]): number => {
    const first = FIRST.indexOf(name)
    if (first >= 0) return first - FIRST.length
    return LAST.includes(name) ? 1 : 0
  }
  return left.toSorted((one, other) => rank(one) - rank(other))
}

/** Whoever marks text to copy it does not mean to fold it. */
function isNothingMarked(): boolean {
  return getSelection()?.isCollapsed !== false
}

/** Of a request what matters comes first. */
function Message(props: { readonly line: LogLine }): VNode {
  const request = requestOf(props.line)
  if (request === null) return html`<span class="log-message">${props.line.message}</span>`
  const { method, path, status, duration } = request
  const tone = status === 0 || status >= 400 ? toneOfStatus(status) : ''
  return html`
    <span>
      <span class="log-message">${method} ${path}</span>${' '}
      <b class=${tone}>${status === 0 ? 'no answer' : status}</b> ${duration}
    </span>
  `
}
