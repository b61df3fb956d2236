// The worker processes of one gateway: started together, replaced when they die, told to reload, restarted without a
// moment in which nobody serves, and stopped.

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

/** What else the supervisor does for its workers. */
export interface WorkerService {
  /** Before the worker has said anything. */
  workerStarted(id: WorkerId, link: ProcessLink): void
  /** It serves. */
  workerReady?(door: WorkerEndpoints): void
  workerGone(id: WorkerId): void
}

export interface SupervisorOptions extends WorkerOptions {
  readonly count: number
  /** What they serve with. */
  readonly written: ConfigTexts
  readonly log: Log
  readonly ports: SharedPorts
  readonly services: readonly WorkerService[]
  /** Milliseconds that a worker has for what still runs when it is told to stop. */
  readonly deadline: number
  /** Before another takes the place of one that died young. */
  readonly wait?: (ms: number) => Promise<unknown>
}

/** A worker that ends sooner has died young: its successor waits, longer each time. */
const EARLY_DEATH_MS = 60_000
const MAX_BACKOFF = 30_000

/** How long a worker may take to load a configuration. */
const RELOAD_DEADLINE = 60_000

interface WorkerSlot {
  readonly number: number
  worker: WorkerProcess
  /** Workers in a row that died young. */
  earlyDeaths: number
}

/** What a worker loads: the section `config:` is in force as it was when its set began. */
export interface WorkerConfig {
  readonly begun: ConfigTexts
  /** Null when nothing was reloaded since. */
  readonly now: ConfigTexts | null
}

export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #slots: WorkerSlot[] = []
  /** All that live, also those that were replaced and finish what they have. */
  readonly #workers = new Set<WorkerProcess>()
  /** The last one of each slot. */
  readonly #epochs = new Map<number, number>()
  #state: 'starting' | 'running' | 'stopping' = 'starting'
  #replaced = 0
  #deadline: number
  /** What those that are seated serve with; one that replaces another is given it, whatever the files say now. */
  #inForce: WorkerConfig
  /** A new worker must not miss a configuration that comes while it starts. */
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

  /** How many died and were replaced. */
  get replacedCount(): number {
    return this.#replaced
  }

  /**
   * Rejects with what the first one that cannot start has to say; then none is left, or none for long. Resolves, too,
   * when somebody stops them meanwhile.
   */
  async start(manner: DrainMode = 'now'): Promise<void> {
    if (this.#isStopping) return
    try {
      const workers = this.#fork(this.#options.count, this.#inForce)
      await Promise.all(workers.map(({ ready }) => ready))
      if (this.#isStopping) return
      this.#state = 'running'
      this.#assignSlots(workers)
    } catch (error) {
      if (this.#isStopping) return
      if (manner === 'now') this.#kill()
      await this.stop(manner)
      throw error
    }
  }

  /** Each loads the configuration; rejects with what one of them has against it. */
  reload(written: ConfigTexts): Promise<void> {
    return this.#mutex.run(() => this.#reload(written))
  }

  /** A new set of workers takes over; when one of them cannot start, those that were there stay. */
  restart(written: ConfigTexts, count: number, deadline: number): Promise<void> {
    return this.#mutex.run(() => this.#restart(written, count, deadline))
  }

  /** Resolves when all of them have ended. */
  async stop(manner: DrainMode = 'now'): Promise<void> {
    this.#state = 'stopping'
    // One that is stuck would keep its ports open.
    if (manner === 'now') this.#options.ports.close()
    for (const worker of this.#workers) worker.stop(manner, this.#deadline)
    await Promise.all([...this.#workers].map(({ ended }) => ended))
  }

  #kill(): void {
    for (const worker of this.#workers) worker.kill()
  }

  async #reload(written: ConfigTexts): Promise<void> {
    const refused: [WorkerProcess, unknown][] = []
    const told = new Set<WorkerProcess>()
    let taken = 0
    const tell = async ({ worker }: WorkerSlot): Promise<void> => {
      if (told.has(worker)) return
      told.add(worker)
      await worker.ready.catch(() => {})
      if (worker.state !== 'ready') return
      await worker.link.request(RELOAD_MESSAGE, written, RELOAD_DEADLINE).then(
        () => taken++,
        (error: unknown) => refused.push([worker, error]),
      )
    }
    await Promise.all(this.#slots.map(tell))
    const [first] = refused
    if (first !== undefined && taken === 0) throw first[1]
    this.#inForce = { ...this.#inForce, now: written }
    // One that took a place meanwhile was given what was before.
    await Promise.all(this.#slots.map(tell))
    // What one of them has taken holds: those that could not begin anew with it.
    await Promise.all(refused.map(([worker, error]) => this.#replace(worker, error)))
  }

  /** By one that serves before this one stops; where it cannot, the place is filled as if this one had died. */
  async #replace(worker: WorkerProcess, error: unknown): Promise<void> {
    const { log } = this.#options
    const fields = ['worker', worker.id.slot, 'error', errorMessageOf(error)]
    log.write('error', 'gateway', 'worker refused what others took', fields)
    const slot = this.#slots.find((other) => other.worker === worker)
    if (slot === undefined || this.#isStopping) return
    const next = this.#forkFor(slot.number, this.#inForce)
    const serves = await next.ready.then(
      () => true,
      () => false,
    )
    if (this.#isStopping) return
    // It may have died meanwhile, and have been replaced.
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
      // They may have connections already.
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
    void this.#await(worker)
    return worker
  }

  #assignSlots(workers: readonly WorkerProcess[]): void {
    this.#slots.length = 0
    for (const worker of workers)
      this.#slots.push({ number: worker.id.slot, worker, earlyDeaths: 0 })
    this.#prunePorts()
    // One may have served and died before the last was there.
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
    const isYoung = performance.now() - slot.worker.since < EARLY_DEATH_MS
    slot.earlyDeaths = isYoung ? slot.earlyDeaths + 1 : 1
    const before = slot.worker
    const { wait = waitUnreferenced } = this.#options
    const delay = backoffMs(slot.earlyDeaths)
    if (delay > 0) await wait(delay)
    // A restart may have filled the place.
    if (this.#isStopping || slot.worker !== before || !this.#slots.includes(slot)) return
    slot.worker = this.#forkFor(slot.number, this.#inForce)
    const replaced = (): void => {
      this.#replaced++
      this.#prunePorts()
    }
    await slot.worker.ready.then(replaced, () => {})
  }

  async #await({ id, ready, endpoints }: WorkerProcess): Promise<void> {
    const { log, services } = this.#options
    try {
      await ready
      for (const service of services) service.workerReady?.(endpoints)
      log.write('info', 'gateway', 'worker started', ['worker', id.slot, 'pid', endpoints.pid])
    } catch (error) {
      // At the first start it is the whole gateway that cannot, and that is told once.
      if (this.#state !== 'running') return
      const reason = errorMessageOf(error)
      log.write('error', 'gateway', 'worker cannot start', ['worker', id.slot, 'error', reason])
    }
  }

  /** A port that a dead worker had and no other has is not known to be unwanted before all are there again. */
  #prunePorts(): void {
    if (this.#slots.every(({ worker }) => worker.state === 'ready')) this.#options.ports.prune()
  }
}

/** 0, 1, 2, 4 … seconds. */
function backoffMs(falls: number): number {
  return falls <= 1 ? 0 : Math.min(MAX_BACKOFF, 1000 * 2 ** (falls - 2))
}

/** Keeps no process alive. */
function waitUnreferenced(ms: number): Promise<unknown> {
  return setTimeout(ms, undefined, { ref: false })
}
