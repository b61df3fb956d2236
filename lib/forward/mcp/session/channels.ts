// The channels of one session: those of its calls and the one that stands alone, who reads them, and how well.

import type { ByteBudget } from '../../../core/byte-budgets.ts'
import type { Attempt } from '../../../core/types.ts'
import { RESUME_GRACE_MS } from '../mcp-bounds.ts'
import { ClientChannel, EventHistory, STANDALONE_CHANNEL } from './channel.ts'
import type { ClientChannelOwner } from './channel.ts'

export interface ClientChannelsOwner {
  readonly supportsPriming: boolean
  /** Whether a client whose stream broke may come back. */
  readonly allowsResume: boolean
  /** Nobody waits for what this channel would bring any more. */
  channelAbandoned(channel: ClientChannel): void
  /** The client closed its stand-alone stream. */
  standaloneReaderLeft(): void
  /** Some reader is too slow for what is sent; all of them have caught up. */
  readersTooSlow(): void
  readersCaughtUp(): void
}

export class ClientChannels implements ClientChannelOwner {
  readonly history: EventHistory
  readonly standalone: ClientChannel = new ClientChannel(STANDALONE_CHANNEL, this)
  readonly #owner: ClientChannelsOwner
  readonly #open = new Map<number, ClientChannel>()
  /** Those whose client is gone and may come back, and when that was. */
  readonly #unreadSince = new Map<ClientChannel, number>()
  readonly #slow = new Set<ClientChannel>()
  #last = STANDALONE_CHANNEL

  constructor(owner: ClientChannelsOwner, histories: ByteBudget) {
    this.#owner = owner
    this.history = new EventHistory(histories)
    this.standalone.whenSlow = 'cut'
  }

  get supportsPriming(): boolean {
    return this.#owner.supportsPriming
  }

  get counts(): Readonly<Record<'channels' | 'parted' | 'pressed', number>> {
    return {
      channels: this.#open.size,
      parted: this.#unreadSince.size,
      pressed: this.#slow.size,
    }
  }

  /** A new one, whose first message this attempt waits for. */
  open(attempt: Attempt, patience: number): ClientChannel {
    const channel = new ClientChannel(++this.#last, this)
    this.#open.set(channel.number, channel)
    channel.awaitFirstMessage(attempt, patience)
    return channel
  }

  find(number: number): ClientChannel | undefined {
    return number === STANDALONE_CHANNEL ? this.standalone : this.#open.get(number)
  }

  /** Its client is back. */
  readerReturned(channel: ClientChannel): void {
    this.#unreadSince.delete(channel)
  }

  /** Its last message leaves. */
  finish(channel: ClientChannel, message: Buffer | null): void {
    this.#open.delete(channel.number)
    this.#unreadSince.delete(channel)
    channel.finish(message)
  }

  sweep(now: number, silence: number): void {
    this.standalone.sweep(now, silence)
    for (const channel of this.#open.values()) channel.sweep(now, silence)
    for (const [channel, since] of this.#unreadSince)
      if (now - since > RESUME_GRACE_MS) this.#abandon(channel)
  }

  readerLeft(channel: ClientChannel): void {
    if (channel === this.standalone) this.#owner.standaloneReaderLeft()
    else if (channel.isResumable && this.#owner.allowsResume)
      this.#unreadSince.set(channel, performance.now())
    // Nobody can come back: there is no event to name, or no session.
    else this.#abandon(channel)
  }

  readerTooSlow(channel: ClientChannel): void {
    this.#slow.add(channel)
    this.#owner.readersTooSlow()
  }

  readerCaughtUp(channel: ClientChannel): void {
    if (this.#slow.delete(channel) && this.#slow.size === 0) this.#owner.readersCaughtUp()
  }

  #abandon(channel: ClientChannel): void {
    this.#unreadSince.delete(channel)
    this.#owner.channelAbandoned(channel)
  }
}
