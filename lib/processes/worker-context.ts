// What a process that was started as a worker is told by the one that started it.

import type { SendHandle } from 'node:child_process'
import { ProcessLink } from '../core/process-link.ts'
import { workerNameOf } from '../core/session-owner.ts'
import { ListeningSockets } from '../core/listening-sockets.ts'
import { CHILD_STARTED_MESSAGE, CHILD_ENDED_MESSAGE } from './worker-messages.ts'
import type { WorkerEndpoints, WorkerId } from './worker-messages.ts'

/** A variable of the environment; taken out of it before anybody else could be given it. */
export const WORKER_VARIABLE = 'GATEWAY_WORKER'

/** A worker's place among the others. */
export interface WorkerContext extends WorkerId {
  /** Private to this gateway's processes. */
  readonly folder: string
  /** In there. */
  readonly sockets: ListeningSockets
  /** To the supervisor. */
  readonly link: ProcessLink
  /** Tells the supervisor of child processes. */
  readonly childObserver: { began(pid: number): void; over(pid: number): void }
}

/** Null in a process that somebody else started. */
export function readWorkerContext(env = process.env): WorkerContext | null {
  const text = env[WORKER_VARIABLE]
  delete env[WORKER_VARIABLE]
  if (text === undefined || process.send === undefined) return null
  const { slot, epoch, folder } = JSON.parse(text) as WorkerId & { folder: string }
  const link = new ProcessLink((message, handle) => {
    // Whoever is gone is told of by `disconnect`.
    if (process.connected) process.send?.(message, handle, {}, () => {})
  })
  process.on('message', (message, handle) =>
    link.receive(message, handle as SendHandle | undefined),
  )
  process.once('disconnect', () => link.close())
  const witness = {
    began: (pid: number) => link.notify(CHILD_STARTED_MESSAGE, pid),
    over: (pid: number) => link.notify(CHILD_ENDED_MESSAGE, pid),
  }
  return { slot, epoch, folder, sockets: new ListeningSockets(), link, childObserver: witness }
}

/** Where a worker is asked what one process would be asked; nobody but its supervisor can. */
export function workerSocketsOf(
  id: WorkerId,
  folder: string,
): Pick<WorkerEndpoints, 'admin' | 'stats'> {
  const path = `${folder}/${workerNameOf(id)}`
  return { admin: `${path}.admin`, stats: `${path}.stats` }
}

/** Where the supervisor answers for all workers, to each of them. */
export function supervisorSocketIn(folder: string): string {
  return `${folder}/front`
}
