// One event of a trace: its JSON text and the parsed fields. The text comes from outside, so every field is checked.

export interface ShownEvent {
  /** Microseconds; null for an event without a duration. */
  readonly eventStart: number | null
  readonly eventEnd: number
  /** As the gateway sent it, or from the outcome: the gateway sends `info` for all events of spec.md §6. */
  readonly severity: string
  readonly scope: readonly string[]
  readonly message: { readonly type: string } & Readonly<Record<string, unknown>>
}

/** The error of a call that was given up because the request needed no response of it. */
export const GIVEN_UP = 'the request ended first'

export interface Step {
  /** The JSON as the gateway sent it. */
  readonly text: string
  readonly event: ShownEvent
}

/** When a step ran, in microseconds since the request was accepted. */
export interface Timing {
  readonly from: number
  readonly to: number
}

export function stepOf(text: string): Step {
  return { text, event: eventOf(parseJson(text)) }
}

/** The value as an object; empty if it is not an object. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** Any value on one line; `-` for null and undefined. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return '-'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Reported at the end of a stream; the time of the stream is that of the response body, which is recorded next. */
const USAGE_TYPE = 'llmUsage'

/** An event without a start is given the time since the previous event. */
export function timingOf(steps: readonly Step[], at: number): Timing {
  const { eventStart, eventEnd, message } = steps[at]!.event
  if (message.type === USAGE_TYPE && eventStart === null) return { from: eventEnd, to: eventEnd }
  let previous = at - 1
  if (message.type === 'bodySnapshot')
    while (steps[previous]?.event.message.type === USAGE_TYPE) previous--
  const previousEnd = steps[previous]?.event.eventEnd ?? 0
  return { from: Math.min(eventStart ?? previousEnd, eventEnd), to: eventEnd }
}

export function totalOf(steps: readonly Step[]): number {
  return steps.reduce((latest, { event }) => Math.max(latest, event.eventEnd), 0)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return { severity: 'error', message: { type: 'unreadable', text } }
  }
}

function eventOf(value: unknown): ShownEvent {
  const { eventStart, eventEnd, severity: sent, scope, message } = asRecord(value)
  const { type } = asRecord(message)
  const severity = typeof sent === 'string' ? sent : 'info'
  return {
    eventStart: typeof eventStart === 'number' ? eventStart : null,
    eventEnd: typeof eventEnd === 'number' ? eventEnd : 0,
    severity: severity === 'info' ? severityOf(asRecord(message)) : severity,
    scope: Array.isArray(scope) ? scope.map(String) : [],
    message: { ...asRecord(message), type: typeof type === 'string' ? type : 'unknown' },
  }
}

/** The severity of an event of spec.md §6 by its outcome, so that a list shows failures in colour. */
function severityOf(message: Readonly<Record<string, unknown>>): string {
  const { type, status, error, selectedRoute } = message
  if (type === 'routeSelection') return selectedRoute === null ? 'error' : 'info'
  if (type !== 'backendCallResult' && type !== 'requestFinished') return 'info'
  const code = typeof status === 'number' ? status : 0
  if (code >= 500) return 'error'
  if (code >= 400) return 'warn'
  return typeof error === 'string' && error !== GIVEN_UP ? 'error' : 'info'
}
