// What an event is called in the list, and what it says in one line.

import { timeText } from './amounts.ts'
import { members, valueText } from './step.ts'
import type { ShownEvent } from './step.ts'

type Message = ShownEvent['message']

/** A type is whatever the other side calls it, `constructor` too: not a name to look up in an object. */
const LABELS: ReadonlyMap<string, string> = mapOf({
  requestStarted: 'Request Start',
  requestSnapshot: 'Snapshot',
  responseSnapshot: 'Snapshot',
  bodySnapshot: 'Body Snapshot',
  routeSelection: 'Route',
  policySelection: 'Policies',
  policy: 'Policy',
  policyEvent: 'Policy Event',
  authorizationResult: 'Authz',
  cel: 'CEL',
  traceSampling: 'Tracing',
  rateLimit: 'Rate Limit',
  llmRouteResolved: 'LLM Route',
  llmRequestDetected: 'LLM Request',
  llmStreamingTranslation: 'LLM Stream',
  llmUsage: 'LLM Usage',
  mcpMessage: 'MCP Message',
  backendCallStart: 'Backend Start',
  backendCallResult: 'Backend Result',
  eventsDropped: 'Events Dropped',
  requestFinished: 'Request Done',
})

const MOST_CHARS = 120

type Summary = (message: Message, event: ShownEvent) => string

const SUMMARIES: ReadonlyMap<string, Summary> = mapOf<Summary>({
  requestStarted: () => 'request accepted',
  requestSnapshot: ({ stage, requestState }) => {
    const { method, uri, path } = members(members(requestState)['request'])
    return `${valueText(stage)}: ${valueText(method)} ${valueText(uri ?? path)}`
  },
  responseSnapshot: ({ stage, requestState }) =>
    `${valueText(stage)}: ${valueText(members(members(requestState)['response'])['code'])}`,
  bodySnapshot: ({ stage, bytes, body, truncated }) => {
    const size = bytes ?? bytesIn(valueText(body))
    return `${valueText(stage)}: ${valueText(size)} bytes${truncated === true ? ', cut' : ''}`
  },
  routeSelection: ({ selectedRoute, evaluatedRoutes }) => {
    const count = Array.isArray(evaluatedRoutes) ? evaluatedRoutes.length : 0
    if (selectedRoute === null || selectedRoute === undefined)
      return `no route matched, ${count} looked at`
    return `${valueText(selectedRoute)}, of ${count}`
  },
  policySelection: ({ phase, effectivePolicy }) =>
    `${valueText(phase)}: ${namesIn(effectivePolicy)}`,
  policy: ({ kind, result }) => {
    const { type, reason, details, snapshot } = members(result)
    if (type === 'skip') return `${valueText(kind)} skipped: ${valueText(reason)}`
    const changed = typeof snapshot === 'object' && snapshot !== null ? ', changed the request' : ''
    return `${valueText(kind)}: ${valueText(details)}${changed}`
  },
  policyEvent: ({ kind, details }) => `${valueText(kind)}: ${valueText(details)}`,
  authorizationResult: ({ result, rules }) => `${valueText(result)}: ${rulesOf(rules)}`,
  cel: ({ expr, result }) => `${valueText(expr)}: ${valueText(members(result)['error'] ?? result)}`,
  rateLimit: ({ rule, counts, bucket, decision, limit, remaining, error }) => {
    const whose = bucket === null || bucket === undefined ? '' : ` for ${valueText(bucket)}`
    const left = `${valueText(remaining)} of ${valueText(limit)} ${valueText(counts ?? '')}`.trim()
    return `${valueText(decision)}: ${valueText(rule)}${whose}, ${valueText(error ?? `${left} left`)}`
  },
  llmRouteResolved: ({ provider, routeType }) => `${valueText(provider)} ${valueText(routeType)}`,
  llmRequestDetected: ({ inputFormat, requestModel, streaming }) =>
    `${valueText(inputFormat)} ${valueText(requestModel)}${streaming === true ? ', streamed' : ''}`,
  llmUsage: ({ usage }) => pairs(members(usage)),
  mcpMessage: ({ method, target }) => `${valueText(method)} → ${valueText(target)}`,
  backendCallStart: ({ target }) => valueText(target),
  backendCallResult: (_message, event) => {
    const { eventStart, eventEnd } = event
    return outcome(event, eventStart === null ? '' : ` in ${timeText(eventEnd - eventStart)}`)
  },
  eventsDropped: ({ count }) => `${valueText(count)} events were not shown`,
  requestFinished: (_message, event) => outcome(event, ` after ${timeText(event.eventEnd)}`),
})

export function labelOf({ message: { type } }: ShownEvent): string {
  return LABELS.get(type) ?? type
}

export function summaryOf(event: ShownEvent): string {
  const { message, scope } = event
  const { type: _type, ...others } = message
  const said = SUMMARIES.get(message.type)?.(message, event) ?? pairs(others)
  const whole = scope.length === 0 ? said : `${scope.join(' > ')}: ${said}`
  return whole.length > MOST_CHARS ? whole.slice(0, MOST_CHARS - 1) + '…' : whole
}

function mapOf<T>(entries: Readonly<Record<string, T>>): ReadonlyMap<string, T> {
  return new Map(Object.entries(entries))
}

/** A call may be left without an answer, and nothing has failed. */
function outcome({ message: { status, error }, severity }: ShownEvent, time: string): string {
  const none = severity === 'info' ? 'no answer' : 'failed'
  const code = status === null || status === undefined ? none : valueText(status)
  return `${code}${time}${error === null || error === undefined ? '' : `: ${valueText(error)}`}`
}

/** Those that are there: what is not set is null or an empty list. */
function namesIn(policy: unknown): string {
  const names = Object.entries(members(policy))
    .filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0))
    .map(([name]) => name)
  return names.join(', ') || 'none'
}

function rulesOf(rules: unknown): string {
  if (!Array.isArray(rules) || rules.length === 0) return 'no rules'
  return rules
    .map(members)
    .map(
      ({ mode, name, matched }) =>
        `${valueText(mode)} ${valueText(name)} ${matched === true ? '✓' : '✗'}`,
    )
    .join('; ')
}

function pairs(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${valueText(value)}`)
    .join(' ')
}

/** Of what is written as base64. */
function bytesIn(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4)
}
