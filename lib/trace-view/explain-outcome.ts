// Explains from a trace why the request ended as it did: the step that decided it, where the time went, what to look at.

import { spanWords, timeText } from './amounts.ts'
import { bytesOf, decodeUtf8 } from './body-text.ts'
import { asRecord, valueText } from './trace-event.ts'
import type { ShownEvent, Step } from './trace-event.ts'

export interface Explanation {
  readonly tone: 'good' | 'warn' | 'bad'
  /** `403 after 1.2 ms` */
  readonly outcome: string
  /** Continues the outcome: `: denied by …`, `, of which …`, or empty. */
  readonly reason: string
  /** The index of the step that decided the outcome, if one did. */
  readonly step: number | null
  /** Further facts worth a look. */
  readonly notes: readonly string[]
}

interface Cause {
  readonly text: string
  readonly step: number
}

interface Interval {
  readonly from: number
  readonly to: number
}

type Fields = Readonly<Record<string, unknown>>

const MAX_QUOTED_CHARS = 200
/** Only this much base64 of the response body is decoded. */
const MAX_DECODED_CHARS = 4_096
/** A smaller share of the total time is not mentioned. */
const MIN_SHARE = 0.1

const ABORT_TEXTS: ReadonlyMap<string, string> = new Map([
  ['client_closed', 'the client closed the connection before the response was complete'],
  ['client_error', 'the client violated the protocol'],
  ['backend_reset', 'the backend closed the connection in the middle of its response'],
  ['backend_timeout', 'the backend timed out'],
  ['idle', 'the connection was idle for too long'],
  ['shutdown', 'the gateway shut down'],
])

const CEL_ERROR_TEXTS: ReadonlyMap<string, string> = new Map([
  ['no_such_key', 'it reads a field that does not exist'],
  ['no_such_overload', 'a value in it has the wrong type'],
  ['index_out_of_bounds', 'a list in it is too short'],
  ['conversion', 'a value in it cannot be converted'],
])

/** Null while the request has not finished. */
export function explain(steps: readonly Step[]): Explanation | null {
  const finished = steps.findLast(({ event }) => event.message.type === 'requestFinished')
  if (finished === undefined) return null
  const { message, eventEnd } = finished.event
  const status = typeof message['status'] === 'number' ? message['status'] : null
  const error = typeof message['error'] === 'string' ? message['error'] : null
  const outcome = `${status ?? 'No response'} after ${timeText(eventEnd)}`
  const cause = causeOf(steps, status, error)
  const spent = timeSpent(steps, eventEnd)
  const times = spent.length === 0 ? '' : `, of which ${joinWithAnd(spent)}`
  return {
    tone: toneOf(status, error),
    outcome,
    reason: cause === null ? times : `: ${cause.text}`,
    step: cause?.step ?? null,
    notes: notesOf(steps, status),
  }
}

/** The explanation in one line. */
export function sentenceOf({ outcome, reason }: Explanation): string {
  return outcome + reason
}

/** Why a CEL expression had no value; null if it had one. */
export function faultOf(expression: unknown, events: readonly ShownEvent[]): string | null {
  const event = events.find(
    ({ message }) => message.type === 'cel' && message['expr'] === expression,
  )
  const { error } = asRecord(event?.message['result'])
  if (typeof error !== 'string') return null
  return CEL_ERROR_TEXTS.get(error) ?? error
}

/** The last part of a route key `<listener>/<namespace>/<route>`. */
export function routeName(key: unknown): string {
  return valueText(key).split('/').at(-1)!
}

function toneOf(status: number | null, error: string | null): Explanation['tone'] {
  if (status === null || status >= 500) return 'bad'
  if (status >= 400) return 'warn'
  return error === null ? 'good' : 'bad'
}

/** The first match counts: a limit or a rule says more than the policy that evaluated it. */
function causeOf(
  steps: readonly Step[],
  status: number | null,
  error: string | null,
): Cause | null {
  const events = steps.map(({ event }) => event)
  const isRefused = status === null || status >= 400
  if (isRefused) {
    const refusal =
      limitCause(events) ?? ruleCause(events) ?? routeCause(events) ?? policyCause(events)
    if (refusal !== null) return refusal
  }
  return (
    failureCause(events, error) ??
    (isRefused ? backendCause(events, status) : ownResponseCause(events))
  )
}

function limitCause(events: readonly ShownEvent[]): Cause | null {
  const step = events.findLastIndex(
    ({ message }) => message.type === 'rateLimit' && message['decision'] === 'deny',
  )
  if (step < 0) return null
  const { rule, bucket, counts, limit, remaining, reset, error } = events[step]!.message
  const name = `limit ${valueText(rule)}${bucket === null || bucket === undefined ? '' : ` for ${valueText(bucket)}`}`
  if (typeof error === 'string') return { text: `${name} could not be checked: ${error}`, step }
  const left =
    typeof limit === 'number'
      ? `has ${valueText(remaining)} of ${limit} ${valueText(counts)} left`
      : 'is exhausted'
  const again = typeof reset === 'number' ? `, resets in ${spanWords(reset)}` : ''
  return { text: `${name} ${left}${again}`, step }
}

function ruleCause(events: readonly ShownEvent[]): Cause | null {
  const step = events.findLastIndex(
    ({ message }) => message.type === 'authorizationResult' && message['result'] === 'deny',
  )
  if (step < 0) return null
  const { rules } = events[step]!.message
  const list = (Array.isArray(rules) ? rules : []).map(asRecord)
  const text = `denied by authorization ${placeOf(events, step)}: ${decidingRule(list, events)}`
  return { text, step }
}

/** Rules are evaluated in this order: deny, require, then at least one of those that allow. */
function decidingRule(rules: readonly Fields[], events: readonly ShownEvent[]): string {
  const denying = rules.find(({ mode, matched }) => mode === 'deny' && matched === true)
  if (denying !== undefined) return `deny rule ${valueText(denying['name'])} is true`
  const required = rules.find(({ mode, matched }) => mode === 'require' && matched !== true)
  const missing = required ?? rules.find(({ mode }) => mode === 'allow')
  if (missing === undefined) return 'no rule allows it'
  const name = valueText(missing['name'])
  const fault = faultOf(missing['name'], events)
  const why = fault === null ? '' : ` (${fault})`
  const allowing = rules.filter(({ mode }) => mode === 'allow').length
  if (required !== undefined || allowing === 1) return `${name} is not true${why}`
  return `none of the ${allowing} allow rules is true`
}

function routeCause(events: readonly ShownEvent[]): Cause | null {
  const step = events.findIndex(
    ({ message }) => message.type === 'routeSelection' && message['selectedRoute'] === null,
  )
  if (step < 0) return null
  const { evaluatedRoutes } = events[step]!.message
  const count = Array.isArray(evaluatedRoutes) ? evaluatedRoutes.length : 0
  const first = events.find(({ message }) => message.type === 'requestSnapshot')
  const { method, uri } = asRecord(asRecord(first?.message['requestState'])['request'])
  const request = `${valueText(method)} ${valueText(uri)}`
  return { text: `no route matches ${request} (${countText(count, 'route')} evaluated)`, step }
}

function policyCause(events: readonly ShownEvent[]): Cause | null {
  const step = answeringPolicy(events)
  if (step < 0) return null
  const { kind } = events[step]!.message
  const body = responseText(events)
  const quoted = body === '' ? '' : `: “${body}”`
  return { text: `rejected by ${valueText(kind)} ${placeOf(events, step)}${quoted}`, step }
}

function answeringPolicy(events: readonly ShownEvent[]): number {
  return events.findLastIndex(({ message }) => {
    const { details } = asRecord(message['result'])
    return message.type === 'policy' && /^answered \d/.test(valueText(details))
  })
}

/** The error of a backend call says more than the error of the request. */
function failureCause(events: readonly ShownEvent[], error: string | null): Cause | null {
  if (error === null) return null
  const last = events.length - 1
  const abortText = ABORT_TEXTS.get(error)
  if (abortText !== undefined) return { text: abortText, step: last }
  const step = events.findLastIndex(
    ({ message }) => message.type === 'backendCallResult' && typeof message['error'] === 'string',
  )
  if (step < 0) return { text: error, step: last }
  const attempts = events.filter(({ message }) => message.type === 'backendCallStart').length
  const target = targetsOf(events.slice(0, step + 1)).at(-1) ?? 'unknown'
  const times = attempts > 1 ? `, after ${attempts} attempts` : ''
  const why = valueText(events[step]!.message['error']).replace(/^upstream call failed: /, '')
  return { text: `backend ${target}: ${why}${times}`, step }
}

function backendCause(events: readonly ShownEvent[], status: number | null): Cause | null {
  const step = events.findLastIndex(
    ({ message }) => message.type === 'backendCallResult' && message['status'] === status,
  )
  if (step < 0) return null
  const target = targetsOf(events.slice(0, step + 1)).at(-1)
  return { text: `sent by backend ${target ?? 'unknown'}`, step }
}

/** The gateway responded without a call to a backend. */
function ownResponseCause(events: readonly ShownEvent[]): Cause | null {
  const step = answeringPolicy(events)
  if (step < 0) return null
  const { kind } = events[step]!.message
  return { text: `sent by ${valueText(kind)} ${placeOf(events, step)}`, step }
}

/** `on route reports`, or `on the gateway` before a route was selected. */
function placeOf(events: readonly ShownEvent[], step: number): string {
  const route = events
    .slice(0, step)
    .findLast(({ message }) => typeof message['selectedRoute'] === 'string')
  return route === undefined
    ? 'on the gateway'
    : `on route ${routeName(route.message['selectedRoute'])}`
}

/** The response body if it is short; of JSON only its error message. */
function responseText(events: readonly ShownEvent[]): string {
  const event = events.findLast(
    ({ message }) => message.type === 'bodySnapshot' && message['stage'] === 'response',
  )
  const body = event?.message['body']
  const text =
    typeof body === 'string' ? (decodeUtf8(bytesOf(body.slice(0, MAX_DECODED_CHARS))) ?? '') : ''
  const message = errorMessageIn(text).trim()
  return message.length > MAX_QUOTED_CHARS ? '' : message
}

function errorMessageIn(text: string): string {
  if (!text.startsWith('{')) return text
  try {
    const { error, message } = asRecord(JSON.parse(text))
    const found = asRecord(error)['message'] ?? message ?? error
    return typeof found === 'string' ? found : ''
  } catch {
    return ''
  }
}

/** `332.0 ms waiting for 127.0.0.1:9000`: the parts that matter, and what remains for the gateway. */
function timeSpent(steps: readonly Step[], total: number): string[] {
  const events = steps.map(({ event }) => event)
  const calls = events
    .filter(({ message }) => message.type === 'backendCallResult')
    .flatMap(intervalOf)
  const waited = coveredTime(calls)
  const parts: string[] = []
  let rest = total
  const add = (time: number, text: string, least = total * MIN_SHARE): void => {
    if (time < least) return
    parts.push(`${timeText(time)} ${text}`)
    rest -= time
  }
  for (const event of events) {
    const { type, kind } = event.message
    const [interval] = intervalOf(event)
    if (type === 'policy' && interval !== undefined)
      add(interval.to - interval.from, `in policy ${valueText(kind)}`)
  }
  // However short: otherwise it would count as time of the gateway.
  if (waited > 0) add(waited, `waiting for ${targetsOf(events).join(', ')}`, 0)
  add(total - responseHeadAt(events, total), 'sending the response')
  if (parts.length > 0) add(rest, 'in the gateway')
  return parts
}

/** When only the response body was still missing. */
function responseHeadAt(events: readonly ShownEvent[], total: number): number {
  const isFinalResponse = ({ message: { type, stage } }: ShownEvent): boolean =>
    type === 'responseSnapshot' && stage === 'final response'
  return events.findLast(isFinalResponse)?.eventEnd ?? total
}

function targetsOf(events: readonly ShownEvent[]): string[] {
  const targets = events
    .filter(({ message }) => message.type === 'backendCallStart')
    .map(({ message, scope }) => valueText(message['target'] ?? scope.at(-1)))
  return [...new Set(targets)]
}

function intervalOf({ eventStart, eventEnd }: ShownEvent): Interval[] {
  return eventStart === null ? [] : [{ from: Math.min(eventStart, eventEnd), to: eventEnd }]
}

/** Calls that run in parallel count once. */
function coveredTime(intervals: readonly Interval[]): number {
  let [covered, until] = [0, -Infinity]
  for (const { from, to } of intervals.toSorted((one, other) => one.from - other.from)) {
    covered += Math.max(0, to - Math.max(from, until))
    until = Math.max(until, to)
  }
  return covered
}

function notesOf(steps: readonly Step[], status: number | null): string[] {
  const count = (matches: (message: ShownEvent['message'], severity: string) => boolean): number =>
    steps.filter(({ event }) => matches(event.message, event.severity)).length
  const faults = count(({ type }) => type === 'cel')
  const denied = count(({ type, result }) => type === 'authorizationResult' && result === 'deny')
  const failed = count(
    ({ type, error }, severity) =>
      type === 'backendCallResult' && typeof error === 'string' && severity !== 'info',
  )
  const dropped = count(({ type }) => type === 'eventsDropped')
  const isServed = status !== null && status < 400
  return [
    ...modelAndTargets(steps),
    ...(isServed && denied > 0 ? [`${countText(denied, 'authorization check')} denied`] : []),
    ...(faults > 0 ? [`${countText(faults, 'CEL expression')} failed`] : []),
    ...(isServed && failed > 0 ? [`${countText(failed, 'earlier attempt')} failed`] : []),
    ...(dropped > 0 ? ['some events are missing: they came faster than they could be sent'] : []),
  ]
}

function modelAndTargets(steps: readonly Step[]): string[] {
  const last = (type: string): Fields =>
    asRecord(steps.findLast(({ event }) => event.message.type === type)?.event.message)
  const { requestModel } = last('llmRequestDetected')
  const { provider } = last('llmRouteResolved')
  const { input, output } = asRecord(last('llmUsage')['usage'])
  const { method } = last('mcpMessage')
  const targets = steps
    .filter(({ event }) => event.message.type === 'mcpMessage')
    .map(({ event }) => valueText(event.message['target']))
  const model =
    provider === undefined ? requestModel : `${valueText(requestModel)} (${valueText(provider)})`
  const tokens =
    input === undefined ? '' : `: ${valueText(input)} tokens in, ${valueText(output)} out`
  return [
    ...(typeof model === 'string' ? [`model ${model}${tokens}`] : []),
    ...(targets.length > 0 ? [`${valueText(method)} to ${[...new Set(targets)].join(', ')}`] : []),
  ]
}

function joinWithAnd(parts: readonly string[]): string {
  return [parts.slice(0, -1).join(', '), ...parts.slice(-1)].filter(Boolean).join(' and ')
}

function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
