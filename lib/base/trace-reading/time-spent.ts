// Where the time of a request went: into backends, into a policy that waited, or into a long answer.

import { timeText } from './amounts.ts'
import { valueText } from './step.ts'
import type { ShownEvent, Step } from './step.ts'

interface Span {
  readonly from: number
  readonly to: number
}

/** Less than this share of the whole is not worth a word. */
const LEAST_SHARE = 0.1

/** `332.0 ms waiting for 127.0.0.1:9000`, the parts that matter. */
export function timeSpent(steps: readonly Step[], total: number): string[] {
  const events = steps.map(({ event }) => event)
  const calls = events.filter(({ message }) => message.type === 'backendCallResult').flatMap(spanOf)
  const waited = lengthOf(calls)
  const parts: string[] = []
  const say = (time: number, words: string): void => {
    if (time >= total * LEAST_SHARE) parts.push(`${timeText(time)} ${words}`)
  }
  for (const event of events) {
    const { type, kind } = event.message
    const [span] = spanOf(event)
    if (type === 'policy' && span !== undefined)
      say(span.to - span.from, `in policy ${valueText(kind)}`)
  }
  if (waited > 0) say(waited, `waiting for ${targetsOf(events).join(', ')}`)
  say(total - answeredAt(events, total), 'passing the answer on')
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
