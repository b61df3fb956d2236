// What a target needs of its session, and what it tells it.

import type { Trace } from '../../../base/trace/events.ts'
import type { Message } from '../message.ts'
import type { Link, LinkOwner, SentFields } from '../types.ts'
import type { Target } from './target.ts'

export interface TargetOwner {
  /** The session, for the log. */
  readonly label: string
  /** The client's `initialize`, with which every start begins. */
  greeting(): Message
  readonly startTimeout: number
  /** What a remote target hears of the client's latest request. */
  fields(): SentFields
  /** A number that is no other request's in the session. */
  nextNumber(): number
  /** Opens a connection; a text says why there is none. */
  open(name: string, owner: LinkOwner): Link | string
  /** What a target says unasked. `number` is the request it came with, or 0. */
  heard(target: Target, message: Message, number: number): void
  /** It answered `initialize` after it had been gone; `trace` is that of the request that needed it. */
  cameBack(target: Target, trace: Trace | null): void
  /** `whose` doing that is: a client that a target turns away says nothing about the target. */
  wentDown(target: Target, reason: string, whose: 'client' | 'target'): void
  /** It said something. */
  isThere(target: Target): void
  /** Something went wrong that should not. */
  broke(error: unknown): void
}
