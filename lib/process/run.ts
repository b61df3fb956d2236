// The gateway in one process.

import { every } from '../base/every.ts'
import { Log } from '../base/log/log.ts'
import { Sockets } from '../base/processes/sockets.ts'
import { Turn } from '../base/turn.ts'
import type { Manner } from '../base/types.ts'
import { Gateway } from '../gateway.ts'
import { Beside } from './beside.ts'
import { Ending, outlive } from './ending.ts'
import { Reloader } from './reload.ts'
import { Restarts } from './restarts.ts'
import { tellHints, tellLoaded } from './start.ts'
import type { Loaded, Start } from './start.ts'
import { Successor } from './successor.ts'
import type { Predecessor } from './successor.ts'

export async function run(
  start: Start,
  { config, readAt }: Loaded,
  predecessor: Predecessor | null,
): Promise<void> {
  const { env, exit } = start
  const log = new Log(config.process.logging)
  outlive(log)
  const sockets = predecessor?.sockets ?? new Sockets()
  const gateway = new Gateway(config, log, every, { openPort: sockets.open, worker: null })
  // A port that a reload opened while a successor starts would be missing there, and taken.
  const turn = new Turn()
  const reloader = new Reloader(gateway, log, { ...start, turn })
  let manner: Manner = 'now'
  let successor: Successor | null = null
  const stop = async (): Promise<void> => {
    restarts.close()
    reloader.close()
    // Whoever stops this one while it hands over wants neither.
    const ended = manner === 'now' ? successor?.end() : undefined
    await Promise.all([ended, gateway.stop(manner)])
  }
  const ending = new Ending({ log, stop, exit })
  const quit = (): void => ending.begin('/quitquitquit')
  // Before the first line: it remembers them for the page.
  const beside = new Beside({ config, env, gateway, reloader, log, quit, sockets })
  const restart = async (): Promise<void> => {
    log.share()
    try {
      successor = new Successor(sockets, start.input())
      log.line('info', 'gateway', 'starting successor', ['pid', successor.pid])
      await successor.ready
    } catch (error) {
      log.unshare()
      throw error
    }
    log.line('info', 'gateway', 'handed over', ['pid', successor.pid])
    manner = 'linger'
    sockets.leave()
    beside.leave()
    ending.begin('SIGUSR2')
  }
  const restarts = new Restarts({ log, turn, restart })
  tellLoaded(config, log)
  // However it ends: child processes and the files of unix sockets go with it.
  process.on('exit', () => {
    if (manner === 'now') successor?.kill()
    gateway.abandon()
    beside.close()
  })
  // Before anything is open: whoever finds it may send a signal.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => ending.signalled(signal))
  const opening = open({ gateway, beside, log }, predecessor)
  if (start.mayChange) reloader.keepUp(readAt, opening)
  await opening.catch((error: unknown) => {
    if (ending.state === 'running') throw error
  })
  if (ending.state === 'stopping') return
  restarts.heed()
  predecessor?.served(() => log.unshare())
  tellHints(config, log, start)
}

interface Parts {
  readonly gateway: Gateway
  readonly beside: Beside
  readonly log: Log
}

async function open(
  { gateway, beside, log }: Parts,
  predecessor: Predecessor | null,
): Promise<void> {
  if (predecessor === null) {
    await beside.open()
    await gateway.start()
    return
  }
  log.share()
  try {
    // Nobody who asks whether this gateway is ready may hear that it is not.
    await gateway.start()
    await beside.open()
  } catch (error) {
    // Connections that came in meanwhile are served; the others are the predecessor's.
    await gateway.stop('linger')
    throw error
  }
}
