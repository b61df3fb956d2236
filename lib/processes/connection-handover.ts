// Connections on their way from the worker that accepted them to the one that has their session: only the supervisor has a
// channel to both.

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

/** Workers bound what they give; this is for all of them together, and one more is closed. */
const MAX_UNDER_WAY = 16_384

/** One that is still not taken was lost on its way, for want of file descriptors mostly, or the worker stands still. */
const TAKE_MS = 30_000

const SWEEP_MS = 1_000

interface ConnectionInTransit {
  readonly handle: SendHandle
  readonly from: ProcessLink
  /** As the giver counts. */
  readonly number: number
  readonly to: ProcessLink
  readonly until: number
}

export class WorkerConnectionHandover implements WorkerService {
  readonly #links = new Map<string, ProcessLink>()
  /** Those that can be given something, by name. */
  readonly #workers = new Map<string, ProcessLink>()
  readonly #underWay = new Map<number, ConnectionInTransit>()
  readonly #every: StartInterval
  readonly #now: () => number
  #last = 0
  #stopSweeping: (() => void) | null = null

  constructor(timer: StartInterval = startInterval, now = () => performance.now()) {
    this.#every = timer
    this.#now = now
  }

  workerStarted(id: WorkerId, link: ProcessLink): void {
    this.#links.set(workerNameOf(id), link)
    link.on(HANDOVER_JOIN, () => {
      this.#workers.set(workerNameOf(id), link)
      this.#tellPeers()
    })
    link.on(HANDOVER_LEAVE, () => this.#forget(id))
    link.on(HANDOVER_OFFER, (body, handle) => {
      if (handle !== undefined) this.#pass(link, body as HandoverMessage, handle)
    })
    link.on(HANDOVER_ACCEPTED, (number) => this.#end(Number(number)))
  }

  workerGone(id: WorkerId): void {
    this.#forget(id)
    const link = this.#links.get(workerNameOf(id))
    this.#links.delete(workerNameOf(id))
    // What it had not taken has nobody to go to: its session is gone.
    for (const [number, { to }] of this.#underWay) if (to === link) this.#end(number)
  }

  #forget(id: WorkerId): void {
    if (this.#workers.delete(workerNameOf(id))) this.#tellPeers()
  }

  /** Back to its giver if the worker is gone: there it is served as what it is, a request of an unknown session. */
  #pass(from: ProcessLink, given: HandoverMessage, handle: SendHandle): void {
    const to = this.#workers.get(given.to) ?? from
    const number = ++this.#last
    const until = this.#now() + TAKE_MS
    this.#underWay.set(number, { handle, from, number: given.number, to, until })
    if (this.#underWay.size > MAX_UNDER_WAY) return this.#end(number)
    this.#stopSweeping ??= this.#every(SWEEP_MS, () => this.#sweep())
    to.notify(HANDOVER_DELIVER, { ...given, number }, handle)
  }

  /** The other process has it, or never will: until now each kept its own end of it open. */
  #end(number: number): void {
    const under = this.#underWay.get(number)
    if (under === undefined) return
    this.#underWay.delete(number)
    closeHandle(under.handle)
    under.from.notify(HANDOVER_DONE, under.number)
  }

  #sweep(): void {
    const now = this.#now()
    for (const [number, { until }] of this.#underWay) {
      if (until > now) break
      this.#end(number)
    }
    if (this.#underWay.size > 0) return
    this.#stopSweeping?.()
    this.#stopSweeping = null
  }

  #tellPeers(): void {
    const names = [...this.#workers.keys()]
    for (const link of this.#workers.values()) link.notify(HANDOVER_PEERS, names)
  }
}
