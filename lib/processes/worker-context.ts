// What a worker process gets from the supervisor that started it.

import type { SendHandle } from 'node:child_process'
import { ProcessLink } from '../core/process-link.ts'
import { workerNameOf } from '../core/session-owner.ts'
import { ListeningSockets } from '../core/listening-sockets.ts'
import { CHILD_STARTED_MESSAGE, CHILD_ENDED_MESSAGE } from './worker-messages.ts'
import type { WorkerEndpoints, WorkerId } from './worker-messages.ts'

/** Environment variable; deleted at once, so no child process inherits it. */
export const WORKER_VARIABLE = 'GATEWAY_WORKER'

/** The identity of a worker, and its connections to the supervisor. */
export interface WorkerContext extends WorkerId {
  /** The private folder of this gateway's processes. */
  readonly folder: string
  /** The sockets of this worker in that folder. */
  readonly sockets: ListeningSockets
  /** The link to the supervisor. */
  readonly link: ProcessLink
  /** Reports child processes to the supervisor. */
  readonly childObserver: { began(pid: number): void; over(pid: number): void }
}

/** Null in a process that no supervisor started. */
export function readWorkerContext(env = process.env): WorkerContext | null {
  const text = env[WORKER_VARIABLE]
  delete env[WORKER_VARIABLE]
  if (text === undefined || process.send === undefined) return null
  const { slot, epoch, folder } = JSON.parse(text) as WorkerId & { folder: string }
  const link = new ProcessLink((message, handle) => {
    // A lost supervisor is reported by the event `disconnect`.
    if (process.connected) process.send?.(message, handle, {}, () => {})
  })
  process.on('message', (message, handle) =>
    link.receive(message, handle as SendHandle | undefined),
  )
  process.once('disconnect', () => link.close())
  const childObserver = {
    began: (pid: number) => link.notify(CHILD_STARTED_MESSAGE, pid),
    over: (pid: number) => link.notify(CHILD_ENDED_MESSAGE, pid),
  }
  return { slot, epoch, folder, sockets: new ListeningSockets(), link, childObserver }
}

/** The private sockets on which the supervisor reads admin data and statistics of a worker. */
export function workerSocketsOf(
  id: WorkerId,
  folder: string,
): Pick<WorkerEndpoints, 'admin' | 'stats'> {
  const path = `${folder}/${workerNameOf(id)}`
  return { admin: `${path}.admin`, stats: `${path}.stats` }
}

/** The private socket on which the supervisor serves the aggregated page to its workers. */
export function supervisorSocketIn(folder: string): string {
  return `${folder}/front`
}
