// The gateway in several processes: this one serves nothing itself. It has the ports, looks after the workers, and is the
// one that operators talk to.

import { rmSync } from 'node:fs'
import { Refusals } from '../base/bounds/refusals.ts'
import { writtenOf } from '../base/config/load.ts'
import type { Config } from '../base/config/types.ts'
import { Log } from '../base/log/log.ts'
import { Sockets } from '../base/processes/sockets.ts'
import { Turn } from '../base/turn.ts'
import { Front } from '../front/front.ts'
import { LimitOwner } from '../workers/limit-owner.ts'
import { LAST_WORDS } from '../workers/messages.ts'
import { Orphans } from '../workers/orphans.ts'
import { PassingOn } from '../workers/passing-on.ts'
import { keepPrivate, makePrivate } from '../workers/private-folder.ts'
import { frontSocket } from '../workers/seat.ts'
import { SharedPorts } from '../workers/shared-ports.ts'
import { Supervisor } from '../workers/supervisor.ts'
import type { WorkerService } from '../workers/supervisor.ts'
import { Watchdog } from '../workers/watchdog.ts'
import { AllWorkers } from './all-workers.ts'
import { Ending, outlive } from './ending.ts'
import { Reloader } from './reload.ts'
import { Restarts } from './restarts.ts'
import { tellHints, tellLoaded } from './start.ts'
import type { Loaded, Start } from './start.ts'
import type { Predecessor } from './successor.ts'

export async function supervise(
  start: Start,
  { config, readAt }: Loaded,
  predecessor: Predecessor | null,
): Promise<void> {
  const supervision = new Supervision(start, config, predecessor?.sockets ?? new Sockets())
  await supervision.open(predecessor, readAt)
}

class Supervision {
  readonly #start: Start
  readonly #config: Config
  readonly #log: Log
  readonly #limits = new LimitOwner()
  readonly #orphans = new Orphans()
  readonly #refusals: Refusals
  /** In the folder that only this process and the workers know. */
  readonly #private = new Sockets()
  readonly #folder: string
  readonly #supervisor: Supervisor
  readonly #workers: AllWorkers
  readonly #reloader: Reloader
  readonly #restarts: Restarts
  readonly #ending: Ending
  readonly #front: Front

  constructor(start: Start, config: Config, sockets: Sockets) {
    // Before there is anything that must not stay; heard when all of this is there.
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.on(signal, () => this.#ending.signalled(signal))
    this.#start = start
    this.#config = config
    this.#log = new Log(config.process.logging)
    this.#log.share()
    outlive(this.#log)
    this.#refusals = new Refusals(this.#log)
    this.#limits.maxKeys = config.process.maxKeys
    process.on('exit', () => this.#orphans.killAll())
    this.#folder = makePrivate()
    process.on('exit', () => rmSync(this.#folder, { recursive: true, force: true }))
    keepPrivate(this.#folder, this.#private, this.#log)
    this.#supervisor = this.#supervisorOf(sockets)
    this.#workers = new AllWorkers(config, this.#supervisor)
    const log = this.#log
    const turn = new Turn()
    this.#reloader = new Reloader(this.#workers, log, { ...start, turn })
    this.#restarts = new Restarts({ log, turn, restart: () => this.#restart() })
    this.#ending = new Ending({ log: this.#log, stop: () => this.#stop(), exit: start.exit })
    this.#front = this.#frontOf(sockets)
    tellLoaded(config, this.#log)
    process.on('exit', () => this.#front.close())
  }

  async open(predecessor: Predecessor | null, readAt: number): Promise<void> {
    const opening = predecessor === null ? this.#open() : this.#takeOver()
    if (this.#start.mayChange) this.#reloader.keepUp(readAt, opening)
    await opening
    if (this.#supervisor.readiness === 'draining') return
    this.#restarts.heed()
    predecessor?.served(() => {})
    const { workers } = this.#config.process
    this.#log.line('info', 'gateway', 'started workers', ['workers', workers])
    tellHints(this.#config, this.#log, this.#start)
  }

  async #open(): Promise<void> {
    await this.#front.open()
    await this.#supervisor.start()
  }

  /** Nobody who asks whether this gateway is ready may hear that it is not. */
  async #takeOver(): Promise<void> {
    await this.#supervisor.start('linger')
    try {
      await this.#front.open()
    } catch (error) {
      await this.#supervisor.stop('linger')
      throw error
    }
  }

  /** New processes, with the code that is there now and all of the configuration. */
  async #restart(): Promise<void> {
    const config = this.#start.load()
    await this.#workers.restart(config)
    const { workers, maxKeys } = config.process
    this.#limits.maxKeys = maxKeys
    this.#log.line('info', 'gateway', 'restarted workers', ['workers', workers])
  }

  async #stop(): Promise<void> {
    this.#restarts.close()
    this.#reloader.close()
    await this.#supervisor.stop()
    this.#refusals.close()
  }

  readonly #quit = (): void => this.#ending.begin('/quitquitquit')

  #supervisorOf(sockets: Sockets): Supervisor {
    const log = this.#log
    const ports = new SharedPorts({
      openPort: sockets.open,
      refusals: this.#refusals,
      troubled: (key, { message }) =>
        log.line('warn', 'accept', 'cannot accept', ['bind', key, 'error', message]),
    })
    const services: WorkerService[] = [
      this.#limits,
      new Watchdog({ log, kill: (pid) => process.kill(pid, 'SIGKILL') }),
      this.#orphans,
      new PassingOn(),
      {
        born: (id, link) => link.on(LAST_WORDS, () => this.#front.hearLast(id)),
        ready: (door) => this.#front.joined(door),
        gone: (id) => this.#front.left(id),
      },
    ]
    const { workers: count, terminationDeadline: deadline } = this.#config.process
    const written = writtenOf(this.#config)
    const folder = this.#folder
    return new Supervisor({ count, deadline, folder, written, log, ports, services })
  }

  #frontOf(sockets: Sockets): Front {
    return new Front({
      config: this.#config,
      env: this.#start.env,
      wanted: () => this.#workers.plan.config.process.workers,
      inForce: () => this.#workers.plan,
      readiness: () => this.#supervisor.readiness,
      refusal: () => this.#reloader.refusal,
      restarts: () => this.#supervisor.replaced,
      limitCounts: () => this.#limits.counts,
      refusals: this.#refusals,
      pages: { path: frontSocket(this.#folder), sockets: this.#private },
      quit: this.#quit,
      log: this.#log,
      sockets,
    })
  }
}
