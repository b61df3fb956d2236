// The events of a streamed body, each with when it came and how long after the one before.

import { html, useMemo, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import { timeText } from '../../../trace-view/amounts.ts'
import {
  outputTokensOf,
  outputTextOf,
  modelOutputOf,
  tokenRateText,
} from '../../../trace-view/model-output.ts'
import { streamWords, timedEvents } from '../../../trace-view/timed-events.ts'
import type { Arrivals, TimedEvent } from '../../../trace-view/timed-events.ts'
import type { Step } from '../../../trace-view/trace-event.ts'
import { DataView } from '../parts/data-view.ts'

/** Rows at first; more by a button. */
const MOST_ROWS = 100
/** Letters of the data in a row. */
const MOST_LETTERS = 160

export function TraceEvents(props: {
  readonly steps: readonly Step[]
  readonly bytes: Uint8Array
  readonly arrivals: Arrivals
}): VNode {
  const { steps, bytes, arrivals } = props
  const { list, step } = arrivals
  const timed = useMemo(() => timedEvents(bytes, list), [bytes, list])
  const talk = useMemo(() => modelOutputOf(timed.events), [timed])
  const words = talk === null ? '' : tokenRateText(talk, outputTokensOf(steps))
  return html`
    <div class="trace-events">
      ${words !== '' && html`<p><strong>${words}</strong></p>`}
      <p>${streamWords(timed)}</p>
      ${
        step > 1 &&
        html`<p class="dim">
          ${`It came in so many parts that the time of only one in ${step} was kept: times are up to ${step} parts late.`}
        </p>`
      }
      ${
        talk !== null &&
        html`<details class="trace-fold">
          <summary>What the model said, in one piece</summary>
          <pre class="block wrap" tabindex="0">${talk.text}${talk.isCut ? '…' : ''}</pre>
        </details>`
      }
      <${EventTable} events=${timed.events} />
      ${timed.left > 0 && html`<p class="dim">${timed.left} more are not shown.</p>`}
    </div>
  `
}

function EventTable(props: { readonly events: readonly TimedEvent[] }): VNode {
  const { events } = props
  const [most, setMost] = useState(MOST_ROWS)
  const longest = useMemo(
    () => events.reduce((top, { gap }) => Math.max(top, gap ?? 0), 0),
    [events],
  )
  const left = events.length - most
  return html`
    <div>
      <ol class="events">
        ${events
          .slice(0, most)
          .map(
            (event, at) =>
              html`<${Row} key=${at} event=${event} number=${at + 1} longest=${longest} />`,
          )}
      </ol>
      ${
        left > 0 &&
        html`<button type="button" onClick=${() => setMost(most + MOST_ROWS)}>
          Show ${Math.min(left, MOST_ROWS)} more of ${left}
        </button>`
      }
    </div>
  `
}

function Row(props: {
  readonly event: TimedEvent
  readonly number: number
  readonly longest: number
}): VNode {
  const { event, number, longest } = props
  const [isOpen, setOpen] = useState(false)
  const { kind, name, id, data, at, gap } = event
  const width = longest > 0 && gap !== null ? `${(gap / longest) * 100}%` : '0%'
  return html`
    <li class=${kind}>
      <details
        onToggle=${(toggle: Event) => setOpen((toggle.currentTarget as HTMLDetailsElement).open)}
      >
        <summary>
          <span class="number dim">${number}</span>
          <span class="number">${at === null ? '–' : timeText(at)}</span>
          <span class="gap" title="since the one before">
            <span class="track" aria-hidden="true"
              ><span class="mark" style=${{ width }}></span
            ></span>
            <span class="number dim">${gap === null ? '' : `+${timeText(gap)}`}</span>
          </span>
          <span class="line">
            <span class="event-name">${nameOf(event)}</span>
            <span class="mono">${gistOf(data)}</span>
          </span>
        </summary>
        ${
          isOpen &&
          html`<div class="block">
            ${id !== null && html`<p class="dim">id ${id}${name === '' ? '' : `, event ${name}`}</p>`}
            <${Data} data=${data} />
          </div>`
        }
      </details>
    </li>
  `
}

/** What a model says in it, or how it begins. */
function gistOf(data: string): string {
  const piece = outputTextOf(data)
  return (piece === '' ? data : `“${piece}”`).slice(0, MOST_LETTERS)
}

function nameOf({ kind, name }: TimedEvent): string {
  if (kind === 'comment') return 'comment'
  return kind === 'rest' ? `${name} cut off`.trim() : name || 'message'
}

function Data(props: { readonly data: string }): VNode {
  const value = useMemo(() => valueIn(props.data), [props.data])
  return html`<${DataView} value=${value} open=${4} name="Data" />`
}

function valueIn(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return data
  }
}
