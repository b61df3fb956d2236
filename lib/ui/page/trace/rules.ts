// The rules of an authorization, each with whether it held.

import { html } from '../view.ts'
import type { VNode } from '../view.ts'
import { faultOf } from '../../../trace-view/explain-outcome.ts'
import { valueText } from '../../../trace-view/trace-event.ts'
import type { ShownEvent } from '../../../trace-view/trace-event.ts'
import { Badge } from '../parts/badge.ts'
import type { Tone } from '../parts/badge.ts'

type Rule = Readonly<Record<string, unknown>>

const MOST_RULES = 200

export function RuleTable(props: {
  readonly rules: readonly Rule[]
  readonly result: string
  readonly events: readonly ShownEvent[]
}): VNode {
  const { rules, result, events } = props
  return html`
    <p>
      <${Badge} tone=${result === 'deny' ? 'bad' : 'good'}>${result}<//>${' '}
      ${result === 'deny' ? 'At least one rule stands in the way.' : 'No rule stands in the way.'}
    </p>
    <div class="scroll">
      <table class="rules">
        <thead>
          <tr>
            <th>Mode</th>
            <th>Rule</th>
            <th>Holds</th>
          </tr>
        </thead>
        <tbody>
          ${rules.slice(0, MOST_RULES).map((rule) => html`<${RuleRow} rule=${rule} events=${events} />`)}
        </tbody>
      </table>
    </div>
    ${rules.length === 0 && html`<p class="dim">There are no rules.</p>`}
    ${rules.length > MOST_RULES && html`<p class="dim">… ${rules.length - MOST_RULES} more</p>`}
  `
}

function RuleRow(props: { readonly rule: Rule; readonly events: readonly ShownEvent[] }): VNode {
  const { rule, events } = props
  const { name, mode, matched } = rule
  const isHeld = matched === true
  const fault = isHeld ? null : faultOf(name, events)
  return html`
    <tr>
      <td>${valueText(mode)}</td>
      <td class="mono">
        ${valueText(name)}${fault !== null && html`<div class="dim">${fault}</div>`}
      </td>
      <td><${Badge} tone=${toneOf(mode, isHeld)}>${isHeld ? 'yes' : 'no'}<//></td>
    </tr>
  `
}

/** A rule that denies is in the way when it holds, one that is required when it does not. */
function toneOf(mode: unknown, isHeld: boolean): Tone {
  if (mode === 'deny') return isHeld ? 'bad' : 'good'
  if (isHeld) return 'good'
  return mode === 'require' ? 'bad' : 'plain'
}
