// One step of a trace, opened: what it says, the body or the request at that point, what changed, and the event as it came.

import { html, useMemo } from '../view.ts'
import type { VNode } from '../view.ts'
import { timeText } from '../../../trace-view/amounts.ts'
import { labelOf } from '../../../trace-view/event-summary.ts'
import { snapshotAt, snapshotName, stateOf } from '../../../trace-view/snapshots.ts'
import { timingOf } from '../../../trace-view/trace-event.ts'
import type { Step } from '../../../trace-view/trace-event.ts'
import { useKept } from '../use.ts'
import { Badge } from '../parts/badge.ts'
import type { Tone } from '../parts/badge.ts'
import { DataView } from '../parts/data-view.ts'
import { TraceBody } from './body.ts'
import { TraceChanges } from './changes.ts'
import { TraceFacts } from './facts.ts'

export interface StepProps {
  readonly steps: readonly Step[]
  readonly at: number
}

const TONES: ReadonlyMap<string, Tone> = new Map([
  ['error', 'bad'],
  ['warn', 'warn'],
  ['success', 'good'],
])

export function TraceDetails(
  props: StepProps & {
    /** To the steps, where these are out of sight. */
    readonly back: (() => void) | null
  },
): VNode {
  const { steps, at, back } = props
  const step = steps[at]
  if (step === undefined)
    return html`<section class="card trace-details" aria-label="Details"></section>`
  const { event } = step
  const { from, to } = timingOf(steps, at)
  const snapshot = snapshotAt(steps, at)
  return html`
    <section class="card trace-details" aria-label="Details">
      <div class="row title">
        <h2>${at + 1}. ${labelOf(event)}</h2>
        ${TONES.has(event.severity) && html`<${Badge} tone=${TONES.get(event.severity)}>${event.severity}<//>`}
        ${event.scope.length > 0 && html`<${Badge} tone="accent">${event.scope.join(' › ')}<//>`}
        <span class="space"></span>
        ${back !== null && html`<button type="button" onClick=${back}>Back to the steps</button>`}
        <span class="dim">
          ${
            event.eventStart === null
              ? `at ${timeText(to)}`
              : `${timeText(from)} to ${timeText(to)}, took ${timeText(to - from)}`
          }
        </span>
      </div>
      <${TraceFacts} steps=${steps} at=${at} />
      ${event.message.type === 'bodySnapshot' && html`<${TraceBody} key=${step.text} steps=${steps} at=${at} />`}
      ${snapshot === at && html`<${TraceChanges} steps=${steps} at=${at} />`}
      ${snapshot >= 0 && html`<${Snapshot} steps=${steps} at=${snapshot} own=${snapshot === at} />`}
      <${RawEvent} step=${step} />
    </section>
  `
}

function Snapshot(props: StepProps & { readonly own: boolean }): VNode {
  const { steps, at, own } = props
  const title = own ? 'The request at this point' : 'The request as it was last seen'
  return html`
    <${Fold} name="trace-snapshot" title=${`${title}: ${snapshotName(steps, at)}`}>
      <${DataView} key=${at} value=${stateOf(steps[at]!)} open=${3} name=${title} />
    <//>
  `
}

function RawEvent(props: { readonly step: Step }): VNode {
  const { text } = props.step
  const value = useMemo(() => parsed(text), [text])
  return html`
    <${Fold} name="trace-raw" title="The event as it came">
      <${DataView} key=${text} value=${value} open=${1} name="Raw event" />
    <//>
  `
}

/** Stays open or closed from one step to the next. */
function Fold(props: {
  readonly name: string
  readonly title: string
  readonly children: VNode
}): VNode {
  const { name, title, children } = props
  const [state, keep] = useKept(name, 'closed')
  const isOpen = state === 'open'
  const toggled = (event: Event): void =>
    keep((event.currentTarget as HTMLDetailsElement).open ? 'open' : 'closed')
  return html`
    <details class="trace-fold" open=${isOpen} onToggle=${toggled}>
      <summary>${title}</summary>
      ${isOpen && children}
    </details>
  `
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
