// Workers within this process for specs of the aggregated admin interface: real gateways on private sockets, or servers
// with scripted responses.

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { freePort } from '../../conformance/gateway-process.ts'
import { RefusalCounter } from '../../lib/core/refusal-counter.ts'
import { parseConfig } from '../../lib/config/load.ts'
import { ListeningSockets } from '../../lib/core/listening-sockets.ts'
import { Mutex } from '../../lib/core/scheduling.ts'
import { AggregatedAdmin } from '../../lib/processes/aggregated/aggregated-admin.ts'
import type { AggregatedAdminOptions } from '../../lib/processes/aggregated/aggregated-admin.ts'
import { Gateway } from '../../lib/gateway.ts'
import { AdminServers } from '../../lib/processes/admin-servers.ts'
import { Reloader } from '../../lib/processes/reload.ts'
import { supervisorSocketIn } from '../../lib/processes/worker-context.ts'
import type { WorkerEndpoints } from '../../lib/processes/worker-messages.ts'
import { senderTo } from './admin.ts'
import type { SendRequest } from './admin.ts'
import { ask } from './ask.ts'
import { deadline } from './deadline.ts'
import { Folder } from './folder.ts'
import { LogRecorder } from './gateway.ts'
import type { Line, Stage } from './gateway.ts'
import { HandTimer } from './hand-timer.ts'

const WAIT_MS = 30_000

const GATEWAYS = 'gateways: { default: { port: ${PORT}, address: 127.0.0.1 } }\n'

export interface Worker {
  readonly endpoints: WorkerEndpoints
  readonly gateway: Gateway
  readonly log: LogRecorder
  readonly port: number
  /** Sends one request; returns the status of its response. */
  readonly get: (path?: string) => Promise<number>
}

type Serve = (request: IncomingMessage, response: ServerResponse) => void

export class WorkerStage {
  readonly #stage: Stage
  readonly #folder: Folder
  readonly #text: string
  readonly #count: number

  /** `text` is without `gateways`, or contains `${PORT}`. */
  constructor(stage: Stage, text: string, count = 2) {
    this.#stage = stage
    this.#folder = stage.add(new Folder())
    this.#text = /^gateways:/m.test(text) ? text : GATEWAYS + text
    this.#count = count
  }

  async worker(slot: number, epoch = 1): Promise<Worker> {
    const port = await freePort()
    const config = parseConfig(this.#text, { file: 'c.yaml', env: { PORT: String(port) } })
    const log = new LogRecorder(() => {})
    const gateway = new Gateway(config, log)
    const reloader = new Reloader(gateway, log, { load: () => config, mutex: new Mutex() })
    const endpoints = this.#endpointsOf(slot, epoch)
    const env = {
      ADMIN_ADDR: `unix:${endpoints.admin}`,
      STATS_ADDR: `unix:${endpoints.stats}`,
      READINESS_ADDR: 'off',
    }
    const role = 'worker'
    const adminServers = new AdminServers({
      config,
      env,
      gateway,
      reloader,
      log,
      quit: () => {},
      role,
    })
    await deadline(adminServers.open(), WAIT_MS, 'the private sockets')
    await deadline(gateway.start(), WAIT_MS, 'the worker to listen')
    this.#stage.add({ close: () => gateway.stop() })
    this.#stage.add(adminServers)
    const get = async (path = '/'): Promise<number> =>
      (await ask({ port }, `GET ${path} HTTP/1.1`)).status
    return { endpoints, gateway, log, port, get }
  }

  /** A worker whose responses, on both sockets, the spec writes. */
  async scripted(slot: number, serve: Serve): Promise<WorkerEndpoints> {
    const endpoints = this.#endpointsOf(slot, 1)
    for (const path of [endpoints.admin, endpoints.stats]) {
      const server = createServer(serve)
      await deadline(listening(server, path), WAIT_MS, 'a scripted worker')
      this.#stage.add({
        close: () => {
          server.close()
          server.closeAllConnections()
        },
      })
    }
    return endpoints
  }

  async aggregatedAdmin(
    inForce: AggregatedAdminOptions['inForce'],
    more: Partial<AggregatedAdminOptions> = {},
  ): Promise<AdminClients> {
    const ports = { admin: await freePort(), stats: await freePort(), readiness: await freePort() }
    const lines: Line[] = []
    const log = new LogRecorder((line) => lines.push(line))
    const timer = new HandTimer()
    const env = {
      ADMIN_ADDR: `127.0.0.1:${ports.admin}`,
      STATS_ADDR: `127.0.0.1:${ports.stats}`,
      READINESS_ADDR: `127.0.0.1:${ports.readiness}`,
    }
    const options: AggregatedAdminOptions = {
      config: inForce().config,
      env,
      log,
      wanted: () => this.#count,
      inForce,
      refusal: () => null,
      readiness: () => 'ready',
      restarts: () => 0,
      limitCounts: () => ({ rules: 0, buckets: 0, evicted: 0 }),
      refusals: new RefusalCounter(),
      quit: () => {},
      pages: { path: supervisorSocketIn(this.#folder.path), sockets: new ListeningSockets() },
      ...more,
    }
    const aggregated = this.#stage.add(new AggregatedAdmin(options, timer.every))
    await deadline(aggregated.open(), WAIT_MS, 'the aggregated admin interface')
    const [admin, stats, readiness] = Object.values(ports).map(senderTo) as [
      SendRequest,
      SendRequest,
      SendRequest,
    ]
    return { aggregated, admin, stats, readiness, port: ports.admin, log, timer }
  }

  #endpointsOf(slot: number, epoch: number): WorkerEndpoints {
    const at = (what: string): string => this.#folder.at(`${slot}.${epoch}.${what}`)
    return { slot, epoch, pid: process.pid, admin: at('admin'), stats: at('stats') }
  }
}

export interface AdminClients {
  readonly aggregated: AggregatedAdmin
  readonly admin: SendRequest
  readonly stats: SendRequest
  readonly readiness: SendRequest
  /** The port of the admin interface. */
  readonly port: number
  readonly log: LogRecorder
  readonly timer: HandTimer
}

/** The aggregated admin interface of these workers, all of them ready. */
export async function startAggregatedAdmin(
  workerStage: WorkerStage,
  ...workers: Worker[]
): Promise<AdminClients> {
  const clients = await workerStage.aggregatedAdmin(() => workers[0]!.gateway.plan)
  for (const { endpoints } of workers) clients.aggregated.workerReady(endpoints)
  return clients
}

export interface TwoWorkers extends AdminClients {
  readonly workerStage: WorkerStage
  readonly one: Worker
  readonly two: Worker
}

/** Two workers with this configuration, and their aggregated admin interface. */
export async function startTwoWorkers(stage: Stage, text: string): Promise<TwoWorkers> {
  const workerStage = new WorkerStage(stage, text)
  const one = await workerStage.worker(1)
  const two = await workerStage.worker(2)
  return { workerStage, one, two, ...(await startAggregatedAdmin(workerStage, one, two)) }
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve) => server.listen({ path }, resolve))
}
