// The gateway in one process.

import { Mutex, startInterval } from '../core/scheduling.ts'
import { Log } from '../core/log.ts'
import { ListeningSockets } from '../core/listening-sockets.ts'
import type { DrainMode } from '../core/types.ts'
import { Gateway } from '../gateway.ts'
import { AdminServers } from './admin-servers.ts'
import { GracefulShutdown, RestartSignals, surviveUncaughtErrors } from './shutdown.ts'
import { Reloader } from './reload.ts'
import { logConfigHints, logLoadedConfig } from './start-options.ts'
import type { LoadedConfig, StartOptions } from './start-options.ts'
import { Successor } from './successor.ts'
import type { Predecessor } from './successor.ts'

export async function runSingleProcess(
  start: StartOptions,
  { config, readAt }: LoadedConfig,
  predecessor: Predecessor | null,
): Promise<void> {
  const { env, exit } = start
  const log = new Log(config.process.logging)
  surviveUncaughtErrors(log)
  const sockets = predecessor?.sockets ?? new ListeningSockets()
  const gateway = new Gateway(config, log, startInterval, { openPort: sockets.open, worker: null })
  // A port that a reload opened while a successor starts would be missing there, and taken.
  const turn = new Mutex()
  const reloader = new Reloader(gateway, log, { ...start, mutex: turn })
  let manner: DrainMode = 'now'
  let successor: Successor | null = null
  const stop = async (): Promise<void> => {
    restarts.close()
    reloader.close()
    // Whoever stops this one while it hands over wants neither.
    const ended = manner === 'now' ? successor?.end() : undefined
    await Promise.all([ended, gateway.stop(manner)])
  }
  const ending = new GracefulShutdown({ log, stop, exit })
  const quit = (): void => ending.begin('/quitquitquit')
  // Before the first line: it remembers them for the page.
  const beside = new AdminServers({ config, env, gateway, reloader, log, quit, sockets })
  const restart = async (): Promise<void> => {
    log.shareOutput()
    try {
      successor = new Successor(sockets, start.input())
      log.write('info', 'gateway', 'starting successor', ['pid', successor.pid])
      await successor.ready
    } catch (error) {
      log.unshareOutput()
      throw error
    }
    log.write('info', 'gateway', 'handed over', ['pid', successor.pid])
    manner = 'linger'
    sockets.keepFilesOnClose()
    beside.stopAccepting()
    ending.begin('SIGUSR2')
  }
  const restarts = new RestartSignals({ log, mutex: turn, restart })
  logLoadedConfig(config, log)
  // However it ends: child processes and the files of unix sockets go with it.
  process.on('exit', () => {
    if (manner === 'now') successor?.kill()
    gateway.killChildren()
    beside.close()
  })
  // Before anything is open: whoever finds it may send a signal.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => ending.receiveSignal(signal))
  const opening = openSingleProcess({ gateway, adminServers: beside, log }, predecessor)
  if (start.mayChange) reloader.startWithSignal(readAt, opening)
  await opening.catch((error: unknown) => {
    if (ending.state === 'running') throw error
  })
  if (ending.state === 'stopping') return
  restarts.acceptSignals()
  predecessor?.release(() => log.unshareOutput())
  logConfigHints(config, log, start)
}

interface SingleProcessParts {
  readonly gateway: Gateway
  readonly adminServers: AdminServers
  readonly log: Log
}

async function openSingleProcess(
  { gateway, adminServers, log }: SingleProcessParts,
  predecessor: Predecessor | null,
): Promise<void> {
  if (predecessor === null) {
    await adminServers.open()
    await gateway.start()
    return
  }
  log.shareOutput()
  try {
    // Nobody who asks whether this gateway is ready may hear that it is not.
    await gateway.start()
    await adminServers.open()
  } catch (error) {
    // Connections that came in meanwhile are served; the others are the predecessor's.
    await gateway.stop('linger')
    throw error
  }
}
