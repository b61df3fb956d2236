// The label and the one-line summary of an event, as the list of a trace shows them.

import { timeText } from './amounts.ts'
import { asRecord, valueText } from './trace-event.ts'
import type { ShownEvent } from './trace-event.ts'

type Message = ShownEvent['message']

/** A map, because the type comes from outside and may be `constructor`. */
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

const MAX_CHARS = 120

type Summary = (message: Message, event: ShownEvent) => string

const SUMMARIES: ReadonlyMap<string, Summary> = mapOf<Summary>({
  requestStarted: () => 'request accepted',
  requestSnapshot: ({ stage, requestState }) => {
    const { method, uri, path } = asRecord(asRecord(requestState)['request'])
    return `${valueText(stage)}: ${valueText(method)} ${valueText(uri ?? path)}`
  },
  responseSnapshot: ({ stage, requestState }) =>
    `${valueText(stage)}: ${valueText(asRecord(asRecord(requestState)['response'])['code'])}`,
  bodySnapshot: ({ stage, bytes, body, truncated }) => {
    const size = bytes ?? decodedLength(valueText(body))
    return `${valueText(stage)}: ${valueText(size)} bytes${truncated === true ? ', truncated' : ''}`
  },
  routeSelection: ({ selectedRoute, evaluatedRoutes }) => {
    const count = Array.isArray(evaluatedRoutes) ? evaluatedRoutes.length : 0
    if (selectedRoute === null || selectedRoute === undefined)
      return `no route matched, ${count} evaluated`
    return `${valueText(selectedRoute)}, ${count} evaluated`
  },
  policySelection: ({ phase, effectivePolicy }) =>
    `${valueText(phase)}: ${policyNames(effectivePolicy)}`,
  policy: ({ kind, result }) => {
    const { type, reason, details, snapshot } = asRecord(result)
    if (type === 'skip') return `${valueText(kind)} skipped: ${valueText(reason)}`
    const changed = typeof snapshot === 'object' && snapshot !== null ? ', changed the request' : ''
    return `${valueText(kind)}: ${valueText(details)}${changed}`
  },
  policyEvent: ({ kind, details }) => `${valueText(kind)}: ${valueText(details)}`,
  authorizationResult: ({ result, rules }) => `${valueText(result)}: ${rulesText(rules)}`,
  cel: ({ expr, result }) =>
    `${valueText(expr)}: ${valueText(asRecord(result)['error'] ?? result)}`,
  rateLimit: ({ rule, counts, bucket, decision, limit, remaining, error }) => {
    const bucketText = bucket === null || bucket === undefined ? '' : ` for ${valueText(bucket)}`
    const left = `${valueText(remaining)} of ${valueText(limit)} ${valueText(counts ?? '')}`.trim()
    return `${valueText(decision)}: ${valueText(rule)}${bucketText}, ${valueText(error ?? `${left} left`)}`
  },
  llmRouteResolved: ({ provider, routeType }) => `${valueText(provider)} ${valueText(routeType)}`,
  llmRequestDetected: ({ inputFormat, requestModel, streaming }) =>
    `${valueText(inputFormat)} ${valueText(requestModel)}${streaming === true ? ', streaming' : ''}`,
  llmUsage: ({ usage }) => fieldsText(asRecord(usage)),
  mcpMessage: ({ method, target }) => `${valueText(method)} → ${valueText(target)}`,
  backendCallStart: ({ target }) => valueText(target),
  backendCallResult: (_message, event) => {
    const { eventStart, eventEnd } = event
    return outcomeText(event, eventStart === null ? '' : ` in ${timeText(eventEnd - eventStart)}`)
  },
  eventsDropped: ({ count }) => `${valueText(count)} events dropped`,
  requestFinished: (_message, event) => outcomeText(event, ` after ${timeText(event.eventEnd)}`),
})

export function labelOf({ message: { type } }: ShownEvent): string {
  return LABELS.get(type) ?? type
}

export function summaryOf(event: ShownEvent): string {
  const { message, scope } = event
  const { type: _type, ...others } = message
  const text = SUMMARIES.get(message.type)?.(message, event) ?? fieldsText(others)
  const line = scope.length === 0 ? text : `${scope.join(' > ')}: ${text}`
  return line.length > MAX_CHARS ? line.slice(0, MAX_CHARS - 1) + '…' : line
}

function mapOf<T>(entries: Readonly<Record<string, T>>): ReadonlyMap<string, T> {
  return new Map(Object.entries(entries))
}

/** A call without a status and with severity `info` was given up, and did not fail. */
function outcomeText({ message: { status, error }, severity }: ShownEvent, time: string): string {
  const none = severity === 'info' ? 'no response' : 'failed'
  const code = status === null || status === undefined ? none : valueText(status)
  return `${code}${time}${error === null || error === undefined ? '' : `: ${valueText(error)}`}`
}

/** The names of the policies that are set: the others are null or an empty list. */
function policyNames(policy: unknown): string {
  const names = Object.entries(asRecord(policy))
    .filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0))
    .map(([name]) => name)
  return names.join(', ') || 'none'
}

function rulesText(rules: unknown): string {
  if (!Array.isArray(rules) || rules.length === 0) return 'no rules'
  return rules
    .map(asRecord)
    .map(
      ({ mode, name, matched }) =>
        `${valueText(mode)} ${valueText(name)} ${matched === true ? '✓' : '✗'}`,
    )
    .join('; ')
}

function fieldsText(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${valueText(value)}`)
    .join(' ')
}

/** The number of bytes that base64 text stands for. */
function decodedLength(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4)
}
