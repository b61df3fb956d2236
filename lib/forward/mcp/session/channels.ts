// The channels of one session: those of its calls and the one that stands alone, who reads them, and how well.

import type { Budget } from '../../../base/bounds/budget.ts'
import type { Attempt } from '../../../base/types.ts'
import { RESUME_GRACE_MS } from '../bounds.ts'
import { ALONE, Channel } from './channel.ts'
import type { ChannelOwner } from './channel.ts'
import { History } from './history.ts'

export interface ChannelsOwner {
  readonly knowsPriming: boolean
  /** Whether a client whose stream broke may come back. */
  readonly isLasting: boolean
  /** Nobody waits for what this channel would bring any more. */
  abandoned(channel: Channel): void
  /** The client closed its stand-alone stream. */
  aloneLeft(): void
  /** Some reader is too slow for what is sent; all of them have caught up. */
  pressed(): void
  relieved(): void
}

export class Channels implements ChannelOwner {
  readonly history: History
  readonly alone: Channel = new Channel(ALONE, this)
  readonly #owner: ChannelsOwner
  readonly #open = new Map<number, Channel>()
  /** Those whose client is gone and may come back, and when that was. */
  readonly #parted = new Map<Channel, number>()
  readonly #pressed = new Set<Channel>()
  #last = ALONE

  constructor(owner: ChannelsOwner, histories: Budget) {
    this.#owner = owner
    this.history = new History(histories)
    this.alone.whenSlow = 'cut'
  }

  get knowsPriming(): boolean {
    return this.#owner.knowsPriming
  }

  get counts(): Readonly<Record<'channels' | 'parted' | 'pressed', number>> {
    return {
      channels: this.#open.size,
      parted: this.#parted.size,
      pressed: this.#pressed.size,
    }
  }

  /** A new one, whose first message this attempt waits for. */
  open(attempt: Attempt, patience: number): Channel {
    const channel = new Channel(++this.#last, this)
    this.#open.set(channel.number, channel)
    channel.await(attempt, patience)
    return channel
  }

  find(number: number): Channel | undefined {
    return number === ALONE ? this.alone : this.#open.get(number)
  }

  /** Its client is back. */
  rejoined(channel: Channel): void {
    this.#parted.delete(channel)
  }

  /** Its last message leaves. */
  finish(channel: Channel, message: Buffer | null): void {
    this.#open.delete(channel.number)
    this.#parted.delete(channel)
    channel.finish(message)
  }

  sweep(now: number, silence: number): void {
    this.alone.sweep(now, silence)
    for (const channel of this.#open.values()) channel.sweep(now, silence)
    for (const [channel, since] of this.#parted)
      if (now - since > RESUME_GRACE_MS) this.#abandon(channel)
  }

  parted(channel: Channel): void {
    if (channel === this.alone) this.#owner.aloneLeft()
    else if (channel.isResumable && this.#owner.isLasting)
      this.#parted.set(channel, performance.now())
    // Nobody can come back: there is no event to name, or no session.
    else this.#abandon(channel)
  }

  pressed(channel: Channel): void {
    this.#pressed.add(channel)
    this.#owner.pressed()
  }

  relieved(channel: Channel): void {
    if (this.#pressed.delete(channel) && this.#pressed.size === 0) this.#owner.relieved()
  }

  #abandon(channel: Channel): void {
    this.#parted.delete(channel)
    this.#owner.abandoned(channel)
  }
}
