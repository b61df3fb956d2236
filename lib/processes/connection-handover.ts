// Passes connections from the worker that accepted them to the worker that has their session. They go through the
// supervisor, which alone has a channel to both.

import type { SendHandle } from 'node:child_process'
import { startInterval } from '../core/scheduling.ts'
import type { StartInterval } from '../core/scheduling.ts'
import {
  HANDOVER_OFFER,
  HANDOVER_DONE,
  HANDOVER_JOIN,
  HANDOVER_LEAVE,
  HANDOVER_PEERS,
  HANDOVER_DELIVER,
  HANDOVER_ACCEPTED,
} from './worker-messages.ts'
import type { HandoverMessage, WorkerId } from './worker-messages.ts'
import type { ProcessLink } from '../core/process-link.ts'
import { workerNameOf } from '../core/session-owner.ts'
import { closeHandle } from '../core/socket-handle.ts'
import type { WorkerService } from './supervisor.ts'

/** Each worker limits what it offers; this limits the sum over all workers. A connection beyond it is closed. */
const MAX_IN_TRANSIT = 16_384

/** After this time a connection counts as lost: file descriptors ran out, or the receiving worker hangs. */
const ACCEPT_TIMEOUT_MS = 30_000

const SWEEP_MS = 1_000

interface ConnectionInTransit {
  readonly handle: SendHandle
  readonly from: ProcessLink
  /** The number that the sending worker gave it. */
  readonly number: number
  readonly to: ProcessLink
  readonly deadline: number
}

export class WorkerConnectionHandover implements WorkerService {
  readonly #links = new Map<string, ProcessLink>()
  /** Workers that accept connections, by name. */
  readonly #workers = new Map<string, ProcessLink>()
  readonly #inTransit = new Map<number, ConnectionInTransit>()
  readonly #startInterval: StartInterval
  readonly #now: () => number
  #lastNumber = 0
  #stopSweeping: (() => void) | null = null

  constructor(timer: StartInterval = startInterval, now = () => performance.now()) {
    this.#startInterval = timer
    this.#now = now
  }

  workerStarted(id: WorkerId, link: ProcessLink): void {
    this.#links.set(workerNameOf(id), link)
    link.on(HANDOVER_JOIN, () => {
      this.#workers.set(workerNameOf(id), link)
      this.#sendPeerNames()
    })
    link.on(HANDOVER_LEAVE, () => this.#removeWorker(id))
    link.on(HANDOVER_OFFER, (body, handle) => {
      if (handle !== undefined) this.#forward(link, body as HandoverMessage, handle)
    })
    link.on(HANDOVER_ACCEPTED, (number) => this.#end(Number(number)))
  }

  workerGone(id: WorkerId): void {
    this.#removeWorker(id)
    const link = this.#links.get(workerNameOf(id))
    this.#links.delete(workerNameOf(id))
    // Connections that the worker had not accepted are closed: their session is gone.
    for (const [number, { to }] of this.#inTransit) if (to === link) this.#end(number)
  }

  #removeWorker(id: WorkerId): void {
    if (this.#workers.delete(workerNameOf(id))) this.#sendPeerNames()
  }

  /** Returns the connection to its sender if the target is gone: the sender answers that the session is unknown. */
  #forward(from: ProcessLink, message: HandoverMessage, handle: SendHandle): void {
    const to = this.#workers.get(message.to) ?? from
    const number = ++this.#lastNumber
    const deadline = this.#now() + ACCEPT_TIMEOUT_MS
    this.#inTransit.set(number, { handle, from, number: message.number, to, deadline })
    if (this.#inTransit.size > MAX_IN_TRANSIT) return this.#end(number)
    this.#stopSweeping ??= this.#startInterval(SWEEP_MS, () => this.#sweep())
    to.notify(HANDOVER_DELIVER, { ...message, number }, handle)
  }

  /** Closes this process's copy: the receiver has the connection, or will never get it. */
  #end(number: number): void {
    const connection = this.#inTransit.get(number)
    if (connection === undefined) return
    this.#inTransit.delete(number)
    closeHandle(connection.handle)
    connection.from.notify(HANDOVER_DONE, connection.number)
  }

  #sweep(): void {
    const now = this.#now()
    for (const [number, { deadline }] of this.#inTransit) {
      if (deadline > now) break
      this.#end(number)
    }
    if (this.#inTransit.size > 0) return
    this.#stopSweeping?.()
    this.#stopSweeping = null
  }

  #sendPeerNames(): void {
    const names = [...this.#workers.keys()]
    for (const link of this.#workers.values()) link.notify(HANDOVER_PEERS, names)
  }
}
