// What an event of a trace means, by its type; authorization rules as a table.

import { bytesText, spanWords, timeText } from '../../trace-view/amounts.ts'
import { faultOf, routeName } from '../../trace-view/explain-outcome.ts'
import { asRecord, totalOf, valueText } from '../../trace-view/trace-event.ts'
import type { ShownEvent } from '../../trace-view/trace-event.ts'
import { arrivalsOf, partCount } from '../../trace-view/timed-events.ts'
import { html } from '../page-view.ts'
import type { ComponentChildren, VNode } from '../page-view.ts'
import { Badge, toneOfStatus } from '../parts/elements.ts'
import type { Tone } from '../parts/elements.ts'
import { DataView } from '../parts/data-tree.ts'
import type { StepProps } from './trace-step.ts'

type Message = ShownEvent['message']
type Facts = (message: Message, props: StepProps) => ComponentChildren

/** Routes listed. */
const MAX_ROUTES = 50

const STAGES: ReadonlyMap<string, string> = new Map([
  ['initial request', 'As the client sent it.'],
  ['gateway policies', 'After the policies of the gateway.'],
  ['route policies', 'After the policies of the route.'],
  ['final request', 'As sent to the backend.'],
  ['raw response', 'The response of the backend.'],
  ['backend response ready', 'The response before response policies run.'],
  ['final response', 'The response as sent to the client.'],
  ['response', 'The response body as sent to the client.'],
])

const FACTS: ReadonlyMap<string, Facts> = new Map<string, Facts>([
  ['requestStarted', () => html`<p>The request was accepted.</p>`],
  ['requestSnapshot', requestFacts],
  ['responseSnapshot', responseFacts],
  ['bodySnapshot', bodyFacts],
  ['routeSelection', routeFacts],
  ['policySelection', selectionFacts],
  ['policy', policyFacts],
  ['authorizationResult', ruleFacts],
  ['rateLimit', limitFacts],
  ['cel', celFacts],
  ['backendCallStart', ({ target }) => pairs([['Target', valueText(target)]])],
  ['backendCallResult', callFacts],
  ['llmUsage', ({ usage }) => fieldsOf(asRecord(usage))],
  ['requestFinished', finishedFacts],
])

export function TraceFacts(props: StepProps): VNode {
  const { message } = props.steps[props.at]!.event
  const { type: _type, ...others } = message
  const facts = FACTS.get(message.type)?.(message, props) ?? fieldsOf(others)
  return html`<div class="facts-of">${facts}</div>`
}

function requestFacts({ stage, requestState }: Message): ComponentChildren {
  const { request, source, backend } = asRecord(requestState)
  const { method, uri, version } = asRecord(request)
  const { address, port } = asRecord(source)
  return html`
    ${stageText(stage)}
    ${pairs([
      ['Request', `${valueText(method)} ${valueText(uri)}`],
      ['Client', `${valueText(address)}:${valueText(port)}, ${valueText(version)}`],
      ...(backend === undefined
        ? []
        : [['Backend', Object.values(asRecord(backend)).map(valueText).join(', ')] as const]),
    ])}
  `
}

function responseFacts({ stage, requestState }: Message): ComponentChildren {
  const { response, proxy } = asRecord(requestState)
  const { code } = asRecord(response)
  const { requestProcessingDuration, upstreamDuration } = asRecord(proxy)
  return html`
    ${stageText(stage)}
    ${pairs([
      ['Status', status(code)],
      ...(upstreamDuration === undefined
        ? []
        : ([
            ['Until the backend call', valueText(requestProcessingDuration)],
            ['Until the response', valueText(upstreamDuration)],
          ] as const)),
    ])}
  `
}

function bodyFacts(message: Message): ComponentChildren {
  const { stage, bytes, truncated } = message
  const size = typeof bytes === 'number' ? bytesText(bytes) : '-'
  const parts = partsText(message)
  const cut = truncated === true ? '; truncated' : ''
  const words = stage === 'final request' ? 'The body as sent to the backend.' : null
  return html`
    ${words === null ? stageText(stage) : html`<p>${words}</p>`}
    ${pairs([['Size', `${size}${parts}${cut}`]])}
  `
}

function partsText(message: Message): string {
  const arrivals = arrivalsOf(message)
  return arrivals.list.length < 2 ? '' : `, in ${partCount(arrivals)} parts`
}

function routeFacts({ selectedRoute, evaluatedRoutes }: Message): ComponentChildren {
  const routes = Array.isArray(evaluatedRoutes) ? evaluatedRoutes.map(valueText) : []
  const isFound = typeof selectedRoute === 'string'
  return html`
    <p>
      ${
        isFound
          ? html`Route
              <a href=${`#/map?route=${encodeURIComponent(selectedRoute)}`}
                >${routeName(selectedRoute)}</a
              >
              was selected.`
          : html`<strong class="bad">No route matched.</strong> The response is 404.`
      }
    </p>
    <h3>Evaluated routes</h3>
    <ul class="plain-list mono">
      ${routes
        .slice(0, MAX_ROUTES)
        .map(
          (key) =>
            html`<li>
              ${key} ${key === selectedRoute && html`<${Badge} tone="good">selected<//>`}
            </li>`,
        )}
      ${routes.length > MAX_ROUTES && html`<li class="dim">… ${routes.length - MAX_ROUTES} more</li>`}
    </ul>
  `
}

function selectionFacts({ phase, effectivePolicy }: Message): ComponentChildren {
  const entries = Object.entries(asRecord(effectivePolicy)).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  )
  if (entries.length === 0) return html`<p>The ${valueText(phase)} has no policies.</p>`
  return html`
    <p>Policies of the ${valueText(phase)} that apply:</p>
    <${DataView} value=${Object.fromEntries(entries)} open=${1} name="Policies" />
  `
}

function policyFacts({ kind, result }: Message): ComponentChildren {
  const { type, reason, details, snapshot } = asRecord(result)
  const words = valueText(type === 'skip' ? reason : details)
  const code = Number(/^answered (\d+)/.exec(words)?.[1] ?? 0)
  return pairs([
    ['Policy', valueText(kind)],
    [
      'Result',
      type === 'skip'
        ? html`<${Badge}>skipped<//> ${words}`
        : code > 0
          ? html`responded with ${status(code)}`
          : words,
    ],
    ...(typeof snapshot === 'object' && snapshot !== null
      ? [['Effect', 'Changed the request, see below.'] as const]
      : []),
  ])
}

function ruleFacts({ rules, result }: Message, { steps }: StepProps): ComponentChildren {
  const list = (Array.isArray(rules) ? rules : []).map(asRecord)
  return html`<${RuleTable}
    rules=${list}
    result=${valueText(result)}
    events=${steps.map(({ event }) => event)}
  />`
}

function limitFacts(message: Message): ComponentChildren {
  const { rule, counts, bucket, decision, limit, remaining, reset, error } = message
  const isDenied = decision === 'deny'
  const left = typeof limit === 'number' && typeof remaining === 'number'
  return html`
    <p>
      <${Badge} tone=${isDenied ? 'bad' : 'good'}>${valueText(decision)}<//>${' '}
      ${left && html`${remaining} of ${limit} ${valueText(counts)} left`}
    </p>
    ${left && html`<meter min="0" max=${limit} value=${remaining} aria-label="Remaining"></meter>`}
    ${pairs([
      ['Limit', valueText(rule)],
      ['Bucket', bucket === null ? 'shared' : valueText(bucket)],
      ...(typeof reset === 'number' ? [['Refill in', spanWords(reset)] as const] : []),
      ...(typeof error === 'string' ? [['Service', error] as const] : []),
    ])}
    <p><a href="#/limits">Show all limits</a></p>
  `
}

function celFacts({ expr, result }: Message, { steps }: StepProps): ComponentChildren {
  const events = steps.map(({ event }) => event)
  return html`
    <p>This expression failed for this request: ${faultOf(expr, events) ?? 'unknown error'}.</p>
    <pre class="block" tabindex="0">${valueText(expr)}</pre>
    <p class="dim">
      Code <code>${valueText(asRecord(result)['error'])}</code>. The request below has the values it
      could read. A rule that fails does not match.
    </p>
  `
}

function callFacts({ status: code, error }: Message, { steps, at }: StepProps): ComponentChildren {
  const { eventStart, eventEnd } = steps[at]!.event
  const total = totalOf(steps)
  const took = eventEnd - (eventStart ?? eventEnd)
  const share = total > 0 ? `, ${Math.round((took / total) * 100)} % of the total` : ''
  return pairs([
    ['Status', code === null || code === undefined ? 'none' : status(code)],
    ...(typeof error === 'string' ? [['Error', error] as const] : []),
    ['Duration', `${timeText(took)}${share}`],
  ])
}

function finishedFacts(
  { status: code, error }: Message,
  { steps, at }: StepProps,
): ComponentChildren {
  return pairs([
    ['Status', code === null || code === undefined ? 'none' : status(code)],
    ...(typeof error === 'string' ? [['Error', error] as const] : []),
    ['Duration', timeText(steps[at]!.event.eventEnd)],
  ])
}

type Pair = readonly [name: string, value: ComponentChildren]

function pairs(list: readonly Pair[]): VNode {
  return html`
    <dl class="pairs">
      ${list.map(
        ([name, value]) =>
          html`<dt>${name}</dt>
            <dd>${value}</dd>`,
      )}
    </dl>
  `
}

function fieldsOf(fields: Readonly<Record<string, unknown>>): VNode {
  return html`<${DataView} value=${fields} open=${2} name="Fields" />`
}

function status(code: unknown): VNode {
  return html`<${Badge} tone=${toneOfStatus(typeof code === 'number' ? code : 0)}
    >${valueText(code)}<//
  >`
}

function stageText(stage: unknown): VNode {
  return html`<p>${STAGES.get(valueText(stage)) ?? valueText(stage)}</p>`
}

type Rule = Readonly<Record<string, unknown>>

const MAX_RULES = 200

function RuleTable(props: {
  readonly rules: readonly Rule[]
  readonly result: string
  readonly events: readonly ShownEvent[]
}): VNode {
  const { rules, result, events } = props
  return html`
    <p>
      <${Badge} tone=${result === 'deny' ? 'bad' : 'good'}>${result}<//>${' '}
      ${result === 'deny' ? 'At least one rule denies the request.' : 'No rule denies the request.'}
    </p>
    <div class="scroll">
      <table class="rules">
        <thead>
          <tr>
            <th>Mode</th>
            <th>Rule</th>
            <th>Matches</th>
          </tr>
        </thead>
        <tbody>
          ${rules.slice(0, MAX_RULES).map((rule) => html`<${RuleRow} rule=${rule} events=${events} />`)}
        </tbody>
      </table>
    </div>
    ${rules.length === 0 && html`<p class="dim">There are no rules.</p>`}
    ${rules.length > MAX_RULES && html`<p class="dim">… ${rules.length - MAX_RULES} more</p>`}
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

/** A deny rule denies when it matches, a require rule when it does not. */
function toneOf(mode: unknown, isHeld: boolean): Tone {
  if (mode === 'deny') return isHeld ? 'bad' : 'good'
  if (isHeld) return 'good'
  return mode === 'require' ? 'bad' : 'plain'
}
