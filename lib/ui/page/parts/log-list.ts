// Lines of the log, the newest at the end and in sight as long as nobody scrolls away from it.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import type { LogLine } from '../../api.ts'
import { clockText } from './words.ts'

/** Pixels from the end that still count as the end. */
const NEAR = 24

export function LogList(props: { readonly lines: readonly LogLine[] }): VNode {
  const { lines } = props
  const frame = useRef<HTMLDivElement>(null)
  const [isFollowing, follow] = useState(true)
  const newest = lines.at(-1)?.number
  useLayoutEffect(() => {
    if (isFollowing) frame.current!.scrollTop = frame.current!.scrollHeight
  }, [newest, lines.length, isFollowing])
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
        class="log"
        ref=${frame}
        role="log"
        aria-live="off"
        aria-label="Log lines"
        tabindex="0"
        onScroll=${scrolled}
      >
        ${lines.map((line) => html`<${Line} key=${line.number} line=${line} />`)}
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
  return useMemo(() => {
    const { at, level, module, message, fields } = line
    return html`
      <div class=${`log-line ${level}`}>
        <span class="dim">${clockText(at)}.${String(at % 1_000).padStart(3, '0')}</span>
        <span class="level">${level}</span>
        <span class="dim">${module}</span>
        <span class="said">
          <span class="message">${message}</span>
          ${fields.map(
            ([name, value]) => html`
              ${' '}<span class="field"><span class="dim">${name}=</span>${String(value)}</span>
            `,
          )}
        </span>
      </div>
    `
  }, [line])
}
