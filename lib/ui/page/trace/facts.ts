// What a step of a trace says, laid out for people: decisions with their reasons first.

import { html } from '../view.ts'
import type { ComponentChildren, VNode } from '../view.ts'
import { bytesText, spanWords, timeText } from '../../../trace-view/amounts.ts'
import { faultOf, routeName } from '../../../trace-view/explain-outcome.ts'
import { members, totalOf, valueText } from '../../../trace-view/trace-event.ts'
import type { ShownEvent } from '../../../trace-view/trace-event.ts'
import { arrivalsOf, partCount } from '../../../trace-view/timed-events.ts'
import { Badge, toneOfStatus } from '../parts/badge.ts'
import { DataView } from '../parts/data-view.ts'
import { RuleTable } from './rules.ts'
import type { StepProps } from './details.ts'

type Message = ShownEvent['message']
type Facts = (message: Message, props: StepProps) => ComponentChildren

/** Routes that are listed. */
const MOST_ROUTES = 50

const STAGES: ReadonlyMap<string, string> = new Map([
  ['initial request', 'As the client sent it.'],
  ['gateway policies', 'Behind the policies of the gateway.'],
  ['route policies', 'Behind the policies of the route.'],
  ['final request', 'As it goes to the backend.'],
  ['raw response', 'As the backend answered.'],
  ['backend response ready', 'The answer before policies have their word on it.'],
  ['final response', 'The answer as the client gets it.'],
  ['response', 'The body of the answer, as the client gets it.'],
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
  ['backendCallStart', ({ target }) => pairs([['Asked', valueText(target)]])],
  ['backendCallResult', callFacts],
  ['llmUsage', ({ usage }) => fieldsOf(members(usage))],
  ['requestFinished', finishedFacts],
])

export function TraceFacts(props: StepProps): VNode {
  const { message } = props.steps[props.at]!.event
  const { type: _type, ...others } = message
  const facts = FACTS.get(message.type)?.(message, props) ?? fieldsOf(others)
  return html`<div class="facts-of">${facts}</div>`
}

function requestFacts({ stage, requestState }: Message): ComponentChildren {
  const { request, source, backend } = members(requestState)
  const { method, uri, version } = members(request)
  const { address, port } = members(source)
  return html`
    ${stageWords(stage)}
    ${pairs([
      ['Request', `${valueText(method)} ${valueText(uri)}`],
      ['Client', `${valueText(address)}:${valueText(port)}, ${valueText(version)}`],
      ...(backend === undefined
        ? []
        : [['Backend', Object.values(members(backend)).map(valueText).join(', ')] as const]),
    ])}
  `
}

function responseFacts({ stage, requestState }: Message): ComponentChildren {
  const { response, proxy } = members(requestState)
  const { code } = members(response)
  const { requestProcessingDuration, upstreamDuration } = members(proxy)
  return html`
    ${stageWords(stage)}
    ${pairs([
      ['Status', status(code)],
      ...(upstreamDuration === undefined
        ? []
        : ([
            ['Until the backend was asked', valueText(requestProcessingDuration)],
            ['Until it answered', valueText(upstreamDuration)],
          ] as const)),
    ])}
  `
}

function bodyFacts(message: Message): ComponentChildren {
  const { stage, bytes, truncated } = message
  const size = typeof bytes === 'number' ? bytesText(bytes) : '-'
  const parts = partsText(message)
  const cut = truncated === true ? '; only the beginning was kept' : ''
  const words = stage === 'final request' ? 'The body as the backend gets it.' : null
  return html`
    ${words === null ? stageWords(stage) : html`<p>${words}</p>`}
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
              was chosen.`
          : html`<strong class="bad">No route matched.</strong> The request was answered with 404.`
      }
    </p>
    <h3>Looked at</h3>
    <ul class="plain-list mono">
      ${routes
        .slice(0, MOST_ROUTES)
        .map(
          (key) =>
            html`<li>
              ${key} ${key === selectedRoute && html`<${Badge} tone="good">chosen<//>`}
            </li>`,
        )}
      ${routes.length > MOST_ROUTES && html`<li class="dim">… ${routes.length - MOST_ROUTES} more</li>`}
    </ul>
  `
}

function selectionFacts({ phase, effectivePolicy }: Message): ComponentChildren {
  const entries = Object.entries(members(effectivePolicy)).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  )
  if (entries.length === 0) return html`<p>The ${valueText(phase)} has no policies.</p>`
  return html`
    <p>Policies of the ${valueText(phase)} that apply:</p>
    <${DataView} value=${Object.fromEntries(entries)} open=${1} name="Policies" />
  `
}

function policyFacts({ kind, result }: Message): ComponentChildren {
  const { type, reason, details, snapshot } = members(result)
  const words = valueText(type === 'skip' ? reason : details)
  const code = Number(/^answered (\d+)/.exec(words)?.[1] ?? 0)
  return pairs([
    ['Policy', valueText(kind)],
    [
      'Result',
      type === 'skip'
        ? html`<${Badge}>skipped<//> ${words}`
        : code > 0
          ? html`answered ${status(code)}`
          : words,
    ],
    ...(typeof snapshot === 'object' && snapshot !== null
      ? [['Effect', 'It changed the request, as below.'] as const]
      : []),
  ])
}

function ruleFacts({ rules, result }: Message, { steps }: StepProps): ComponentChildren {
  const list = (Array.isArray(rules) ? rules : []).map(members)
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
    ${left && html`<meter min="0" max=${limit} value=${remaining} aria-label="What is left"></meter>`}
    ${pairs([
      ['Limit', valueText(rule)],
      ['Bucket', bucket === null ? 'one for all' : valueText(bucket)],
      ...(typeof reset === 'number' ? [['More in', spanWords(reset)] as const] : []),
      ...(typeof error === 'string' ? [['Service', error] as const] : []),
    ])}
    <p><a href="#/limits">What is left of all limits</a></p>
  `
}

function celFacts({ expr, result }: Message, { steps }: StepProps): ComponentChildren {
  const events = steps.map(({ event }) => event)
  return html`
    <p>This expression has no value for this request: ${faultOf(expr, events) ?? 'it failed'}.</p>
    <pre class="block" tabindex="0">${valueText(expr)}</pre>
    <p class="dim">
      Code <code>${valueText(members(result)['error'])}</code>. What it could read is in the request
      below. A rule without a value does not hold.
    </p>
  `
}

function callFacts({ status: code, error }: Message, { steps, at }: StepProps): ComponentChildren {
  const { eventStart, eventEnd } = steps[at]!.event
  const total = totalOf(steps)
  const took = eventEnd - (eventStart ?? eventEnd)
  const share = total > 0 ? `, ${Math.round((took / total) * 100)} % of the whole` : ''
  return pairs([
    ['Status', code === null || code === undefined ? 'none' : status(code)],
    ...(typeof error === 'string' ? [['Error', error] as const] : []),
    ['Took', `${timeText(took)}${share}`],
  ])
}

function finishedFacts(
  { status: code, error }: Message,
  { steps, at }: StepProps,
): ComponentChildren {
  return pairs([
    ['Status', code === null || code === undefined ? 'none' : status(code)],
    ...(typeof error === 'string' ? [['Error', error] as const] : []),
    ['Took', timeText(steps[at]!.event.eventEnd)],
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

function stageWords(stage: unknown): VNode {
  return html`<p>${STAGES.get(valueText(stage)) ?? valueText(stage)}</p>`
}
