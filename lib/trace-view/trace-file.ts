// Traces in a file: JSON lines, one event per line, as `gwctl proxy trace --raw` prints them.

import { asRecord, stepOf } from './trace-event.ts'
import type { Step } from './trace-event.ts'

export interface Loaded {
  readonly traces: readonly (readonly Step[])[]
  /** The first problems: `line 4 is not JSON`. */
  readonly problems: readonly string[]
  /** How many lines are not events. */
  readonly wrong: number
  /** How many events were not loaded because of the limit. */
  readonly left: number
}

const MAX_STEPS = 10_000
const MAX_PROBLEMS = 10

/** Returns the line, or throws if it is not an event. */
export function checkedLine(line: string): string {
  const problem = problemOf(line)
  if (problem !== null) throw new Error(`it ${problem}`)
  return line
}

function problemOf(line: string): string | null {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return 'is not JSON'
  }
  const { type } = asRecord(asRecord(value)['message'])
  return typeof type === 'string' ? null : 'is not a trace event'
}

export function linesText(steps: readonly Step[]): string {
  return steps.map(({ text }) => `${text}\n`).join('')
}

export function loadLines(text: string): Loaded {
  const traces: Step[][] = []
  const problems: string[] = []
  let [count, wrong, left, number] = [0, 0, 0, 0]
  for (const line of eachLine(text)) {
    number++
    if (line.trim() === '') continue
    const problem = problemOf(line)
    if (problem !== null) {
      wrong++
      if (problems.length < MAX_PROBLEMS) problems.push(`line ${number} ${problem}`)
      continue
    }
    if (count >= MAX_STEPS) left++
    else addStep(traces, stepOf(line))
    count++
  }
  return { traces, problems, wrong, left }
}

/** `requestStarted` begins the next trace of the file. */
function addStep(traces: Step[][], step: Step): void {
  const last = traces.at(-1)
  if (last === undefined || step.event.message.type === 'requestStarted') traces.push([step])
  else last.push(step)
}

/** Yields one line at a time, because a file may be large. */
function* eachLine(text: string): Generator<string> {
  let from = 0
  while (from < text.length) {
    const at = text.indexOf('\n', from)
    const to = at < 0 ? text.length : at
    yield text.slice(from, to).replace(/\r$/, '')
    from = to + 1
  }
}
