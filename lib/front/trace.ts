// The next request that passes, whichever worker takes it: whoever watches waits at all of them, and is told of the first.

import type { Refusals } from '../base/bounds/refusals.ts'
import { compile } from '../base/cel/compile.ts'
import { CelError } from '../base/cel/errors.ts'
import { workerName } from '../base/processes/session-mark.ts'
import type { EventOut } from '../base/sse/event-out.ts'
import type { Watch, Wish } from '../base/trace/watching.ts'
import type { WorkerDoor } from '../workers/types.ts'
import type { Crew } from './crew.ts'
import { WorkerTrace } from './worker-trace.ts'

/** So long all workers may take to say that they watch; whoever waits is told so then, whatever they say. */
const READY_MS = 1_000

/** A worker that does not watch, for it is too busy or about to end, is asked again after this. */
const RETRY_MS = 500

export class FrontTrace {
  readonly #crew: Crew
  readonly #most: number
  readonly #refusals: Refusals
  readonly #waiting = new Set<Waiting>()

  /** `most`: config.trace.maxWatchers. */
  constructor(crew: Crew, most: number, refusals: Refusals) {
    this.#crew = crew
    this.#most = most
    this.#refusals = refusals
  }

  /** How many wait. */
  get count(): number {
    return this.#waiting.size
  }

  readonly watch: Watch = (source) => {
    try {
      if (source !== null) compile(source, 'trace')
    } catch (error) {
      if (!(error instanceof CelError)) throw error
      return refused(400, `invalid expression: ${error.message}`)
    }
    if (this.count >= this.#most) {
      this.#refusals.count('maxWatchers', this.#most)
      const reason = `${this.count} wait already (config.trace.maxWatchers)`
      return refused(503, `too many watchers: ${reason}`)
    }
    return { kind: 'granted', open: (out) => this.#begin(out, source) }
  }

  /** A worker that starts while somebody waits is watched, too. */
  joined(door: WorkerDoor): void {
    for (const waiting of this.#waiting) waiting.join(door)
  }

  #begin(out: EventOut, source: string | null): () => void {
    if (this.count >= this.#most) {
      // Others came between the question and its answer.
      out.end()
      return () => {}
    }
    const found = (): void => void this.#waiting.delete(waiting)
    const waiting = new Waiting(this.#crew, source, out, found)
    this.#waiting.add(waiting)
    waiting.start()
    return () => {
      this.#waiting.delete(waiting)
      waiting.close()
    }
  }
}

class Waiting {
  readonly #crew: Crew
  readonly #source: string | null
  readonly #out: EventOut
  readonly #found: () => void
  readonly #traces = new Map<string, WorkerTrace>()
  readonly #retries = new Set<NodeJS.Timeout>()
  /** Those that have not said yet that they watch. */
  readonly #silent = new Set<string>()
  #late: NodeJS.Timeout | null = null
  /** `asking`: not all watch yet. `passing`: one has a request. */
  #state: 'asking' | 'waiting' | 'passing' | 'over' = 'asking'

  constructor(crew: Crew, source: string | null, out: EventOut, found: () => void) {
    this.#crew = crew
    this.#source = source
    this.#out = out
    this.#found = found
  }

  start(): void {
    this.#late = setTimeout(() => this.#tellReady(), READY_MS)
    const { members } = this.#crew
    for (const door of members) this.#silent.add(workerName(door))
    for (const door of members) this.join(door)
    if (members.length === 0) this.#tellReady()
  }

  join(door: WorkerDoor): void {
    const key = workerName(door)
    if (this.#isOver || this.#traces.has(key) || !this.#crew.has(door)) return
    const trace = new WorkerTrace(door.admin, this.#source, {
      ready: () => this.#heard(key),
      failed: () => this.#failed(door),
      events: (text) => this.#events(trace, text),
      ended: () => this.#end(trace),
      cut: () => this.#cut(trace),
    })
    this.#traces.set(key, trace)
  }

  close(): void {
    this.#state = 'over'
    if (this.#late !== null) clearTimeout(this.#late)
    for (const timer of this.#retries) clearTimeout(timer)
    for (const trace of this.#traces.values()) trace.close()
    this.#traces.clear()
  }

  get #isOver(): boolean {
    return this.#state === 'passing' || this.#state === 'over'
  }

  #heard(key: string): void {
    this.#silent.delete(key)
    if (this.#silent.size === 0) this.#tellReady()
  }

  #tellReady(): void {
    if (this.#state !== 'asking') return
    this.#state = 'waiting'
    this.#out.write(': ready\n\n')
  }

  #failed(door: WorkerDoor): void {
    const key = workerName(door)
    this.#traces.delete(key)
    this.#heard(key)
    if (this.#isOver || !this.#crew.has(door)) return
    const timer = setTimeout(() => {
      this.#retries.delete(timer)
      this.join(door)
    }, RETRY_MS)
    this.#retries.add(timer)
  }

  /** The first worker that has a request is the one; what another has at the same time nobody sees. */
  #events(trace: WorkerTrace, text: string): void {
    if (this.#state === 'over') return
    if (this.#state !== 'passing') this.#choose(trace)
    this.#out.write(text)
    if (this.#out.isFull) trace.pause()
  }

  #choose(chosen: WorkerTrace): void {
    this.#tellReady()
    this.#state = 'passing'
    this.#found()
    for (const [key, trace] of this.#traces)
      if (trace !== chosen) {
        this.#traces.delete(key)
        trace.close()
      }
    this.#out.onRoom(() => chosen.resume())
  }

  #end(trace: WorkerTrace): void {
    if (this.#isChosen(trace)) this.#out.end()
  }

  /** The worker died: what came is not the whole, and must not look like it. */
  #cut(trace: WorkerTrace): void {
    if (this.#isChosen(trace)) this.#out.destroy()
  }

  #isChosen(trace: WorkerTrace): boolean {
    return this.#state === 'passing' && [...this.#traces.values()].includes(trace)
  }
}

function refused(status: number, reason: string): Wish {
  return { kind: 'refused', status, reason }
}
