// The tracer of this tab: watches for a request, keeps the traces, and remembers the selection.

import { timeText } from '../../trace-view/amounts.ts'
import { explain } from '../../trace-view/explain-outcome.ts'
import { asRecord, stepOf } from '../../trace-view/trace-event.ts'
import type { Step } from '../../trace-view/trace-event.ts'
import { EventStreamReader } from '../../trace-view/timed-events.ts'
import { Observable } from '../observable.ts'
import { ask } from '../server-data.ts'

export interface KeptTrace {
  readonly id: number
  /** The file it was loaded from; null for a live trace. */
  readonly file: string | null
  /** When its first event arrived. */
  readonly at: number
  readonly steps: readonly Step[]
  /** Events that were not kept because of the bound. */
  readonly left: number
  readonly state: 'running' | 'complete' | 'incomplete'
}

/** Number of kept traces. */
export const MAX_TRACES = 20
/** A trace usually has some tens of events; one of a long stream may have more. */
const MAX_STEPS = 10_000
/** Total length of all events, since bodies can be long. */
const MAX_LENGTH = 128 * 1024 * 1024

const MAX_NAME = 80

export interface Title {
  readonly method: string
  readonly path: string
  /** Null before the response. */
  readonly status: number | null
  /** '' while the request is in progress. */
  readonly time: string
}

export function withTrace(traces: readonly KeptTrace[], trace: KeptTrace): readonly KeptTrace[] {
  return removeOldest([trace, ...traces])
}

export function withSteps(
  traces: readonly KeptTrace[],
  id: number,
  steps: readonly Step[],
): readonly KeptTrace[] {
  return removeOldest(
    traces.map((trace) => {
      if (trace.id !== id) return trace
      const room = Math.max(0, MAX_STEPS - trace.steps.length)
      const left = trace.left + Math.max(0, steps.length - room)
      return { ...trace, steps: [...trace.steps, ...steps.slice(0, room)], left }
    }),
  )
}

/** A trace that ended without its last event is incomplete. */
export function endTrace(traces: readonly KeptTrace[], id: number): readonly KeptTrace[] {
  return traces.map((trace) => {
    if (trace.id !== id || trace.state !== 'running') return trace
    return { ...trace, state: isComplete(trace.steps) ? 'complete' : 'incomplete' }
  })
}

function isComplete(steps: readonly Step[]): boolean {
  return steps.some(({ event }) => event.message.type === 'requestFinished')
}

export function titleOf({ steps }: Pick<KeptTrace, 'steps'>): Title {
  const first = steps.find(({ event }) => event.message.type === 'requestSnapshot')
  const { method, pathAndQuery, path } = asRecord(
    asRecord(first?.event.message['requestState'])['request'],
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

/** When the request began: from the trace itself, or when it arrived; null for a file without a time. */
export function startTimeOf({ steps, file, at }: KeptTrace): number | null {
  const first = steps.find(({ event }) => event.message.type === 'requestSnapshot')
  const { startTime } = asRecord(asRecord(first?.event.message['requestState'])['request'])
  const parsed = typeof startTime === 'string' ? Date.parse(startTime) : NaN
  if (!Number.isNaN(parsed)) return parsed
  return file === null ? at : null
}

/** The step to show first: the one that decided the outcome, the response, or the latest one while in progress. */
export function firstStepOf({ steps, state }: KeptTrace): number {
  if (state === 'running') return steps.length - 1
  const response = steps.findLastIndex(
    ({ event: { message } }) => message.type === 'bodySnapshot' && message['stage'] === 'response',
  )
  return explain(steps)?.step ?? (response < 0 ? steps.length - 1 : response)
}

/** The name for a saved file: `trace-get-reports-2026-403.jsonl`. */
export function fileName(trace: KeptTrace): string {
  const { method, path, status } = titleOf(trace)
  const words = `${method} ${path} ${status ?? ''}`.toLowerCase().split(/[^a-z0-9]+/)
  const name = words.filter(Boolean).join('-').slice(0, MAX_NAME)
  return `trace-${name || trace.id}.jsonl`
}

/** Removes the oldest first; the newest stays, however large. */
function removeOldest(traces: readonly KeptTrace[]): readonly KeptTrace[] {
  let length = 0
  const kept = traces.slice(0, MAX_TRACES).filter(({ steps }, at) => {
    length += steps.reduce((sum, { text }) => sum + text.length, 0)
    return at === 0 || length <= MAX_LENGTH
  })
  return kept
}

/** The body is the largest part of an event, some megabytes by default. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024

export interface WatchHandlers {
  /** Called when a matching request will be traced from now on. */
  ready(): void
  /** Called with the events of one chunk. */
  steps(steps: readonly Step[]): void
}

/** Rejects when the gateway refuses. */
export type Open = (path: string, init: { readonly signal: AbortSignal }) => Promise<Response>

/** Which request is traced. */
export interface WantedRequest {
  /** '' for any request. */
  readonly expression: string
  /** The token in the header of the request; '' for a request without one. */
  readonly token: string
}

/** Resolves at the end of the trace; rejects when it was refused, interrupted or stopped. */
export async function watchTrace(
  { expression, token }: WantedRequest,
  owner: WatchHandlers,
  signal: AbortSignal,
  open: Open,
): Promise<void> {
  const parts = Object.entries({ expression, token }).filter(([, value]) => value !== '')
  const query = parts.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
  const response = await open(`/api/trace${query === '' ? '' : `?${query}`}`, { signal })
  owner.ready()
  let found: Step[] = []
  const reader = new EventStreamReader(({ kind, data }) => {
    if (kind === 'event') found.push(stepOf(data))
  }, MAX_EVENT_BYTES)
  const bytes = response.body!.getReader()
  for (;;) {
    const { done, value } = await bytes.read()
    if (done) return
    reader.write(value)
    if (found.length === 0) continue
    owner.steps(found)
    found = []
  }
}

/** `waiting` for a request since then; `running`: its events arrive. */
export type Watch =
  | { readonly state: 'idle' }
  | { readonly state: 'opening' }
  | { readonly state: 'waiting'; readonly since: number }
  | { readonly state: 'running'; readonly id: number }
  | { readonly state: 'failed'; readonly error: string }

export type TraceMode = 'once' | 'continuous'

/** The selected trace and step; null for the default step. */
export interface Selection {
  readonly id: number
  readonly step: number | null
}

const NO_SELECTION: Selection = { id: 0, step: null }

/** Between two traces of continuous tracing, so that most requests are not traced. */
const PAUSE_MS = 250

const CONNECTION_LOST = 'The connection to the gateway was lost. Trace again.'
const ENDED_EARLY = 'The gateway ended the trace before a request arrived. Trace again.'

export class Tracer {
  readonly traces = new Observable<readonly KeptTrace[]>([])
  readonly watch = new Observable<Watch>({ state: 'idle' })
  readonly expression = new Observable('')
  readonly mode = new Observable<TraceMode>('once')
  readonly selection = new Observable<Selection>(NO_SELECTION)
  readonly #open: Open
  #running: AbortController | null = null
  #lastId = 0

  constructor(open: Open) {
    this.#open = open
  }

  /** Resolves when requests are traced from now on, or the gateway refused. */
  start(expression: string, mode: TraceMode, token = ''): Promise<'ready' | 'refused'> {
    this.#running?.abort()
    const { signal } = (this.#running = new AbortController())
    this.selection.set(NO_SELECTION)
    this.mode.set(mode)
    this.watch.set({ state: 'opening' })
    return new Promise((resolve) => {
      this.#follow({ expression, token }, mode, signal, () => resolve('ready')).catch(
        (error: unknown) => {
          resolve('refused')
          if (!signal.aborted) this.watch.set({ state: 'failed', error: errorText(error) })
        },
      )
    })
  }

  stop(): void {
    this.#running?.abort()
    this.#running = null
    this.watch.set({ state: 'idle' })
  }

  /** Adds the traces of a file and shows the first one. */
  add(file: string, loaded: readonly (readonly Step[])[]): void {
    for (const steps of loaded.toReversed()) this.#end(this.#keep(file, steps))
    if (loaded.length > 0) this.selectTrace(this.#lastId)
  }

  selectTrace(id: number): void {
    this.selection.set({ id, step: null })
  }

  selectStep(id: number, step: number): void {
    this.selection.set({ id, step })
  }

  clear(): void {
    this.traces.set([])
  }

  async #follow(
    wanted: WantedRequest,
    mode: TraceMode,
    signal: AbortSignal,
    ready: () => void,
  ): Promise<void> {
    for (;;) {
      this.watch.set({ state: 'opening' })
      const count = await this.#traceOne(wanted, mode, signal, ready)
      if (signal.aborted) return
      if (count === 0) throw new Error(ENDED_EARLY)
      if (mode === 'once') return this.watch.set({ state: 'idle' })
      await pause(signal)
    }
  }

  /** Resolves to the number of events. */
  async #traceOne(
    wanted: WantedRequest,
    mode: TraceMode,
    signal: AbortSignal,
    ready: () => void,
  ): Promise<number> {
    let id = 0
    let count = 0
    const owner = {
      ready: (): void => {
        this.watch.set({ state: 'waiting', since: Date.now() })
        ready()
      },
      steps: (found: readonly Step[]): void => {
        if (id === 0) id = this.#begin(mode)
        count += found.length
        this.traces.change((was) => withSteps(was, id, found))
      },
    }
    try {
      await watchTrace(wanted, owner, signal, this.#open)
    } finally {
      if (id > 0) this.#end(id)
    }
    return count
  }

  #begin(mode: TraceMode): number {
    const id = this.#keep(null, [])
    this.watch.set({ state: 'running', id })
    // With continuous tracing, the selection stays while further traces arrive.
    if (mode === 'once' || this.selection.value.id === 0) this.selectTrace(id)
    return id
  }

  #keep(file: string | null, steps: readonly Step[]): number {
    const id = ++this.#lastId
    const trace = { id, file, at: Date.now(), steps, left: 0, state: 'running' } as const
    this.traces.change((was) => withTrace(was, trace))
    return id
  }

  #end(id: number): void {
    this.traces.change((was) => endTrace(was, id))
  }
}

/** When the connection fails, browsers throw a TypeError with a text of their own. */
function errorText(error: unknown): string {
  if (error instanceof TypeError) return CONNECTION_LOST
  return error instanceof Error ? error.message : String(error)
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, PAUSE_MS)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(new Error('stopped'))
    })
  })
}

export const TRACER = new Tracer(ask)
