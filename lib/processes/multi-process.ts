// The gateway in several processes: this one serves nothing itself. It has the ports, looks after the workers, and is the
// one that operators talk to.

import { rmSync } from 'node:fs'
import type { ConfigInForce } from '../admin/page-api/gateway-facts.ts'
import type { Config } from '../config/config-types.ts'
import { configTextsOf } from '../config/load.ts'
import { selectStartOnlyConfig } from '../config/start-only-config.ts'
import { ListeningSockets } from '../core/listening-sockets.ts'
import { Log } from '../core/log.ts'
import { RefusalCounter } from '../core/refusal-counter.ts'
import { Mutex } from '../core/scheduling.ts'
import { AggregatedAdmin } from './aggregated/aggregated-admin.ts'
import { WorkerConnectionHandover } from './connection-handover.ts'
import { LimitOwner } from './limit-owner.ts'
import { createPrivateFolder, watchPrivateFolder } from './private-folder.ts'
import { Reloader } from './reload.ts'
import type { Reloadable } from './reload.ts'
import { GracefulShutdown, RestartSignals, surviveUncaughtErrors } from './shutdown.ts'
import { logConfigHints, logLoadedConfig } from './start-options.ts'
import type { LoadedConfig, StartOptions } from './start-options.ts'
import type { Predecessor } from './successor.ts'
import { Supervisor } from './supervisor.ts'
import type { WorkerService } from './supervisor.ts'
import { supervisorSocketIn } from './worker-context.ts'
import { STOPPED_MESSAGE } from './worker-messages.ts'
import { SharedPorts } from './worker-ports.ts'
import { OrphanedChildren, Watchdog } from './worker-watchdog.ts'

export async function runSupervisor(
  start: StartOptions,
  { config, readAt }: LoadedConfig,
  predecessor: Predecessor | null,
): Promise<void> {
  const supervision = new SupervisorProcess(
    start,
    config,
    predecessor?.sockets ?? new ListeningSockets(),
  )
  await supervision.open(predecessor, readAt)
}

class SupervisorProcess {
  readonly #start: StartOptions
  readonly #config: Config
  readonly #log: Log
  readonly #limits = new LimitOwner()
  readonly #orphans = new OrphanedChildren()
  readonly #refusals: RefusalCounter
  /** In the folder that only this process and the workers know. */
  readonly #privateSockets = new ListeningSockets()
  readonly #folder: string
  readonly #supervisor: Supervisor
  readonly #workers: ReloadableWorkers
  readonly #reloader: Reloader
  readonly #restarts: RestartSignals
  readonly #shutdown: GracefulShutdown
  readonly #aggregatedAdmin: AggregatedAdmin

  constructor(start: StartOptions, config: Config, sockets: ListeningSockets) {
    // Before there is anything that must not stay; heard when all of this is there.
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.on(signal, () => this.#shutdown.receiveSignal(signal))
    this.#start = start
    this.#config = config
    this.#log = new Log(config.process.logging)
    this.#log.shareOutput()
    surviveUncaughtErrors(this.#log)
    this.#refusals = new RefusalCounter(this.#log)
    this.#limits.maxKeys = config.process.maxKeys
    process.on('exit', () => this.#orphans.killAll())
    this.#folder = createPrivateFolder()
    process.on('exit', () => rmSync(this.#folder, { recursive: true, force: true }))
    watchPrivateFolder(this.#folder, this.#privateSockets, this.#log)
    this.#supervisor = this.#createSupervisor(sockets)
    this.#workers = new ReloadableWorkers(config, this.#supervisor)
    const log = this.#log
    const turn = new Mutex()
    this.#reloader = new Reloader(this.#workers, log, { ...start, mutex: turn })
    this.#restarts = new RestartSignals({ log, mutex: turn, restart: () => this.#restart() })
    this.#shutdown = new GracefulShutdown({
      log: this.#log,
      stop: () => this.#stop(),
      exit: start.exit,
    })
    this.#aggregatedAdmin = this.#createAggregatedAdmin(sockets)
    logLoadedConfig(config, this.#log)
    process.on('exit', () => this.#aggregatedAdmin.close())
  }

  async open(predecessor: Predecessor | null, readAt: number): Promise<void> {
    const opening = predecessor === null ? this.#open() : this.#takeOver()
    if (this.#start.mayChange) this.#reloader.startWithSignal(readAt, opening)
    await opening
    if (this.#supervisor.readiness === 'draining') return
    this.#restarts.acceptSignals()
    predecessor?.release(() => {})
    const { workers } = this.#config.process
    this.#log.write('info', 'gateway', 'started workers', ['workers', workers])
    logConfigHints(this.#config, this.#log, this.#start)
  }

  async #open(): Promise<void> {
    await this.#aggregatedAdmin.open()
    await this.#supervisor.start()
  }

  /** Nobody who asks whether this gateway is ready may hear that it is not. */
  async #takeOver(): Promise<void> {
    await this.#supervisor.start('linger')
    try {
      await this.#aggregatedAdmin.open()
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
    this.#log.write('info', 'gateway', 'restarted workers', ['workers', workers])
  }

  async #stop(): Promise<void> {
    this.#restarts.close()
    this.#reloader.close()
    await this.#supervisor.stop()
    this.#refusals.close()
  }

  readonly #quit = (): void => this.#shutdown.begin('/quitquitquit')

  #createSupervisor(sockets: ListeningSockets): Supervisor {
    const log = this.#log
    const ports = new SharedPorts({
      openPort: sockets.open,
      refusals: this.#refusals,
      troubled: (key, { message }) =>
        log.write('warn', 'accept', 'cannot accept', ['bind', key, 'error', message]),
    })
    const services: WorkerService[] = [
      this.#limits,
      new Watchdog({ log, kill: (pid) => process.kill(pid, 'SIGKILL') }),
      this.#orphans,
      new WorkerConnectionHandover(),
      {
        workerStarted: (id, link) =>
          link.on(STOPPED_MESSAGE, () => this.#aggregatedAdmin.collectLast(id)),
        workerReady: (door) => this.#aggregatedAdmin.workerReady(door),
        workerGone: (id) => this.#aggregatedAdmin.workerLeft(id),
      },
    ]
    const { workers: count, terminationDeadline: deadline } = this.#config.process
    const written = configTextsOf(this.#config)
    const folder = this.#folder
    return new Supervisor({ count, deadline, folder, written, log, ports, services })
  }

  #createAggregatedAdmin(sockets: ListeningSockets): AggregatedAdmin {
    return new AggregatedAdmin({
      config: this.#config,
      env: this.#start.env,
      wanted: () => this.#workers.plan.config.process.workers,
      inForce: () => this.#workers.plan,
      readiness: () => this.#supervisor.readiness,
      refusal: () => this.#reloader.refusal,
      restarts: () => this.#supervisor.replacedCount,
      limitCounts: () => this.#limits.counts,
      refusals: this.#refusals,
      pages: { path: supervisorSocketIn(this.#folder), sockets: this.#privateSockets },
      quit: this.#quit,
      log: this.#log,
      sockets,
    })
  }
}

// All workers as one thing that takes a configuration, as a gateway in one process does.

class ReloadableWorkers implements Reloadable {
  readonly #supervisor: Supervisor
  #plan: ConfigInForce

  constructor(config: Config, supervisor: Supervisor) {
    this.#supervisor = supervisor
    this.#plan = { config, generation: 1, loadedAt: new Date() }
  }

  get plan(): ConfigInForce {
    return this.#plan
  }

  async reload(written: Config): Promise<void> {
    await this.#supervisor.reload(configTextsOf(written))
    this.#take({ ...written, ...selectStartOnlyConfig(this.#plan.config) })
  }

  /** What is this process's own stays as it was. */
  async restart(written: Config): Promise<void> {
    const { workers, terminationDeadline } = written.process
    await this.#supervisor.restart(configTextsOf(written), workers, terminationDeadline)
    const { admin, stats, readiness, logging } = this.#plan.config.process
    this.#take({ ...written, process: { ...written.process, admin, stats, readiness, logging } })
  }

  #take(config: Config): void {
    this.#plan = { config, generation: this.#plan.generation + 1, loadedAt: new Date() }
  }
}
