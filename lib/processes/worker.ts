// The gateway as one worker of several: it serves what the supervisor sends, and does what that says.

import { rmSync } from 'node:fs'
import type { Config } from '../config/config-types.ts'
import { loadFromTexts } from '../config/load.ts'
import type { ConfigTexts } from '../config/load.ts'
import { selectStartOnlyConfig } from '../config/start-only-config.ts'
import { errorMessageOf } from '../core/errors.ts'
import { Log } from '../core/log.ts'
import { startInterval } from '../core/scheduling.ts'
import { sessionSuffixOf, workerNameOf } from '../core/session-owner.ts'
import type { DrainMode } from '../core/types.ts'
import { Gateway } from '../gateway.ts'
import type { WorkerRole } from '../gateway.ts'
import { redactTarget } from '../text/redaction.ts'
import { AdminServers } from './admin-servers.ts'
import { ensurePrivateFolder, watchPrivateFolder } from './private-folder.ts'
import { GracefulShutdown, surviveUncaughtErrors } from './shutdown.ts'
import type { StartOptions } from './start-options.ts'
import type { WorkerConfig } from './supervisor.ts'
import { PeerWorkers } from './peer-workers.ts'
import { supervisorSocketIn, workerSocketsOf } from './worker-context.ts'
import type { WorkerContext } from './worker-context.ts'
import {
  ALIVE_MESSAGE,
  CONFIG_MESSAGE,
  FAILED_MESSAGE,
  READY_MESSAGE,
  RELOAD_MESSAGE,
  STOP_MESSAGE,
  STOPPED_MESSAGE,
} from './worker-messages.ts'
import { WorkerPorts } from './worker-ports.ts'

/** A supervisor that is so busy is stuck. */
const CONFIG_DEADLINE = 60_000

/** A supervisor that has not heard it after this is given up. */
const STOPPED_MESSAGE_MS = 3_000

export async function runWorker(start: StartOptions, seat: WorkerContext): Promise<void> {
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
  link.on(STOP_MESSAGE, () => start.exit(0))
  try {
    await serveAsWorker(start, seat)
    link.notify(READY_MESSAGE, null)
  } catch (error) {
    const message = redactTarget(errorMessageOf(error))
    await link.request(FAILED_MESSAGE, message).catch(() => {})
    start.exit(1)
  }
}

async function serveAsWorker(start: StartOptions, seat: WorkerContext): Promise<void> {
  const { link, folder, slot, sockets } = seat
  ensurePrivateFolder(folder)
  const whole = await fetchWorkerConfig(seat)
  const { workers } = whole.process
  const config = divideLimits(whole, workers)
  const log = new Log({ ...config.process.logging, constantFields: ['worker', slot] })
  log.shareOutput()
  surviveUncaughtErrors(log)
  const ports = new WorkerPorts(link)
  const gateway = new Gateway(config, log, startInterval, {
    openPort: ports.open,
    worker: workerRoleOf(seat),
  })
  let manner: DrainMode = 'now'
  const stop = async (): Promise<void> => {
    await gateway.stop(manner)
    // What it has counted since it was last asked must not go with it.
    await link.request(STOPPED_MESSAGE, null, STOPPED_MESSAGE_MS).catch(() => {})
  }
  const ending = new GracefulShutdown({ log, stop, exit: start.exit })
  link.on(STOP_MESSAGE, (how) => {
    manner = how === 'linger' ? how : 'now'
    ending.begin('supervisor')
  })
  link.on(ALIVE_MESSAGE, () => null)
  link.on(RELOAD_MESSAGE, (body) =>
    gateway.reload(divideLimits(loadFromTexts(body as ConfigTexts), workers)),
  )
  const { admin, stats } = workerSocketsOf(seat, folder)
  const addresses = { ADMIN_ADDR: `unix:${admin}`, STATS_ADDR: `unix:${stats}` }
  const env = { ...start.env, ...addresses, READINESS_ADDR: 'off' }
  // Whoever wants to know, or to stop it, asks the supervisor.
  const apart = { reloader: { refusal: null }, quit: () => {} }
  const beside = new AdminServers({ config, env, gateway, log, sockets, ...apart, role: 'worker' })
  process.on('exit', () => {
    gateway.killChildren()
    beside.close()
  })
  await beside.open()
  await gateway.start()
  watchPrivateFolder(folder, sockets, log)
}

function workerRoleOf(context: WorkerContext): WorkerRole {
  return {
    sessionSuffix: sessionSuffixOf(workerNameOf(context)),
    childObserver: context.childObserver,
    link: context.link,
    pageSocket: supervisorSocketIn(context.folder),
    connectPeers: (options) => new PeerWorkers(context, options),
  }
}

/** As the supervisor read it: the files may be others by now, and broken. */
async function fetchWorkerConfig({ link }: WorkerContext): Promise<Config> {
  const { begun, now } = (await link.request(CONFIG_MESSAGE, null, CONFIG_DEADLINE)) as WorkerConfig
  const config = loadFromTexts(begun)
  return now === null ? config : { ...loadFromTexts(now), ...selectStartOnlyConfig(config) }
}

/** They may be sent to every process, by a terminal or a container. Only the supervisor acts on them, and says what to do. */
function ignoreSignals(): void {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const)
    process.on(signal, () => {})
}

// What one of several workers may use of that which is set for all of them: limits hold for the gateway as a whole, however
// many processes it has.

/**
 * Rates are counted in one place instead, exactly. What one client or one port may have is not divided: a client may meet
 * one worker only, and must have all that is its own there. With several workers it can have more, up to so many times.
 */
export function divideLimits(config: Config, workers: number): Config {
  const part = (whole: number, least = 1): number => Math.max(least, Math.ceil(whole / workers))
  const { process, backend, mcp, llm } = config
  return {
    ...config,
    process: { ...process, maxBytesInFlight: part(process.maxBytesInFlight) },
    backend: {
      ...backend,
      poolMaxSize: part(backend.poolMaxSize),
      poolMaxWaiting: part(backend.poolMaxWaiting, 0),
    },
    mcp: {
      ...mcp,
      maxSessions: part(mcp.maxSessions),
      maxChildren: part(mcp.maxChildren),
      // One of the largest must fit.
      maxReadTogether: part(mcp.maxReadTogether, mcp.maxRequestBytes),
    },
    llm: { ...llm, maxHeldTogether: part(llm.maxHeldTogether, llm.maxHeldBytes) },
  }
}
