// The supervisor process of a gateway with several workers: it opens the ports, starts and replaces the workers, and
// serves the operators. It handles no traffic itself.

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
  const supervisorProcess = new SupervisorProcess(
    start,
    config,
    predecessor?.sockets ?? new ListeningSockets(),
  )
  await supervisorProcess.open(predecessor, readAt)
}

class SupervisorProcess {
  readonly #start: StartOptions
  readonly #config: Config
  readonly #log: Log
  readonly #limits = new LimitOwner()
  readonly #orphans = new OrphanedChildren()
  readonly #refusals: RefusalCounter
  /** Sockets in the folder that only this process and the workers use. */
  readonly #privateSockets = new ListeningSockets()
  readonly #folder: string
  readonly #supervisor: Supervisor
  readonly #workers: ReloadableWorkers
  readonly #reloader: Reloader
  readonly #restarts: RestartSignals
  readonly #shutdown: GracefulShutdown
  readonly #aggregatedAdmin: AggregatedAdmin

  constructor(start: StartOptions, config: Config, sockets: ListeningSockets) {
    // First of all, so that a signal always cleans up; a signal is delivered only when the constructor has returned.
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
    const mutex = new Mutex()
    this.#reloader = new Reloader(this.#workers, log, { ...start, mutex })
    this.#restarts = new RestartSignals({ log, mutex, restart: () => this.#restart() })
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

  /** Workers first: the readiness endpoint must not report `starting` while the predecessor is ready. */
  async #takeOver(): Promise<void> {
    await this.#supervisor.start('linger')
    try {
      await this.#aggregatedAdmin.open()
    } catch (error) {
      await this.#supervisor.stop('linger')
      throw error
    }
  }

  /** Starts new worker processes with the code on disk and the whole configuration. */
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
      reportError: (key, { message }) =>
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
        workerReady: (worker) => this.#aggregatedAdmin.workerReady(worker),
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

/** All workers as one target of reloads and restarts, like a gateway in one process. */
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
    this.#setPlan({ ...written, ...selectStartOnlyConfig(this.#plan.config) })
  }

  /** Settings of the supervisor process itself stay as they are. */
  async restart(written: Config): Promise<void> {
    const { workers, terminationDeadline } = written.process
    await this.#supervisor.restart(configTextsOf(written), workers, terminationDeadline)
    const { admin, stats, readiness, logging } = this.#plan.config.process
    this.#setPlan({ ...written, process: { ...written.process, admin, stats, readiness, logging } })
  }

  #setPlan(config: Config): void {
    this.#plan = { config, generation: this.#plan.generation + 1, loadedAt: new Date() }
  }
}
