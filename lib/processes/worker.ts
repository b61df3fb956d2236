// Runs the gateway as one worker of several: it serves the connections that the supervisor sends, and follows its orders.

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

/** After this time the supervisor counts as hanging. */
const CONFIG_DEADLINE = 60_000

/** How long a stopping worker waits until the supervisor has read its counts. */
const STOPPED_MESSAGE_MS = 3_000

export async function runWorker(start: StartOptions, context: WorkerContext): Promise<void> {
  const { link, folder } = context
  ignoreSignals()
  // Without a supervisor nothing could stop this worker, and rate limits would not be counted.
  const leave = (): void => {
    rmSync(folder, { recursive: true, force: true })
    start.exit(1)
  }
  process.once('disconnect', leave)
  // The supervisor may have died while this process was loading.
  if (!process.connected) return leave()
  // As long as nothing is served.
  link.on(STOP_MESSAGE, () => start.exit(0))
  try {
    await serveAsWorker(start, context)
    link.notify(READY_MESSAGE, null)
  } catch (error) {
    const message = redactTarget(errorMessageOf(error))
    await link.request(FAILED_MESSAGE, message).catch(() => {})
    start.exit(1)
  }
}

async function serveAsWorker(start: StartOptions, context: WorkerContext): Promise<void> {
  const { link, folder, slot, sockets } = context
  ensurePrivateFolder(folder)
  const whole = await fetchWorkerConfig(context)
  const { workers } = whole.process
  const config = divideLimits(whole, workers)
  const log = new Log({ ...config.process.logging, constantFields: ['worker', slot] })
  log.shareOutput()
  surviveUncaughtErrors(log)
  const ports = new WorkerPorts(link)
  const gateway = new Gateway(config, log, startInterval, {
    openPort: ports.open,
    worker: workerRoleOf(context),
  })
  let mode: DrainMode = 'now'
  const stop = async (): Promise<void> => {
    await gateway.stop(mode)
    // Lets the supervisor read the counts since its last request.
    await link.request(STOPPED_MESSAGE, null, STOPPED_MESSAGE_MS).catch(() => {})
  }
  const shutdown = new GracefulShutdown({ log, stop, exit: start.exit })
  link.on(STOP_MESSAGE, (how) => {
    mode = how === 'linger' ? how : 'now'
    shutdown.begin('supervisor')
  })
  link.on(ALIVE_MESSAGE, () => null)
  link.on(RELOAD_MESSAGE, (body) =>
    gateway.reload(divideLimits(loadFromTexts(body as ConfigTexts), workers)),
  )
  const { admin, stats } = workerSocketsOf(context, folder)
  const addresses = { ADMIN_ADDR: `unix:${admin}`, STATS_ADDR: `unix:${stats}` }
  const env = { ...start.env, ...addresses, READINESS_ADDR: 'off' }
  // The supervisor reports refused configurations and stops the gateway.
  const unused = { reloader: { refusal: null }, quit: () => {} }
  const adminServers = new AdminServers({
    config,
    env,
    gateway,
    log,
    sockets,
    ...unused,
    role: 'worker',
  })
  process.on('exit', () => {
    gateway.killChildren()
    adminServers.close()
  })
  await adminServers.open()
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

/** Loads what the supervisor read: the files may have changed since, and may have errors. */
async function fetchWorkerConfig({ link }: WorkerContext): Promise<Config> {
  const { begun, now } = (await link.request(CONFIG_MESSAGE, null, CONFIG_DEADLINE)) as WorkerConfig
  const config = loadFromTexts(begun)
  return now === null ? config : { ...loadFromTexts(now), ...selectStartOnlyConfig(config) }
}

/** A terminal or a container may signal every process; only the supervisor acts on signals. */
function ignoreSignals(): void {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const)
    process.on(signal, () => {})
}

/**
 * The share of one worker in limits of the whole gateway; the supervisor counts rate limits exactly instead. Limits per
 * client or port stay whole, as one worker may get all its connections: a client may get up to `workers` times as much.
 * Only the children of one client are divided as well, because otherwise it could hold all children of a worker.
 */
export function divideLimits(config: Config, workers: number): Config {
  const part = (whole: number, min = 1): number => Math.max(min, Math.ceil(whole / workers))
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
      maxChildrenPerClient: part(mcp.maxChildrenPerClient),
      // One of the largest must fit.
      maxReadTogether: part(mcp.maxReadTogether, mcp.maxRequestBytes),
    },
    llm: { ...llm, maxHeldTogether: part(llm.maxHeldTogether, llm.maxHeldBytes) },
  }
}
