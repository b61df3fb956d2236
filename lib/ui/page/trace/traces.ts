// The traces that the page keeps, the newest first, and what each is called. Pure.

import { timeText } from '../../../trace-view/amounts.ts'
import { explain } from '../../../trace-view/explain-outcome.ts'
import { members } from '../../../trace-view/trace-event.ts'
import type { Step } from '../../../trace-view/trace-event.ts'

export interface KeptTrace {
  readonly id: number
  /** The file it was loaded from; null for one that was watched. */
  readonly file: string | null
  /** When it began to come. */
  readonly at: number
  readonly steps: readonly Step[]
  /** Events above the bound. */
  readonly left: number
  readonly state: 'running' | 'over' | 'broken'
}

/** Enough to compare. */
export const MOST_TRACES = 20
/** A trace has some tens of events; one of a long event stream may have more. */
const MOST_STEPS = 10_000
/** Letters of all of them, for bodies are long. */
const MOST_LETTERS = 128 * 1024 * 1024

const MOST_NAME = 80

export interface Title {
  readonly method: string
  readonly path: string
  /** Null while there is none. */
  readonly status: number | null
  /** '' while it runs. */
  readonly time: string
}

export function withTrace(traces: readonly KeptTrace[], trace: KeptTrace): readonly KeptTrace[] {
  return bounded([trace, ...traces])
}

export function withSteps(
  traces: readonly KeptTrace[],
  id: number,
  steps: readonly Step[],
): readonly KeptTrace[] {
  return bounded(
    traces.map((trace) => {
      if (trace.id !== id) return trace
      const room = Math.max(0, MOST_STEPS - trace.steps.length)
      const left = trace.left + Math.max(0, steps.length - room)
      return { ...trace, steps: [...trace.steps, ...steps.slice(0, room)], left }
    }),
  )
}

/** One that ended without its last event broke off. */
export function ended(traces: readonly KeptTrace[], id: number): readonly KeptTrace[] {
  return traces.map((trace) => {
    if (trace.id !== id || trace.state !== 'running') return trace
    return { ...trace, state: isWhole(trace.steps) ? 'over' : 'broken' }
  })
}

function isWhole(steps: readonly Step[]): boolean {
  return steps.some(({ event }) => event.message.type === 'requestFinished')
}

export function titleOf({ steps }: Pick<KeptTrace, 'steps'>): Title {
  const first = steps.find(({ event }) => event.message.type === 'requestSnapshot')
  const { method, pathAndQuery, path } = members(
    members(first?.event.message['requestState'])['request'],
  )
  const last = steps.findLast(({ event }) => event.message.type === 'requestFinished')
  const status = last?.event.message['status']
  return {
    method: typeof method === 'string' ? method : '',
    path: [pathAndQuery, path].find((text) => typeof text === 'string') ?? '',
    status: typeof status === 'number' ? status : null,
    time: last === undefined ? '' : timeText(last.event.eventEnd),
  }
}

/** When the request began, by its own account or, where it has none, when it was seen; null for a file that does not say. */
export function beganAt({ steps, file, at }: KeptTrace): number | null {
  const first = steps.find(({ event }) => event.message.type === 'requestSnapshot')
  const { startTime } = members(members(first?.event.message['requestState'])['request'])
  const told = typeof startTime === 'string' ? Date.parse(startTime) : NaN
  if (!Number.isNaN(told)) return told
  return file === null ? at : null
}

/** Where to look first: at what decided it, at the answer, or at the newest while it runs. */
export function firstLook({ steps, state }: KeptTrace): number {
  if (state === 'running') return steps.length - 1
  const answer = steps.findLastIndex(
    ({ event: { message } }) => message.type === 'bodySnapshot' && message['stage'] === 'response',
  )
  return explain(steps)?.step ?? (answer < 0 ? steps.length - 1 : answer)
}

/** For a file: `trace-get-reports-2026-403.jsonl`. */
export function fileName(trace: KeptTrace): string {
  const { method, path, status } = titleOf(trace)
  const words = `${method} ${path} ${status ?? ''}`.toLowerCase().split(/[^a-z0-9]+/)
  const name = words.filter(Boolean).join('-').slice(0, MOST_NAME)
  return `trace-${name || trace.id}.jsonl`
}

/** The oldest go first; the newest stays, however large. */
function bounded(traces: readonly KeptTrace[]): readonly KeptTrace[] {
  let letters = 0
  const kept = traces.slice(0, MOST_TRACES).filter(({ steps }, at) => {
    letters += steps.reduce((sum, { text }) => sum + text.length, 0)
    return at === 0 || letters <= MOST_LETTERS
  })
  return kept
}
