// What decided how a request ended: a limit, a rule, no route, a policy, or a backend.

import { spanWords } from './amounts.ts'
import { bytesOf, textOf } from './bytes.ts'
import { members, valueText } from './step.ts'
import type { ShownEvent, Step } from './step.ts'
import { targetsOf } from './time-spent.ts'

export interface Cause {
  readonly words: string
  readonly step: number
}

const MOST_LETTERS = 200
/** Base64 of as much of an answer as is looked at. */
const MOST_LOOKED_AT = 4_096

/** The first that fits: a limit or a rule says more than the policy that asked it. */
export function causeOf(
  steps: readonly Step[],
  status: number | null,
  error: string | null,
): Cause | null {
  const events = steps.map(({ event }) => event)
  const isRefused = status === null || status >= 400
  if (isRefused) {
    const refused =
      limitCause(events) ?? ruleCause(events) ?? routeCause(events) ?? policyCause(events)
    if (refused !== null) return refused
  }
  return (
    failureCause(events, error) ?? (isRefused ? backendCause(events, status) : ownAnswer(events))
  )
}

function limitCause(events: readonly ShownEvent[]): Cause | null {
  const step = events.findLastIndex(
    ({ message }) => message.type === 'rateLimit' && message['decision'] === 'deny',
  )
  if (step < 0) return null
  const { rule, bucket, counts, limit, remaining, reset, error } = events[step]!.message
  const name = `limit ${valueText(rule)}${bucket === null || bucket === undefined ? '' : ` for ${valueText(bucket)}`}`
  if (typeof error === 'string') return { words: `${name} could not be asked: ${error}`, step }
  const left =
    typeof limit === 'number'
      ? `has ${valueText(remaining)} of ${limit} ${valueText(counts)} left`
      : 'is used up'
  const again = typeof reset === 'number' ? `, more in ${spanWords(reset)}` : ''
  return { words: `${name} ${left}${again}`, step }
}

function ruleCause(events: readonly ShownEvent[]): Cause | null {
  const step = events.findLastIndex(
    ({ message }) => message.type === 'authorizationResult' && message['result'] === 'deny',
  )
  if (step < 0) return null
  const { rules } = events[step]!.message
  const list = (Array.isArray(rules) ? rules : []).map(members)
  const words = `refused by authorization ${placeOf(events, step)}: ${objection(list, events)}`
  return { words, step }
}

type Rule = Readonly<Record<string, unknown>>

/** As rules decide: what denies, what is required, and at least one of those that allow. */
function objection(rules: readonly Rule[], events: readonly ShownEvent[]): string {
  const denies = rules.find(({ mode, matched }) => mode === 'deny' && matched === true)
  if (denies !== undefined) return `${valueText(denies['name'])} holds, and it denies`
  const required = rules.find(({ mode, matched }) => mode === 'require' && matched !== true)
  const missing = required ?? rules.find(({ mode }) => mode === 'allow')
  if (missing === undefined) return 'no rule allows it'
  const name = valueText(missing['name'])
  const fault = faultOf(missing['name'], events)
  const why = fault === null ? '' : ` (${fault})`
  const allowing = rules.filter(({ mode }) => mode === 'allow').length
  if (required !== undefined || allowing === 1) return `${name} does not hold${why}`
  return `none of ${allowing} rules that allow holds`
}

const FAULTS: ReadonlyMap<string, string> = new Map([
  ['no_such_key', 'a name in it does not exist here'],
  ['no_such_overload', 'a value in it has another type'],
  ['index_out_of_bounds', 'a list in it is too short'],
  ['conversion', 'a value in it cannot be converted'],
])

/** Why an expression had no value, where it had none. */
export function faultOf(expression: unknown, events: readonly ShownEvent[]): string | null {
  const fault = events.find(
    ({ message }) => message.type === 'cel' && message['expr'] === expression,
  )
  const { error } = members(fault?.message['result'])
  if (typeof error !== 'string') return null
  return FAULTS.get(error) ?? error
}

function routeCause(events: readonly ShownEvent[]): Cause | null {
  const step = events.findIndex(
    ({ message }) => message.type === 'routeSelection' && message['selectedRoute'] === null,
  )
  if (step < 0) return null
  const { evaluatedRoutes } = events[step]!.message
  const count = Array.isArray(evaluatedRoutes) ? evaluatedRoutes.length : 0
  const { method, uri } = requestOf(events)
  const looked = count === 1 ? '1 was looked at' : `${count} were looked at`
  return { words: `no route is for ${valueText(method)} ${valueText(uri)}; ${looked}`, step }
}

function policyCause(events: readonly ShownEvent[]): Cause | null {
  const step = answeringPolicy(events)
  if (step < 0) return null
  const { kind } = events[step]!.message
  const body = answerText(events)
  const quoted = body === '' ? '' : `: “${body}”`
  return { words: `refused by ${valueText(kind)} ${placeOf(events, step)}${quoted}`, step }
}

function answeringPolicy(events: readonly ShownEvent[]): number {
  return events.findLastIndex(({ message }) => {
    const { details } = members(message['result'])
    return message.type === 'policy' && /^answered \d/.test(valueText(details))
  })
}

const OUTCOMES: ReadonlyMap<string, string> = new Map([
  ['client_closed', 'the client left before it was over'],
  ['client_error', 'the client broke the protocol'],
  ['backend_reset', 'the backend broke off in the middle of its answer'],
  ['backend_timeout', 'the backend took too long'],
  ['idle', 'nothing was sent for too long'],
  ['shutdown', 'the gateway was stopped'],
])

/** A backend that cannot be reached says more than what became of the request. */
function failureCause(events: readonly ShownEvent[], error: string | null): Cause | null {
  if (error === null) return null
  const last = events.length - 1
  const outcome = OUTCOMES.get(error)
  if (outcome !== undefined) return { words: outcome, step: last }
  const step = events.findLastIndex(
    ({ message }) => message.type === 'backendCallResult' && typeof message['error'] === 'string',
  )
  if (step < 0) return { words: error, step: last }
  const tries = events.filter(({ message }) => message.type === 'backendCallStart').length
  const target = targetsOf(events.slice(0, step + 1)).at(-1) ?? 'the backend'
  const times = tries > 1 ? `, after ${tries} tries` : ''
  const why = valueText(events[step]!.message['error']).replace(/^upstream call failed: /, '')
  return { words: `backend ${target}: ${why}${times}`, step }
}

function backendCause(events: readonly ShownEvent[], status: number | null): Cause | null {
  const step = events.findLastIndex(
    ({ message }) => message.type === 'backendCallResult' && message['status'] === status,
  )
  if (step < 0) return null
  const target = targetsOf(events.slice(0, step + 1)).at(-1) ?? 'the backend'
  return { words: `this is what ${target} answered`, step }
}

/** No backend was asked. */
function ownAnswer(events: readonly ShownEvent[]): Cause | null {
  const step = answeringPolicy(events)
  if (step < 0) return null
  return {
    words: `answered by ${valueText(events[step]!.message['kind'])} ${placeOf(events, step)}`,
    step,
  }
}

/** `at route reports`, or at the gateway while no route was chosen. */
function placeOf(events: readonly ShownEvent[], step: number): string {
  const route = events
    .slice(0, step)
    .findLast(({ message }) => typeof message['selectedRoute'] === 'string')
  return route === undefined
    ? 'at the gateway'
    : `at route ${routeName(route.message['selectedRoute'])}`
}

/** Of its key, `<listener>/<namespace>/<route>`. */
export function routeName(key: unknown): string {
  return valueText(key).split('/').at(-1)!
}

/** As the trace saw it first. */
function requestOf(events: readonly ShownEvent[]): Readonly<Record<string, unknown>> {
  const first = events.find(({ message }) => message.type === 'requestSnapshot')
  return members(members(first?.message['requestState'])['request'])
}

/** What the client was told, if it is short; of JSON its message. */
function answerText(events: readonly ShownEvent[]): string {
  const event = events.findLast(
    ({ message }) => message.type === 'bodySnapshot' && message['stage'] === 'response',
  )
  const body = event?.message['body']
  const text =
    typeof body === 'string' ? (textOf(bytesOf(body.slice(0, MOST_LOOKED_AT))) ?? '') : ''
  const words = messageIn(text).trim()
  return words.length > MOST_LETTERS ? '' : words
}

function messageIn(text: string): string {
  if (!text.startsWith('{')) return text
  try {
    const { error, message } = members(JSON.parse(text))
    const found = members(error)['message'] ?? message ?? error
    return typeof found === 'string' ? found : ''
  } catch {
    return ''
  }
}
