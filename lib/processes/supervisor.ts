// The worker processes of one gateway: starts them together, replaces those that die, reloads their configuration,
// restarts them without interruption, and stops them.

import { setTimeout } from 'node:timers/promises'
import type { ConfigTexts } from '../config/load.ts'
import { errorMessageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { ProcessLink } from '../core/process-link.ts'
import { Mutex } from '../core/scheduling.ts'
import type { DrainMode } from '../core/types.ts'
import { CONFIG_MESSAGE, RELOAD_MESSAGE } from './worker-messages.ts'
import type { SharedPorts } from './worker-ports.ts'
import type { WorkerEndpoints, WorkerId } from './worker-messages.ts'
import { WorkerProcess } from './worker-process.ts'
import type { WorkerOptions } from './worker-process.ts'

/** A service that the supervisor provides to its workers. */
export interface WorkerService {
  /** Called before the worker has sent anything. */
  workerStarted(id: WorkerId, link: ProcessLink): void
  /** Called when the worker serves. */
  workerReady?(worker: WorkerEndpoints): void
  workerGone(id: WorkerId): void
}

export interface SupervisorOptions extends WorkerOptions {
  readonly count: number
  /** The configuration that the workers start with. */
  readonly written: ConfigTexts
  readonly log: Log
  readonly ports: SharedPorts
  readonly services: readonly WorkerService[]
  /** Milliseconds that a stopping worker has for its running requests. */
  readonly deadline: number
  /** Waits before a worker that died early is replaced. */
  readonly wait?: (ms: number) => Promise<unknown>
}

/** A worker that ends sooner has died early: its replacement waits, longer each time. */
const EARLY_DEATH_MS = 60_000
const MAX_BACKOFF = 30_000

/** How long a worker may take to load a configuration. */
const RELOAD_DEADLINE = 60_000

interface WorkerSlot {
  readonly number: number
  worker: WorkerProcess
  /** Workers of this slot in a row that died early. */
  earlyDeaths: number
}

/** The configuration that a worker loads; the section `config:` is that of the start of the worker set. */
export interface WorkerConfig {
  readonly begun: ConfigTexts
  /** Null when there was no reload since. */
  readonly now: ConfigTexts | null
}

export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #slots: WorkerSlot[] = []
  /** All running workers, also replaced ones that finish their requests. */
  readonly #workers = new Set<WorkerProcess>()
  /** The last epoch of each slot. */
  readonly #epochs = new Map<number, number>()
  #state: 'starting' | 'running' | 'stopping' = 'starting'
  #replaced = 0
  #deadline: number
  /** The configuration of the workers in slots; a replacement gets it, even if the files have changed. */
  #inForce: WorkerConfig
  /** Serializes reload and restart, so that a starting worker misses no configuration. */
  readonly #mutex = new Mutex()

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#deadline = options.deadline
    this.#inForce = { begun: options.written, now: null }
  }

  get readiness(): 'starting' | 'ready' | 'draining' {
    if (this.#state === 'stopping') return 'draining'
    if (this.#state === 'starting') return 'starting'
    return this.#slots.some(({ worker }) => worker.state === 'ready') ? 'ready' : 'starting'
  }

  /** Workers that died and were replaced. */
  get replacedCount(): number {
    return this.#replaced
  }

  /**
   * Rejects with the error of the first worker that cannot start; then all have ended or are stopping. Also resolves when
   * `stop` is called meanwhile.
   */
  async start(mode: DrainMode = 'now'): Promise<void> {
    if (this.#isStopping) return
    try {
      const workers = this.#fork(this.#options.count, this.#inForce)
      await Promise.all(workers.map(({ ready }) => ready))
      if (this.#isStopping) return
      this.#state = 'running'
      this.#assignSlots(workers)
    } catch (error) {
      if (this.#isStopping) return
      if (mode === 'now') this.#killAll()
      await this.stop(mode)
      throw error
    }
  }

  /** Rejects with the error of a worker when no worker accepts the configuration. */
  reload(written: ConfigTexts): Promise<void> {
    return this.#mutex.run(() => this.#reload(written))
  }

  /** Replaces all workers; if a new one cannot start, the old ones stay. */
  restart(written: ConfigTexts, count: number, deadline: number): Promise<void> {
    return this.#mutex.run(() => this.#restart(written, count, deadline))
  }

  /** Resolves when all workers have ended. */
  async stop(mode: DrainMode = 'now'): Promise<void> {
    this.#state = 'stopping'
    // Closed here because a worker that hangs would keep its ports open.
    if (mode === 'now') this.#options.ports.close()
    for (const worker of this.#workers) worker.stop(mode, this.#deadline)
    await Promise.all([...this.#workers].map(({ ended }) => ended))
  }

  #killAll(): void {
    for (const worker of this.#workers) worker.kill()
  }

  async #reload(written: ConfigTexts): Promise<void> {
    const refused: [WorkerProcess, unknown][] = []
    const sent = new Set<WorkerProcess>()
    let accepted = 0
    const send = async ({ worker }: WorkerSlot): Promise<void> => {
      if (sent.has(worker)) return
      sent.add(worker)
      await worker.ready.catch(() => {})
      if (worker.state !== 'ready') return
      await worker.link.request(RELOAD_MESSAGE, written, RELOAD_DEADLINE).then(
        () => accepted++,
        (error: unknown) => refused.push([worker, error]),
      )
    }
    await Promise.all(this.#slots.map(send))
    const [first] = refused
    if (first !== undefined && accepted === 0) throw first[1]
    this.#inForce = { ...this.#inForce, now: written }
    // A worker that was started meanwhile has the old configuration.
    await Promise.all(this.#slots.map(send))
    // A configuration that one worker accepted is in force; workers that refused it are replaced.
    await Promise.all(refused.map(([worker, error]) => this.#replace(worker, error)))
  }

  /** Stops the worker once a replacement serves; if that fails, the slot is filled as if the worker had died. */
  async #replace(worker: WorkerProcess, error: unknown): Promise<void> {
    const { log } = this.#options
    const fields = ['worker', worker.id.slot, 'error', errorMessageOf(error)]
    log.write('error', 'gateway', 'worker refused the new config', fields)
    const slot = this.#slots.find((other) => other.worker === worker)
    if (slot === undefined || this.#isStopping) return
    const next = this.#forkFor(slot.number, this.#inForce)
    const serves = await next.ready.then(
      () => true,
      () => false,
    )
    if (this.#isStopping) return
    // The worker may have died meanwhile and have been replaced.
    if (serves && slot.worker === worker) slot.worker = next
    else next.stop('linger', this.#deadline)
    worker.stop('linger', this.#deadline)
    this.#prunePorts()
  }

  async #restart(written: ConfigTexts, count: number, deadline: number): Promise<void> {
    if (this.#isStopping) return
    const inForce = { begun: written, now: null }
    const workers = this.#fork(count, inForce)
    try {
      await Promise.all(workers.map(({ ready }) => ready))
    } catch (error) {
      if (this.#isStopping) return
      // The new workers may have connections already.
      for (const worker of workers) worker.stop('linger', deadline)
      throw error
    }
    if (this.#isStopping) return
    const before = this.#slots.map(({ worker }) => worker)
    this.#inForce = inForce
    this.#assignSlots(workers)
    for (const worker of before) worker.stop('linger', this.#deadline)
    this.#deadline = deadline
  }

  get #isStopping(): boolean {
    return this.#state === 'stopping'
  }

  #fork(count: number, inForce: WorkerConfig): WorkerProcess[] {
    return Array.from({ length: count }, (_, index) => this.#forkFor(index + 1, inForce))
  }

  #forkFor(slot: number, inForce: WorkerConfig): WorkerProcess {
    const { ports, services } = this.#options
    const epoch = (this.#epochs.get(slot) ?? 0) + 1
    this.#epochs.set(slot, epoch)
    const worker = new WorkerProcess({ slot, epoch }, this.#options)
    this.#workers.add(worker)
    worker.link.on(CONFIG_MESSAGE, () => inForce)
    ports.serve(worker.link)
    for (const service of services) service.workerStarted(worker.id, worker.link)
    void worker.ended.then(() => this.#ended(worker))
    void this.#reportStart(worker)
    return worker
  }

  #assignSlots(workers: readonly WorkerProcess[]): void {
    this.#slots.length = 0
    for (const worker of workers)
      this.#slots.push({ number: worker.id.slot, worker, earlyDeaths: 0 })
    this.#prunePorts()
    // A worker may have served and died before the last one was ready.
    for (const slot of this.#slots) if (slot.worker.state === 'gone') void this.#died(slot)
  }

  #ended(worker: WorkerProcess): void {
    const { ports, services } = this.#options
    this.#workers.delete(worker)
    ports.forget(worker.link)
    for (const service of services) service.workerGone(worker.id)
    const slot = this.#slots.find((other) => other.worker === worker)
    if (this.#state === 'running' && slot !== undefined) void this.#died(slot)
  }

  async #died(slot: WorkerSlot): Promise<void> {
    const how = await slot.worker.ended
    const fields = ['worker', slot.number, 'how', how]
    this.#options.log.write('error', 'gateway', 'worker died', fields)
    const isEarly = performance.now() - slot.worker.since < EARLY_DEATH_MS
    slot.earlyDeaths = isEarly ? slot.earlyDeaths + 1 : 1
    const before = slot.worker
    const { wait = waitUnreferenced } = this.#options
    const delay = backoffMs(slot.earlyDeaths)
    if (delay > 0) await wait(delay)
    // A restart may have filled the slot.
    if (this.#isStopping || slot.worker !== before || !this.#slots.includes(slot)) return
    slot.worker = this.#forkFor(slot.number, this.#inForce)
    const replaced = (): void => {
      this.#replaced++
      this.#prunePorts()
    }
    await slot.worker.ready.then(replaced, () => {})
  }

  async #reportStart({ id, ready, endpoints }: WorkerProcess): Promise<void> {
    const { log, services } = this.#options
    try {
      await ready
      for (const service of services) service.workerReady?.(endpoints)
      log.write('info', 'gateway', 'worker started', ['worker', id.slot, 'pid', endpoints.pid])
    } catch (error) {
      // At the first start `start` rejects, and its caller logs the error.
      if (this.#state !== 'running') return
      const reason = errorMessageOf(error)
      log.write('error', 'gateway', 'worker cannot start', ['worker', id.slot, 'error', reason])
    }
  }

  /** Only when all workers are ready: a worker that is being replaced will ask for its ports again. */
  #prunePorts(): void {
    if (this.#slots.every(({ worker }) => worker.state === 'ready')) this.#options.ports.prune()
  }
}

/** Milliseconds: 0, then 1, 2, 4 … seconds. */
function backoffMs(earlyDeaths: number): number {
  return earlyDeaths <= 1 ? 0 : Math.min(MAX_BACKOFF, 1000 * 2 ** (earlyDeaths - 2))
}

/** Does not keep the process alive. */
function waitUnreferenced(ms: number): Promise<unknown> {
  return setTimeout(ms, undefined, { ref: false })
}
