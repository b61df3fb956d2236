// The next request that passes, whichever worker takes it: whoever watches waits at all of them, and is told of the first.

import { request } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { RefusalCounter } from '../../core/refusal-counter.ts'
import { workerNameOf } from '../../core/session-owner.ts'
import { compileExpression } from '../../expressions/compile.ts'
import { CelError } from '../../expressions/expression-errors.ts'
import type { EventWriter } from '../../text/sse-output.ts'
import { WholeEventBuffer } from '../../text/sse-reader.ts'
import type { DecideWatch, WatchDecision } from '../../trace/trace-watchers.ts'
import type { WorkerEndpoints } from '../worker-messages.ts'
import type { WorkerSet } from './ask-workers.ts'

/** So long all workers may take to say that they watch; whoever waits is told so then, whatever they say. */
const READY_MS = 1_000

/** A worker that does not watch, for it is too busy or about to end, is asked again after this. */
const RETRY_MS = 500

export class AggregatedTrace {
  readonly #workers: WorkerSet
  readonly #maxWatchers: number
  readonly #refusals: RefusalCounter
  readonly #waiting = new Set<TraceWatcher>()

  /** `most`: config.trace.maxWatchers. */
  constructor(crew: WorkerSet, most: number, refusals: RefusalCounter) {
    this.#workers = crew
    this.#maxWatchers = most
    this.#refusals = refusals
  }

  /** How many wait. */
  get count(): number {
    return this.#waiting.size
  }

  readonly watch: DecideWatch = (source) => {
    try {
      if (source !== null) compileExpression(source, 'trace')
    } catch (error) {
      if (!(error instanceof CelError)) throw error
      return refuseTrace(400, `invalid expression: ${error.message}`)
    }
    if (this.count >= this.#maxWatchers) {
      this.#refusals.count('maxWatchers', this.#maxWatchers)
      const reason = `${this.count} wait already (config.trace.maxWatchers)`
      return refuseTrace(503, `too many watchers: ${reason}`)
    }
    return { kind: 'granted', open: (out) => this.#begin(out, source) }
  }

  /** A worker that starts while somebody waits is watched, too. */
  workerReady(door: WorkerEndpoints): void {
    for (const waiting of this.#waiting) waiting.addWorker(door)
  }

  #begin(out: EventWriter, source: string | null): () => void {
    if (this.count >= this.#maxWatchers) {
      // Others came between the question and its answer.
      out.end()
      return () => {}
    }
    const found = (): void => void this.#waiting.delete(waiting)
    const waiting = new TraceWatcher(this.#workers, source, out, found)
    this.#waiting.add(waiting)
    waiting.start()
    return () => {
      this.#waiting.delete(waiting)
      waiting.close()
    }
  }
}

class TraceWatcher {
  readonly #workers: WorkerSet
  readonly #source: string | null
  readonly #out: EventWriter
  readonly #onFound: () => void
  readonly #traces = new Map<string, WorkerTrace>()
  readonly #retries = new Set<NodeJS.Timeout>()
  /** Those that have not said yet that they watch. */
  readonly #notWatchingYet = new Set<string>()
  #late: NodeJS.Timeout | null = null
  /** `asking`: not all watch yet. `passing`: one has a request. */
  #state: 'asking' | 'waiting' | 'passing' | 'over' = 'asking'

  constructor(crew: WorkerSet, source: string | null, out: EventWriter, found: () => void) {
    this.#workers = crew
    this.#source = source
    this.#out = out
    this.#onFound = found
  }

  start(): void {
    this.#late = setTimeout(() => this.#tellReady(), READY_MS)
    const { workers } = this.#workers
    for (const door of workers) this.#notWatchingYet.add(workerNameOf(door))
    for (const door of workers) this.addWorker(door)
    if (workers.length === 0) this.#tellReady()
  }

  addWorker(door: WorkerEndpoints): void {
    const key = workerNameOf(door)
    if (this.#isOver || this.#traces.has(key) || !this.#workers.has(door)) return
    const trace = new WorkerTrace(door.admin, this.#source, {
      ready: () => this.#workerWatches(key),
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

  #workerWatches(key: string): void {
    this.#notWatchingYet.delete(key)
    if (this.#notWatchingYet.size === 0) this.#tellReady()
  }

  #tellReady(): void {
    if (this.#state !== 'asking') return
    this.#state = 'waiting'
    this.#out.write(': ready\n\n')
  }

  #failed(door: WorkerEndpoints): void {
    const key = workerNameOf(door)
    this.#traces.delete(key)
    this.#workerWatches(key)
    if (this.#isOver || !this.#workers.has(door)) return
    const timer = setTimeout(() => {
      this.#retries.delete(timer)
      this.addWorker(door)
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
    this.#onFound()
    for (const [key, trace] of this.#traces)
      if (trace !== chosen) {
        this.#traces.delete(key)
        trace.close()
      }
    this.#out.onDrain(() => chosen.resume())
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

function refuseTrace(status: number, reason: string): WatchDecision {
  return { kind: 'refused', status, reason }
}

// A watch at one worker: whether it watches, then whole events of the request it was given.

export interface WorkerTraceOwner {
  ready(): void
  /** It does not watch, and has told of no request. */
  failed(): void
  /** One or more, whole. */
  events(text: string): void
  ended(): void
  /** It broke off behind the first event. */
  cut(): void
}

class WorkerTrace {
  readonly #owner: WorkerTraceOwner
  readonly #request: ClientRequest
  readonly #cutter = new WholeEventBuffer()
  #response: IncomingMessage | null = null
  #state: 'asking' | 'watching' | 'telling' | 'over' = 'asking'

  constructor(socket: string, source: string | null, owner: WorkerTraceOwner) {
    const query = source === null ? '' : `?expression=${encodeURIComponent(source)}`
    this.#owner = owner
    this.#request = request({ socketPath: socket, path: `/debug/trace${query}`, agent: false })
    this.#request.on('error', () => this.#over())
    this.#request.once('response', (response) => this.#read(response))
    this.#request.end()
  }

  pause(): void {
    this.#response?.pause()
  }

  resume(): void {
    this.#response?.resume()
  }

  /** Nobody waits for it any more. */
  close(): void {
    this.#state = 'over'
    this.#request.destroy()
  }

  #read(response: IncomingMessage): void {
    this.#response = response
    if (response.statusCode !== 200) {
      response.resume()
      return this.#over()
    }
    response.setEncoding('utf8')
    response.on('data', (text: string) => this.#take(text))
    response.on('end', () => this.#ended())
    response.on('error', () => this.#over())
    response.on('close', () => this.#over())
  }

  #take(text: string): void {
    if (this.#state === 'over') return
    const whole = this.#cutter.push(text)
    if (whole === null) return this.#over()
    if (whole === '') return
    if (this.#state === 'asking') {
      this.#state = 'watching'
      this.#owner.ready()
    }
    // Comments only show that it lives.
    const at = /^data:/m.exec(whole)?.index ?? -1
    if (this.#state === 'watching' && at >= 0) this.#state = 'telling'
    if (this.#state === 'telling') this.#owner.events(at < 0 ? whole : whole.slice(at))
  }

  #ended(): void {
    if (this.#state !== 'telling') return this.#over()
    this.#state = 'over'
    this.#owner.ended()
  }

  #over(): void {
    const before = this.#state
    if (before === 'over') return
    this.close()
    if (before === 'telling') this.#owner.cut()
    else this.#owner.failed()
  }
}
