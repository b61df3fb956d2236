// The gateway in several processes: this one serves nothing itself. It has the ports, looks after the workers, and is the
// one that operators talk to.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from './base/config/types.ts'
import { Log } from './base/log.ts'
import { openAlone } from './base/open-port.ts'
import { Ending, outlive } from './ending.ts'
import { Front } from './front.ts'
import { Reloader } from './reload.ts'
import type { Reloadable } from './reload.ts'
import { tellHints, tellLoaded } from './start.ts'
import type { Loaded, Start } from './start.ts'
import type { InForce } from './ui/gateway-facts.ts'
import { LimitOwner } from './workers/limit-owner.ts'
import { frontSocket } from './workers/seat.ts'
import { SharedPorts } from './workers/shared-ports.ts'
import { Supervisor } from './workers/supervisor.ts'
import type { WorkerService } from './workers/supervisor.ts'

export async function supervise(start: Start, { config, readAt }: Loaded): Promise<void> {
  const { env, exit } = start
  const log = new Log(config.process.logging)
  log.share()
  outlive(log)
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const ports = new SharedPorts(openAlone, (key, { message }) =>
    log.line('warn', 'accept', 'cannot accept', ['bind', key, 'error', message]),
  )
  const quit = (): void => ending.begin('/quitquitquit')
  const limits = new LimitOwner()
  const services: WorkerService[] = [
    limits,
    { born: (_id, link) => link.on('workers.quit', quit), gone: () => {} },
  ]
  const { workers: count, terminationDeadline: deadline } = config.process
  const options = { count, deadline, folder, input: start.input(), log, ports, services }
  const supervisor = new Supervisor(options)
  const workers = new Workers(config, supervisor)
  const reloader = new Reloader(workers, log, start)
  const stop = async (): Promise<void> => {
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
  })
  services.push({
    born: () => {},
    ready: (door) => front.joined(door),
    gone: (id) => front.left(id),
  })
  tellLoaded(config, log)
  process.on('exit', () => front.close())
  await front.open()
  await supervisor.start()
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => ending.signalled(signal))
  if (start.mayChange) reloader.keepUp(readAt)
  log.line('info', 'gateway', 'started workers', ['workers', count])
  tellHints(config, log)
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
    await this.#supervisor.reload()
    const { process, backend, mcp, llm } = this.#plan.config
    const config = { ...written, process, backend, mcp, llm }
    this.#plan = { config, generation: this.#plan.generation + 1, loadedAt: new Date() }
  }
}
