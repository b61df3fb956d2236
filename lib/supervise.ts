// The gateway in several processes: this one serves nothing itself. It has the ports, looks after the workers, and is the
// one that operators talk to.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writtenOf } from './base/config/load.ts'
import type { Config } from './base/config/types.ts'
import { Log } from './base/log.ts'
import { Sockets } from './base/sockets.ts'
import { Ending, outlive } from './ending.ts'
import { Front } from './front.ts'
import type { Predecessor } from './handover.ts'
import { Reloader } from './reload.ts'
import type { Reloadable } from './reload.ts'
import { Restarts } from './restarts.ts'
import { tellHints, tellLoaded } from './start.ts'
import type { Loaded, Start } from './start.ts'
import type { InForce } from './ui/gateway-facts.ts'
import { HandOver } from './workers/hand-over.ts'
import { LimitOwner } from './workers/limit-owner.ts'
import { Orphans } from './workers/orphans.ts'
import { frontSocket } from './workers/seat.ts'
import { SharedPorts } from './workers/shared-ports.ts'
import { Supervisor } from './workers/supervisor.ts'
import type { WorkerService } from './workers/supervisor.ts'
import { Watchdog } from './workers/watchdog.ts'

export async function supervise(
  start: Start,
  { config, readAt }: Loaded,
  predecessor: Predecessor | null,
): Promise<void> {
  const { env, exit } = start
  const log = new Log(config.process.logging)
  log.share()
  outlive(log)
  const sockets = predecessor?.sockets ?? new Sockets()
  const quit = (): void => ending.begin('/quitquitquit')
  const orphans = new Orphans()
  process.on('exit', () => orphans.killAll())
  const limits = new LimitOwner()
  const services: WorkerService[] = [
    limits,
    new Watchdog({ log, kill: (pid) => process.kill(pid, 'SIGKILL') }),
    orphans,
    new HandOver(),
    { born: (_id, link) => link.on('workers.quit', quit), gone: () => {} },
  ]
  const supervisor = supervisorOf(config, { log, sockets, services })
  const workers = new Workers(config, supervisor)
  const refused = (refusal: unknown): void => supervisor.tellAll('workers.refusal', refusal)
  const reloader = new Reloader(workers, log, { ...start, refused })
  const restarts = new Restarts(log, () => restart(start, workers, log))
  const stop = async (): Promise<void> => {
    restarts.close()
    reloader.close()
    await supervisor.stop()
  }
  const ending = new Ending({ log, stop, exit })
  const front = new Front({
    config,
    env,
    wanted: () => workers.plan.config.process.workers,
    inForce: () => workers.plan,
    readiness: () => supervisor.readiness,
    refusal: () => reloader.refusal,
    restarts: () => supervisor.replaced,
    limitCounts: () => limits.counts,
    pages: frontSocket(supervisor.folder),
    quit,
    log,
    sockets,
  })
  services.push({
    born: () => {},
    ready: (door) => front.joined(door),
    gone: (id) => front.left(id),
  })
  tellLoaded(config, log)
  process.on('exit', () => front.close())
  // Some of them serve before all do.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => ending.signalled(signal))
  await open(supervisor, front, predecessor)
  if (supervisor.readiness === 'draining') return
  restarts.heed()
  predecessor?.served(() => {})
  if (start.mayChange) reloader.keepUp(readAt)
  log.line('info', 'gateway', 'started workers', ['workers', config.process.workers])
  tellHints(config, log)
}

interface Means {
  readonly log: Log
  readonly sockets: Sockets
  readonly services: readonly WorkerService[]
}

function supervisorOf(config: Config, { log, sockets, services }: Means): Supervisor {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const ports = new SharedPorts(sockets.open, (key, { message }) =>
    log.line('warn', 'accept', 'cannot accept', ['bind', key, 'error', message]),
  )
  const { workers: count, terminationDeadline: deadline } = config.process
  const written = writtenOf(config)
  return new Supervisor({ count, deadline, folder, written, log, ports, services })
}

async function open(
  supervisor: Supervisor,
  front: Front,
  predecessor: Predecessor | null,
): Promise<void> {
  if (predecessor === null) {
    await front.open()
    return supervisor.start()
  }
  // Nobody who asks whether this gateway is ready may hear that it is not.
  await supervisor.start('linger')
  try {
    await front.open()
  } catch (error) {
    await supervisor.stop('linger')
    throw error
  }
}

/** New processes, with the code that is there now and all of the configuration. */
async function restart(start: Start, workers: Workers, log: Log): Promise<void> {
  const config = start.load()
  await workers.restart(config)
  log.line('info', 'gateway', 'restarted workers', ['workers', config.process.workers])
}

/** All workers as one thing that takes a configuration. */
class Workers implements Reloadable {
  readonly #supervisor: Supervisor
  #plan: InForce

  constructor(config: Config, supervisor: Supervisor) {
    this.#supervisor = supervisor
    this.#plan = { config, generation: 1, loadedAt: new Date() }
  }

  get plan(): InForce {
    return this.#plan
  }

  async reload(written: Config): Promise<void> {
    await this.#supervisor.reload(writtenOf(written))
    const { process, backend, mcp, llm } = this.#plan.config
    this.#take({ ...written, process, backend, mcp, llm })
  }

  /** What is this process's own stays as it was. */
  async restart(written: Config): Promise<void> {
    const { workers, terminationDeadline } = written.process
    await this.#supervisor.restart(writtenOf(written), workers, terminationDeadline)
    const { admin, stats, readiness, logging } = this.#plan.config.process
    this.#take({ ...written, process: { ...written.process, admin, stats, readiness, logging } })
  }

  #take(config: Config): void {
    this.#plan = { config, generation: this.#plan.generation + 1, loadedAt: new Date() }
  }
}
