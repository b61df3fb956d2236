// Connections on their way from the worker that accepted them to the one that has their session: only the supervisor has a
// channel to both.

import type { SendHandle } from 'node:child_process'
import { every } from '../base/every.ts'
import type { Every } from '../base/every.ts'
import { GIVE, GIVEN, JOIN, LEAVE, PEERS, TAKE, TAKEN } from '../base/processes/giving.ts'
import type { Given } from '../base/processes/giving.ts'
import type { Link } from '../base/processes/link.ts'
import { workerName } from '../base/processes/session-mark.ts'
import { closeHandle } from '../base/wire/handle.ts'
import type { WorkerService } from './supervisor.ts'
import type { WorkerId } from './types.ts'

/** Workers bound what they give; this is for all of them together, and one more is closed. */
const MAX_UNDER_WAY = 16_384

/** One that is still not taken was lost on its way, for want of file descriptors mostly, or the worker stands still. */
const TAKE_MS = 30_000

const SWEEP_MS = 1_000

interface UnderWay {
  readonly handle: SendHandle
  readonly from: Link
  /** As the giver counts. */
  readonly number: number
  readonly to: Link
  readonly until: number
}

export class PassingOn implements WorkerService {
  readonly #links = new Map<string, Link>()
  /** Those that can be given something, by name. */
  readonly #workers = new Map<string, Link>()
  readonly #underWay = new Map<number, UnderWay>()
  readonly #every: Every
  readonly #now: () => number
  #last = 0
  #stopSweeping: (() => void) | null = null

  constructor(timer: Every = every, now = () => performance.now()) {
    this.#every = timer
    this.#now = now
  }

  born(id: WorkerId, link: Link): void {
    this.#links.set(workerName(id), link)
    link.on(JOIN, () => {
      this.#workers.set(workerName(id), link)
      this.#tellPeers()
    })
    link.on(LEAVE, () => this.#forget(id))
    link.on(GIVE, (body, handle) => {
      if (handle !== undefined) this.#pass(link, body as Given, handle)
    })
    link.on(TAKEN, (number) => this.#end(Number(number)))
  }

  gone(id: WorkerId): void {
    this.#forget(id)
    const link = this.#links.get(workerName(id))
    this.#links.delete(workerName(id))
    // What it had not taken has nobody to go to: its session is gone.
    for (const [number, { to }] of this.#underWay) if (to === link) this.#end(number)
  }

  #forget(id: WorkerId): void {
    if (this.#workers.delete(workerName(id))) this.#tellPeers()
  }

  /** Back to its giver if the worker is gone: there it is served as what it is, a request of an unknown session. */
  #pass(from: Link, given: Given, handle: SendHandle): void {
    const to = this.#workers.get(given.to) ?? from
    const number = ++this.#last
    const until = this.#now() + TAKE_MS
    this.#underWay.set(number, { handle, from, number: given.number, to, until })
    if (this.#underWay.size > MAX_UNDER_WAY) return this.#end(number)
    this.#stopSweeping ??= this.#every(SWEEP_MS, () => this.#sweep())
    to.tell(TAKE, { ...given, number }, handle)
  }

  /** The other process has it, or never will: until now each kept its own end of it open. */
  #end(number: number): void {
    const under = this.#underWay.get(number)
    if (under === undefined) return
    this.#underWay.delete(number)
    closeHandle(under.handle)
    under.from.tell(GIVEN, under.number)
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
    for (const link of this.#workers.values()) link.tell(PEERS, names)
  }
}
