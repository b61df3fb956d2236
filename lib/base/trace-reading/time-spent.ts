// Where the time of a request went: into backends, into a policy that waited, into a long answer, or into the gateway.

import { timeText } from './amounts.ts'
import { valueText } from './step.ts'
import type { ShownEvent, Step } from './step.ts'

interface Span {
  readonly from: number
  readonly to: number
}

/** Less than this share of the whole is not worth a word. */
const LEAST_SHARE = 0.1

/** `332.0 ms waiting for 127.0.0.1:9000`, the parts that matter. With the last of them they make up the whole. */
export function timeSpent(steps: readonly Step[], total: number): string[] {
  const events = steps.map(({ event }) => event)
  const calls = events.filter(({ message }) => message.type === 'backendCallResult').flatMap(spanOf)
  const waited = lengthOf(calls)
  const parts: string[] = []
  let rest = total
  const say = (time: number, words: string, least = total * LEAST_SHARE): void => {
    if (time < least) return
    parts.push(`${timeText(time)} ${words}`)
    rest -= time
  }
  for (const event of events) {
    const { type, kind } = event.message
    const [span] = spanOf(event)
    if (type === 'policy' && span !== undefined)
      say(span.to - span.from, `in policy ${valueText(kind)}`)
  }
  // Always: it would be taken for the gateway's own.
  if (waited > 0) say(waited, `waiting for ${targetsOf(events).join(', ')}`, 0)
  say(total - answeredAt(events, total), 'passing the answer on')
  if (parts.length > 0) say(rest, 'in the gateway')
  return parts
}

/** From where only the body is missing. */
function answeredAt(events: readonly ShownEvent[], total: number): number {
  const isAnswer = ({ message: { type, stage } }: ShownEvent): boolean =>
    type === 'responseSnapshot' && stage === 'final response'
  return events.findLast(isAnswer)?.eventEnd ?? total
}

export function targetsOf(events: readonly ShownEvent[]): string[] {
  const targets = events
    .filter(({ message }) => message.type === 'backendCallStart')
    .map(({ message, scope }) => valueText(message['target'] ?? scope.at(-1)))
  return [...new Set(targets)]
}

function spanOf({ eventStart, eventEnd }: ShownEvent): Span[] {
  return eventStart === null ? [] : [{ from: Math.min(eventStart, eventEnd), to: eventEnd }]
}

/** Calls at the same time count once. */
function lengthOf(spans: readonly Span[]): number {
  let [length, until] = [0, -Infinity]
  for (const { from, to } of spans.toSorted((one, other) => one.from - other.from)) {
    length += Math.max(0, to - Math.max(from, until))
    until = Math.max(until, to)
  }
  return length
}
