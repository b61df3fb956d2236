// What changed from one snapshot to the next. Signs and words say what colours say.

import { html, useMemo } from '../view.ts'
import type { VNode } from '../view.ts'
import { diffLines, snapshotAt, snapshotName, stateOf } from '../../../trace-view/snapshots.ts'
import type { StepProps } from './details.ts'

const MOST_LINES = 400
const MOST_LETTERS = 2_000

export function TraceChanges(props: StepProps): VNode {
  const { steps, at } = props
  const before = snapshotAt(steps, at - 1)
  const lines = useMemo(
    () => (before < 0 ? [] : diffLines(stateOf(steps[before]!), stateOf(steps[at]!))),
    [steps[before], steps[at]],
  )
  if (before < 0)
    return html`<p class="dim">The first look at the request: nothing to compare with.</p>`
  const added = lines.filter((line) => line.startsWith('+')).length
  const title = `What changed since ${snapshotName(steps, before)}`
  if (lines.length === 0)
    return html`<p class="dim">Nothing changed since ${snapshotName(steps, before)}.</p>`
  return html`
    <div class="changes">
      <h3>${title}: ${added} added, ${lines.length - added} removed</h3>
      <div class="diff block" role="group" aria-label=${title} tabindex="0">
        ${lines.slice(0, MOST_LINES).map((line) => {
          const text = line.length > MOST_LETTERS ? `${line.slice(0, MOST_LETTERS)}…` : line
          return line.startsWith('+') ? html`<ins>${text}</ins>` : html`<del>${text}</del>`
        })}
        ${lines.length > MOST_LINES && html`<p class="dim">… ${lines.length - MOST_LINES} more</p>`}
      </div>
    </div>
  `
}
