// The gateway as one worker of several: it serves what the supervisor sends, and does what that says.

import { rmSync } from 'node:fs'
import { atStart } from '../base/config/at-start.ts'
import { loadAgain } from '../base/config/load.ts'
import type { Written } from '../base/config/load.ts'
import type { Config } from '../base/config/types.ts'
import { messageOf } from '../base/errors.ts'
import { every } from '../base/every.ts'
import { Log } from '../base/log/log.ts'
import { shownTarget } from '../base/redact/texts.ts'
import type { Manner } from '../base/types.ts'
import { Gateway } from '../gateway.ts'
import { BorrowedPorts } from '../workers/borrowed-ports.ts'
import { ALIVE, CONFIG, FAILED, LAST_WORDS, READY, RELOAD, STOP } from '../workers/messages.ts'
import { ensurePrivate, keepPrivate } from '../workers/private-folder.ts'
import { doorOf } from '../workers/seat.ts'
import type { WorkerSeat } from '../workers/seat.ts'
import type { WrittenInForce } from '../workers/supervisor.ts'
import { Beside } from './beside.ts'
import { Ending, outlive } from './ending.ts'
import type { Start } from './start.ts'
import { shareOf } from './worker-share.ts'

/** A supervisor that is so busy is stuck. */
const CONFIG_DEADLINE = 60_000

/** A supervisor that has not heard it after this is given up. */
const LAST_WORDS_MS = 3_000

export async function work(start: Start, seat: WorkerSeat): Promise<void> {
  const { link, folder } = seat
  ignoreSignals()
  // Without a supervisor nobody could stop it, and limits would count for nothing.
  const leave = (): void => {
    rmSync(folder, { recursive: true, force: true })
    start.exit(1)
  }
  process.once('disconnect', leave)
  // It may have died while this process was being loaded.
  if (!process.connected) return leave()
  // Nothing is served yet.
  link.on(STOP, () => start.exit(0))
  try {
    await serve(start, seat)
    link.tell(READY, null)
  } catch (error) {
    const message = shownTarget(messageOf(error))
    await link.ask(FAILED, message).catch(() => {})
    start.exit(1)
  }
}

async function serve(start: Start, seat: WorkerSeat): Promise<void> {
  const { link, folder, slot, sockets } = seat
  ensurePrivate(folder)
  const whole = await configOf(seat)
  const { workers } = whole.process
  const config = shareOf(whole, workers)
  const log = new Log({ ...config.process.logging, always: ['worker', slot] })
  log.share()
  outlive(log)
  const ports = new BorrowedPorts(link)
  const gateway = new Gateway(config, log, every, { openPort: ports.open, worker: seat })
  let manner: Manner = 'now'
  const stop = async (): Promise<void> => {
    await gateway.stop(manner)
    // What it has counted since it was last asked must not go with it.
    await link.ask(LAST_WORDS, null, LAST_WORDS_MS).catch(() => {})
  }
  const ending = new Ending({ log, stop, exit: start.exit })
  link.on(STOP, (how) => {
    manner = how === 'linger' ? how : 'now'
    ending.begin('supervisor')
  })
  link.on(ALIVE, () => null)
  link.on(RELOAD, (body) => gateway.reload(shareOf(loadAgain(body as Written), workers)))
  const { admin, stats } = doorOf(seat, folder)
  const addresses = { ADMIN_ADDR: `unix:${admin}`, STATS_ADDR: `unix:${stats}` }
  const env = { ...start.env, ...addresses, READINESS_ADDR: 'off' }
  // Whoever wants to know, or to stop it, asks the supervisor.
  const apart = { reloader: { refusal: null }, quit: () => {} }
  const beside = new Beside({ config, env, gateway, log, sockets, ...apart, role: 'worker' })
  process.on('exit', () => {
    gateway.abandon()
    beside.close()
  })
  await beside.open()
  await gateway.start()
  keepPrivate(folder, sockets, log)
}

/** As the supervisor read it: the files may be others by now, and broken. */
async function configOf({ link }: WorkerSeat): Promise<Config> {
  const { begun, now } = (await link.ask(CONFIG, null, CONFIG_DEADLINE)) as WrittenInForce
  const config = loadAgain(begun)
  return now === null ? config : { ...loadAgain(now), ...atStart(config) }
}

/** They may be sent to every process, by a terminal or a container. Only the supervisor acts on them, and says what to do. */
function ignoreSignals(): void {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const)
    process.on(signal, () => {})
}
