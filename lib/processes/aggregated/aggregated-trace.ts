// Traces the next request of any worker: a client waits at all workers and gets the trace of the first request.

import { request } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { RefusalCounter } from '../../core/refusal-counter.ts'
import { workerNameOf } from '../../core/session-owner.ts'
import type { EventWriter } from '../../text/sse-output.ts'
import { WholeEventBuffer } from '../../text/sse-reader.ts'
import {
  checkTraceSelector,
  formatTraceSelector,
  InvalidSelector,
  refuseWatch,
} from '../../trace/trace-watchers.ts'
import type { StartTrace, TraceSelector } from '../../trace/trace-watchers.ts'
import type { WorkerEndpoints } from '../worker-messages.ts'
import type { WorkerSet } from './ask-workers.ts'

/** How long the workers may take to confirm that they watch; then the client gets `ready` in any case. */
const READY_MS = 1_000

/** A worker that does not watch, because it is busy or about to end, is asked again after this time. */
const RETRY_MS = 500

export class AggregatedTrace {
  readonly #workers: WorkerSet
  readonly #maxWatchers: number
  readonly #refusals: RefusalCounter
  readonly #waiting = new Set<TraceWatcher>()

  /** `maxWatchers`: config.trace.maxWatchers. */
  constructor(workers: WorkerSet, maxWatchers: number, refusals: RefusalCounter) {
    this.#workers = workers
    this.#maxWatchers = maxWatchers
    this.#refusals = refusals
  }

  /** The number of waiting clients. */
  get count(): number {
    return this.#waiting.size
  }

  readonly watch: StartTrace = (selector) => {
    try {
      checkTraceSelector(selector)
    } catch (error) {
      if (!(error instanceof InvalidSelector)) throw error
      return refuseWatch(400, error.message)
    }
    if (this.count >= this.#maxWatchers) {
      this.#refusals.count('maxWatchers', this.#maxWatchers)
      const reason = `${this.count} wait already (config.trace.maxWatchers)`
      return refuseWatch(503, `too many watchers: ${reason}`)
    }
    return { kind: 'granted', open: (out) => this.#begin(out, selector) }
  }

  /** A worker that starts while clients wait is watched, too. */
  workerReady(worker: WorkerEndpoints): void {
    for (const waiting of this.#waiting) waiting.addWorker(worker)
  }

  #begin(out: EventWriter, selector: TraceSelector): () => void {
    if (this.count >= this.#maxWatchers) {
      // Other clients were admitted after the check in `watch`.
      out.end()
      return () => {}
    }
    const found = (): void => void this.#waiting.delete(waiting)
    const waiting = new TraceWatcher(this.#workers, selector, out, found)
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
  readonly #selector: TraceSelector
  readonly #out: EventWriter
  readonly #onFound: () => void
  readonly #traces = new Map<string, WorkerTrace>()
  readonly #retries = new Set<NodeJS.Timeout>()
  /** Workers that have not confirmed yet that they watch. */
  readonly #notWatchingYet = new Set<string>()
  #readyTimer: NodeJS.Timeout | null = null
  /** `asking`: not all workers watch yet. `passing`: one worker has a request, and its events are passed on. */
  #state: 'asking' | 'waiting' | 'passing' | 'over' = 'asking'

  constructor(workers: WorkerSet, selector: TraceSelector, out: EventWriter, found: () => void) {
    this.#workers = workers
    this.#selector = selector
    this.#out = out
    this.#onFound = found
  }

  start(): void {
    this.#readyTimer = setTimeout(() => this.#sendReady(), READY_MS)
    const { workers } = this.#workers
    for (const worker of workers) this.#notWatchingYet.add(workerNameOf(worker))
    for (const worker of workers) this.addWorker(worker)
    if (workers.length === 0) this.#sendReady()
  }

  addWorker(worker: WorkerEndpoints): void {
    const key = workerNameOf(worker)
    if (this.#isOver || this.#traces.has(key) || !this.#workers.has(worker)) return
    const trace = new WorkerTrace(worker.admin, this.#selector, {
      ready: () => this.#workerWatches(key),
      failed: () => this.#failed(worker),
      events: (text) => this.#events(trace, text),
      ended: () => this.#end(trace),
      cut: () => this.#cut(trace),
    })
    this.#traces.set(key, trace)
  }

  close(): void {
    this.#state = 'over'
    if (this.#readyTimer !== null) clearTimeout(this.#readyTimer)
    for (const timer of this.#retries) clearTimeout(timer)
    for (const trace of this.#traces.values()) trace.close()
    this.#traces.clear()
  }

  get #isOver(): boolean {
    return this.#state === 'passing' || this.#state === 'over'
  }

  #workerWatches(key: string): void {
    this.#notWatchingYet.delete(key)
    if (this.#notWatchingYet.size === 0) this.#sendReady()
  }

  #sendReady(): void {
    if (this.#state !== 'asking') return
    this.#state = 'waiting'
    this.#out.write(': ready\n\n')
  }

  #failed(worker: WorkerEndpoints): void {
    const key = workerNameOf(worker)
    this.#traces.delete(key)
    this.#workerWatches(key)
    if (this.#isOver || !this.#workers.has(worker)) return
    const timer = setTimeout(() => {
      this.#retries.delete(timer)
      this.addWorker(worker)
    }, RETRY_MS)
    this.#retries.add(timer)
  }

  /** The first worker with a request is chosen; events of other workers are dropped. */
  #events(trace: WorkerTrace, text: string): void {
    if (this.#state === 'over') return
    if (this.#state !== 'passing') this.#choose(trace)
    this.#out.write(text)
    if (this.#out.isFull) trace.pause()
  }

  #choose(chosen: WorkerTrace): void {
    this.#sendReady()
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

  /** The chosen worker died: the trace is incomplete, so the response is cut instead of ended. */
  #cut(trace: WorkerTrace): void {
    if (this.#isChosen(trace)) this.#out.destroy()
  }

  #isChosen(trace: WorkerTrace): boolean {
    return this.#state === 'passing' && [...this.#traces.values()].includes(trace)
  }
}

export interface WorkerTraceOwner {
  ready(): void
  /** The worker does not watch, and has sent no event. */
  failed(): void
  /** One or more complete events. */
  events(text: string): void
  ended(): void
  /** The stream broke off after the first event. */
  cut(): void
}

/** The trace stream of one worker: reports that it watches, then passes on complete events. */
class WorkerTrace {
  readonly #owner: WorkerTraceOwner
  readonly #request: ClientRequest
  readonly #events = new WholeEventBuffer()
  #response: IncomingMessage | null = null
  #state: 'asking' | 'watching' | 'tracing' | 'over' = 'asking'

  constructor(socket: string, selector: TraceSelector, owner: WorkerTraceOwner) {
    const query = formatTraceSelector(selector)
    this.#owner = owner
    this.#request = request({ socketPath: socket, path: `/debug/trace${query}`, agent: false })
    this.#request.on('error', () => this.#fail())
    this.#request.once('response', (response) => this.#read(response))
    this.#request.end()
  }

  pause(): void {
    this.#response?.pause()
  }

  resume(): void {
    this.#response?.resume()
  }

  /** Called when the client no longer waits. */
  close(): void {
    this.#state = 'over'
    this.#request.destroy()
  }

  #read(response: IncomingMessage): void {
    this.#response = response
    if (response.statusCode !== 200) {
      response.resume()
      return this.#fail()
    }
    response.setEncoding('utf8')
    response.on('data', (text: string) => this.#take(text))
    response.on('end', () => this.#ended())
    response.on('error', () => this.#fail())
    response.on('close', () => this.#fail())
  }

  #take(text: string): void {
    if (this.#state === 'over') return
    const whole = this.#events.push(text)
    if (whole === null) return this.#fail()
    if (whole === '') return
    if (this.#state === 'asking') {
      this.#state = 'watching'
      this.#owner.ready()
    }
    // Comments are keep-alives only.
    const at = /^data:/m.exec(whole)?.index ?? -1
    if (this.#state === 'watching' && at >= 0) this.#state = 'tracing'
    if (this.#state === 'tracing') this.#owner.events(at < 0 ? whole : whole.slice(at))
  }

  #ended(): void {
    if (this.#state !== 'tracing') return this.#fail()
    this.#state = 'over'
    this.#owner.ended()
  }

  #fail(): void {
    const before = this.#state
    if (before === 'over') return
    this.close()
    if (before === 'tracing') this.#owner.cut()
    else this.#owner.failed()
  }
}
