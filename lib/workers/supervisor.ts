// The worker processes of one gateway: started together, replaced when they die, told to reload, restarted without a
// moment in which nobody serves, and stopped.

import { setTimeout } from 'node:timers/promises'
import type { Written } from '../base/config/load.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log/log.ts'
import type { Link } from '../base/processes/link.ts'
import { Turn } from '../base/turn.ts'
import type { Manner } from '../base/types.ts'
import { CONFIG, RELOAD } from './messages.ts'
import type { SharedPorts } from './shared-ports.ts'
import type { WorkerDoor, WorkerId } from './types.ts'
import { WorkerProcess } from './worker-process.ts'
import type { WorkerOptions } from './worker-process.ts'

/** What else the supervisor does for its workers. */
export interface WorkerService {
  /** Before the worker has said anything. */
  born(id: WorkerId, link: Link): void
  /** It serves. */
  ready?(door: WorkerDoor): void
  gone(id: WorkerId): void
}

export interface SupervisorOptions extends WorkerOptions {
  readonly count: number
  /** What they serve with. */
  readonly written: Written
  readonly log: Log
  readonly ports: SharedPorts
  readonly services: readonly WorkerService[]
  /** Milliseconds that a worker has for what still runs when it is told to stop. */
  readonly deadline: number
  /** Before another takes the place of one that died young. */
  readonly wait?: (ms: number) => Promise<unknown>
}

/** A worker that ends sooner has died young: its successor waits, longer each time. */
const YOUNG_MS = 60_000
const MAX_BACKOFF = 30_000

/** How long a worker may take to load a configuration. */
const RELOAD_DEADLINE = 60_000

interface Slot {
  readonly number: number
  worker: WorkerProcess
  /** Workers in a row that died young. */
  falls: number
}

/** What a worker loads: the section `config:` is in force as it was when its set began. */
export interface WrittenInForce {
  readonly begun: Written
  /** Null when nothing was reloaded since. */
  readonly now: Written | null
}

export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #slots: Slot[] = []
  /** All that live, also those that were replaced and finish what they have. */
  readonly #workers = new Set<WorkerProcess>()
  /** The last one of each slot. */
  readonly #epochs = new Map<number, number>()
  #state: 'starting' | 'running' | 'stopping' = 'starting'
  #replaced = 0
  #deadline: number
  /** What those that are seated serve with; one that replaces another is given it, whatever the files say now. */
  #inForce: WrittenInForce
  /** A new worker must not miss a configuration that comes while it starts. */
  readonly #turn = new Turn()

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
  get replaced(): number {
    return this.#replaced
  }

  /**
   * Rejects with what the first one that cannot start has to say; then none is left, or none for long. Resolves, too,
   * when somebody stops them meanwhile.
   */
  async start(manner: Manner = 'now'): Promise<void> {
    if (this.#isStopping) return
    try {
      const workers = this.#fork(this.#options.count, this.#inForce)
      await Promise.all(workers.map(({ ready }) => ready))
      if (this.#isStopping) return
      this.#state = 'running'
      this.#seat(workers)
    } catch (error) {
      if (this.#isStopping) return
      if (manner === 'now') this.#kill()
      await this.stop(manner)
      throw error
    }
  }

  /** Each loads the configuration; rejects with what one of them has against it. */
  reload(written: Written): Promise<void> {
    return this.#turn.take(() => this.#reload(written))
  }

  /** A new set of workers takes over; when one of them cannot start, those that were there stay. */
  restart(written: Written, count: number, deadline: number): Promise<void> {
    return this.#turn.take(() => this.#restart(written, count, deadline))
  }

  /** Resolves when all of them have ended. */
  async stop(manner: Manner = 'now'): Promise<void> {
    this.#state = 'stopping'
    // One that is stuck would keep its ports open.
    if (manner === 'now') this.#options.ports.close()
    for (const worker of this.#workers) worker.stop(manner, this.#deadline)
    await Promise.all([...this.#workers].map(({ ended }) => ended))
  }

  #kill(): void {
    for (const worker of this.#workers) worker.kill()
  }

  async #reload(written: Written): Promise<void> {
    const refused: [WorkerProcess, unknown][] = []
    const told = new Set<WorkerProcess>()
    let taken = 0
    const tell = async ({ worker }: Slot): Promise<void> => {
      if (told.has(worker)) return
      told.add(worker)
      await worker.ready.catch(() => {})
      if (worker.state !== 'ready') return
      await worker.link.ask(RELOAD, written, RELOAD_DEADLINE).then(
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
    const fields = ['worker', worker.id.slot, 'error', messageOf(error)]
    log.line('error', 'gateway', 'worker refused what others took', fields)
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

  async #restart(written: Written, count: number, deadline: number): Promise<void> {
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
    this.#seat(workers)
    for (const worker of before) worker.stop('linger', this.#deadline)
    this.#deadline = deadline
  }

  get #isStopping(): boolean {
    return this.#state === 'stopping'
  }

  #fork(count: number, inForce: WrittenInForce): WorkerProcess[] {
    return Array.from({ length: count }, (_, index) => this.#forkFor(index + 1, inForce))
  }

  #forkFor(slot: number, inForce: WrittenInForce): WorkerProcess {
    const { ports, services } = this.#options
    const epoch = (this.#epochs.get(slot) ?? 0) + 1
    this.#epochs.set(slot, epoch)
    const worker = new WorkerProcess({ slot, epoch }, this.#options)
    this.#workers.add(worker)
    worker.link.on(CONFIG, () => inForce)
    ports.serve(worker.link)
    for (const service of services) service.born(worker.id, worker.link)
    void worker.ended.then(() => this.#ended(worker))
    void this.#await(worker)
    return worker
  }

  #seat(workers: readonly WorkerProcess[]): void {
    this.#slots.length = 0
    for (const worker of workers) this.#slots.push({ number: worker.id.slot, worker, falls: 0 })
    this.#prunePorts()
    // One may have served and died before the last was there.
    for (const slot of this.#slots) if (slot.worker.state === 'gone') void this.#died(slot)
  }

  #ended(worker: WorkerProcess): void {
    const { ports, services } = this.#options
    this.#workers.delete(worker)
    ports.forget(worker.link)
    for (const service of services) service.gone(worker.id)
    const slot = this.#slots.find((other) => other.worker === worker)
    if (this.#state === 'running' && slot !== undefined) void this.#died(slot)
  }

  async #died(slot: Slot): Promise<void> {
    const how = await slot.worker.ended
    const fields = ['worker', slot.number, 'how', how]
    this.#options.log.line('error', 'gateway', 'worker died', fields)
    const isYoung = performance.now() - slot.worker.since < YOUNG_MS
    slot.falls = isYoung ? slot.falls + 1 : 1
    const before = slot.worker
    const { wait = waitQuietly } = this.#options
    const delay = backoff(slot.falls)
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

  async #await({ id, ready, door }: WorkerProcess): Promise<void> {
    const { log, services } = this.#options
    try {
      await ready
      for (const service of services) service.ready?.(door)
      log.line('info', 'gateway', 'worker started', ['worker', id.slot, 'pid', door.pid])
    } catch (error) {
      // At the first start it is the whole gateway that cannot, and that is told once.
      if (this.#state !== 'running') return
      const reason = messageOf(error)
      log.line('error', 'gateway', 'worker cannot start', ['worker', id.slot, 'error', reason])
    }
  }

  /** A port that a dead worker had and no other has is not known to be unwanted before all are there again. */
  #prunePorts(): void {
    if (this.#slots.every(({ worker }) => worker.state === 'ready')) this.#options.ports.prune()
  }
}

/** 0, 1, 2, 4 … seconds. */
function backoff(falls: number): number {
  return falls <= 1 ? 0 : Math.min(MAX_BACKOFF, 1000 * 2 ** (falls - 2))
}

/** Keeps no process alive. */
function waitQuietly(ms: number): Promise<unknown> {
  return setTimeout(ms, undefined, { ref: false })
}
