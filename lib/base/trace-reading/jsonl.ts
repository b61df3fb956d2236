// Traces as a file of JSON lines, one event each, as `gwctl proxy trace --raw` prints them.

import { members, stepOf } from './step.ts'
import type { Step } from './step.ts'

export interface Loaded {
  /** Whole traces, one behind the other. */
  readonly traces: readonly (readonly Step[])[]
  /** `line 4 is not JSON`, the first of them. */
  readonly problems: readonly string[]
  /** Lines that are no events, in all. */
  readonly wrong: number
  /** Events above the bound. */
  readonly left: number
}

const MOST_STEPS = 10_000
const MOST_PROBLEMS = 10

/** Throws at what is no event, and says why. */
export function checkedLine(line: string): string {
  const fault = faultOf(line)
  if (fault !== null) throw new Error(`it ${fault}`)
  return line
}

/** What is wrong with it, if anything. */
function faultOf(line: string): string | null {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return 'is not JSON'
  }
  const { type } = members(members(value)['message'])
  return typeof type === 'string' ? null : 'is no trace event'
}

export function linesText(steps: readonly Step[]): string {
  return steps.map(({ text }) => `${text}\n`).join('')
}

export function loadLines(text: string): Loaded {
  const traces: Step[][] = []
  const problems: string[] = []
  let [count, wrong, left, number] = [0, 0, 0, 0]
  for (const line of linesOf(text)) {
    number++
    if (line.trim() === '') continue
    const fault = faultOf(line)
    if (fault !== null) {
      wrong++
      if (problems.length < MOST_PROBLEMS) problems.push(`line ${number} ${fault}`)
      continue
    }
    if (count >= MOST_STEPS) left++
    else add(traces, stepOf(line))
    count++
  }
  return { traces, problems, wrong, left }
}

/** A request that starts is another trace. */
function add(traces: Step[][], step: Step): void {
  const last = traces.at(-1)
  if (last === undefined || step.event.message.type === 'requestStarted') traces.push([step])
  else last.push(step)
}

/** One by one: a file may be large. */
function* linesOf(text: string): Generator<string> {
  let from = 0
  while (from < text.length) {
    const at = text.indexOf('\n', from)
    const to = at < 0 ? text.length : at
    yield text.slice(from, to).replace(/\r$/, '')
    from = to + 1
  }
}
