// What a process that was started as a worker is told by the one that started it.

import type { SendHandle } from 'node:child_process'
import { Link } from '../base/processes/link.ts'
import { workerName } from '../base/processes/session-mark.ts'
import { Sockets } from '../base/processes/sockets.ts'
import { CHILD, CHILDLESS } from './messages.ts'
import type { WorkerDoor, WorkerId } from './types.ts'

/** A variable of the environment; taken out of it before anybody else could be given it. */
export const SEAT_VARIABLE = 'GATEWAY_WORKER'

/** A worker's place among the others. */
export interface WorkerSeat extends WorkerId {
  /** Private to this gateway's processes. */
  readonly folder: string
  /** In there. */
  readonly sockets: Sockets
  /** To the supervisor. */
  readonly link: Link
  /** Tells the supervisor of child processes. */
  readonly witness: { began(pid: number): void; over(pid: number): void }
}

/** Null in a process that somebody else started. */
export function takeSeat(env = process.env): WorkerSeat | null {
  const text = env[SEAT_VARIABLE]
  delete env[SEAT_VARIABLE]
  if (text === undefined || process.send === undefined) return null
  const { slot, epoch, folder } = JSON.parse(text) as WorkerId & { folder: string }
  const link = new Link((message, handle) => {
    // Whoever is gone is told of by `disconnect`.
    if (process.connected) process.send?.(message, handle, {}, () => {})
  })
  process.on('message', (message, handle) => link.hear(message, handle as SendHandle | undefined))
  process.once('disconnect', () => link.close())
  const witness = {
    began: (pid: number) => link.tell(CHILD, pid),
    over: (pid: number) => link.tell(CHILDLESS, pid),
  }
  return { slot, epoch, folder, sockets: new Sockets(), link, witness }
}

/** Where a worker is asked what one process would be asked; nobody but its supervisor can. */
export function doorOf(id: WorkerId, folder: string): Pick<WorkerDoor, 'admin' | 'stats'> {
  const path = `${folder}/${workerName(id)}`
  return { admin: `${path}.admin`, stats: `${path}.stats` }
}

/** Where the supervisor answers for all workers, to each of them. */
export function frontSocket(folder: string): string {
  return `${folder}/front`
}
