// One selected step of a trace: its facts, body or state, what changed, and the raw event.

import { timeText } from '../../trace-view/amounts.ts'
import { labelOf } from '../../trace-view/event-summary.ts'
import { diffLines, snapshotAt, snapshotName, stateOf } from '../../trace-view/snapshots.ts'
import { timingOf } from '../../trace-view/trace-event.ts'
import type { Step } from '../../trace-view/trace-event.ts'
import { html, useMemo } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import { useStored } from '../server-data.ts'
import { Badge } from '../parts/elements.ts'
import type { Tone } from '../parts/elements.ts'
import { DataView } from '../parts/data-tree.ts'
import { TraceBody } from './trace-body.ts'
import { TraceFacts } from './trace-facts.ts'

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
    /** Scrolls back to the steps, where they are above the details. */
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
        ${back !== null && html`<button type="button" onClick=${back}>Back to steps</button>`}
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
  const title = own ? 'Request at this step' : 'Request at the previous snapshot'
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
    <${Fold} name="trace-raw" title="Raw event">
      <${DataView} key=${text} value=${value} open=${1} name="Raw event" />
    <//>
  `
}

/** Keeps its state from one step to the next. */
function Fold(props: {
  readonly name: string
  readonly title: string
  readonly children: VNode
}): VNode {
  const { name, title, children } = props
  const [state, keep] = useStored(name, 'closed')
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

const MAX_LINES = 400
const MAX_LENGTH = 2_000

function TraceChanges(props: StepProps): VNode {
  const { steps, at } = props
  const before = snapshotAt(steps, at - 1)
  const lines = useMemo(
    () => (before < 0 ? [] : diffLines(stateOf(steps[before]!), stateOf(steps[at]!))),
    [steps[before], steps[at]],
  )
  if (before < 0)
    return html`<p class="dim">The first snapshot of the request: nothing to compare with.</p>`
  const added = lines.filter((line) => line.startsWith('+')).length
  const title = `What changed since ${snapshotName(steps, before)}`
  if (lines.length === 0)
    return html`<p class="dim">Nothing changed since ${snapshotName(steps, before)}.</p>`
  return html`
    <div class="changes">
      <h3>${title}: ${added} added, ${lines.length - added} removed</h3>
      <div class="diff block" role="group" aria-label=${title} tabindex="0">
        ${lines.slice(0, MAX_LINES).map((line) => {
          const text = line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line
          return line.startsWith('+') ? html`<ins>${text}</ins>` : html`<del>${text}</del>`
        })}
        ${lines.length > MAX_LINES && html`<p class="dim">… ${lines.length - MAX_LINES} more</p>`}
      </div>
    </div>
  `
}
