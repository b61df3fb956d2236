// Why a request ended as it did, in plain words, from its trace.

import { timeText } from './amounts.ts'
import { causeOf } from './cause.ts'
import { members, valueText } from './step.ts'
import type { ShownEvent, Step } from './step.ts'
import { timeSpent } from './time-spent.ts'

export interface Explanation {
  readonly tone: 'good' | 'warn' | 'bad'
  /** `403 after 1.2 ms` */
  readonly outcome: string
  /** What follows it: `: refused by …`, `, of which …`, or nothing. */
  readonly reason: string
  /** The step that decided it, where one did. */
  readonly step: number | null
  /** What else is worth a look. */
  readonly notes: readonly string[]
}

/** Null while the request is not over. */
export function explain(steps: readonly Step[]): Explanation | null {
  const finished = steps.findLast(({ event }) => event.message.type === 'requestFinished')
  if (finished === undefined) return null
  const { message, eventEnd } = finished.event
  const status = typeof message['status'] === 'number' ? message['status'] : null
  const error = typeof message['error'] === 'string' ? message['error'] : null
  const outcome = `${status ?? 'No answer'} after ${timeText(eventEnd)}`
  const cause = causeOf(steps, status, error)
  const spent = timeSpent(steps, eventEnd)
  const times = spent.length === 0 ? '' : `, of which ${listOf(spent)}`
  return {
    tone: toneOf(status, error),
    outcome,
    reason: cause === null ? times : `: ${cause.words}`,
    step: cause?.step ?? null,
    notes: notesOf(steps, status),
  }
}

function listOf(parts: readonly string[]): string {
  return [parts.slice(0, -1).join(', '), ...parts.slice(-1)].filter(Boolean).join(' and ')
}

/** What happened and why, in one line. */
export function sentenceOf({ outcome, reason }: Explanation): string {
  return outcome + reason
}

function toneOf(status: number | null, error: string | null): Explanation['tone'] {
  if (status === null || status >= 500) return 'bad'
  if (status >= 400) return 'warn'
  return error === null ? 'good' : 'bad'
}

function notesOf(steps: readonly Step[], status: number | null): string[] {
  const count = (wanted: (message: ShownEvent['message'], severity: string) => boolean): number =>
    steps.filter(({ event }) => wanted(event.message, event.severity)).length
  const faults = count(({ type }) => type === 'cel')
  const denied = count(({ type, result }) => type === 'authorizationResult' && result === 'deny')
  const failed = count(
    ({ type, error }, severity) =>
      type === 'backendCallResult' && typeof error === 'string' && severity !== 'info',
  )
  const dropped = count(({ type }) => type === 'eventsDropped')
  const isServed = status !== null && status < 400
  return [
    ...aboutOf(steps),
    ...(isServed && denied > 0 ? [`${times(denied, 'rule check')} said no`] : []),
    ...(faults > 0 ? [`${times(faults, 'expression')} had no value`] : []),
    ...(isServed && failed > 0 ? [`${times(failed, 'try', 'tries')} failed before`] : []),
    ...(dropped > 0 ? ['some events are missing: they came too fast'] : []),
  ]
}

/** Whom it was for: a model, or targets. */
function aboutOf(steps: readonly Step[]): string[] {
  const last = (type: string): Fields =>
    members(steps.findLast(({ event }) => event.message.type === type)?.event.message)
  const { requestModel } = last('llmRequestDetected')
  const { provider } = last('llmRouteResolved')
  const { input, output } = members(last('llmUsage')['usage'])
  const { method } = last('mcpMessage')
  const targets = steps
    .filter(({ event }) => event.message.type === 'mcpMessage')
    .map(({ event }) => valueText(event.message['target']))
  const model =
    provider === undefined ? requestModel : `${valueText(requestModel)} of ${valueText(provider)}`
  const tokens =
    input === undefined ? '' : `: ${valueText(input)} tokens in, ${valueText(output)} out`
  return [
    ...(typeof model === 'string' ? [`model ${model}${tokens}`] : []),
    ...(targets.length > 0 ? [`${valueText(method)} for ${[...new Set(targets)].join(', ')}`] : []),
  ]
}

type Fields = Readonly<Record<string, unknown>>

function times(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
