// Runs the gateway in one process.

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
  // A successor would not know a port that a reload opens while it starts, and could not open it either.
  const mutex = new Mutex()
  const reloader = new Reloader(gateway, log, { ...start, mutex })
  let mode: DrainMode = 'now'
  let successor: Successor | null = null
  const stop = async (): Promise<void> => {
    restarts.close()
    reloader.close()
    // A stop during a handover stops the successor, too.
    const successorEnded = mode === 'now' ? successor?.end() : undefined
    await Promise.all([successorEnded, gateway.stop(mode)])
  }
  const shutdown = new GracefulShutdown({ log, stop, exit })
  const quit = (): void => shutdown.begin('/quitquitquit')
  // Before the first log line: it keeps log lines for the page.
  const adminServers = new AdminServers({ config, env, gateway, reloader, log, quit, sockets })
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
    mode = 'linger'
    sockets.keepFilesOnClose()
    adminServers.stopAccepting()
    shutdown.begin('SIGUSR2')
  }
  const restarts = new RestartSignals({ log, mutex, restart })
  logLoadedConfig(config, log)
  // On every exit, child processes and the files of unix sockets are removed.
  process.on('exit', () => {
    if (mode === 'now') successor?.kill()
    gateway.killChildren()
    adminServers.close()
  })
  // Before anything is open: a signal may arrive from then on.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => shutdown.receiveSignal(signal))
  const opening = openSingleProcess({ gateway, adminServers, log }, predecessor)
  if (start.mayChange) reloader.startWithSignal(readAt, opening)
  await opening.catch((error: unknown) => {
    if (shutdown.state === 'running') throw error
  })
  if (shutdown.state === 'stopping') return
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
    // The gateway first: the readiness endpoint must not report `starting` while the predecessor is ready.
    await gateway.start()
    await adminServers.open()
  } catch (error) {
    // Connections accepted meanwhile are served; all others stay with the predecessor.
    await gateway.stop('linger')
    throw error
  }
}
