// The channels of one session: one for each POST and the stand-alone one, with their readers.

import type { ByteBudget } from '../../../core/byte-budgets.ts'
import type { Attempt } from '../../../core/types.ts'
import { RESUME_GRACE_MS } from '../mcp-bounds.ts'
import { ClientChannel, EventHistory, STANDALONE_CHANNEL } from './channel.ts'
import type { ClientChannelOwner } from './channel.ts'

export interface ClientChannelsOwner {
  readonly supportsPriming: boolean
  /** Whether a client whose stream broke may resume it. */
  readonly allowsResume: boolean
  /** The client left and will not resume this channel. */
  channelAbandoned(channel: ClientChannel): void
  /** The client closed its stand-alone stream. */
  standaloneReaderLeft(): void
  /** At least one reader is too slow. */
  readersTooSlow(): void
  /** No reader is too slow any more. */
  readersCaughtUp(): void
}

export class ClientChannels implements ClientChannelOwner {
  readonly history: EventHistory
  readonly standalone: ClientChannel = new ClientChannel(STANDALONE_CHANNEL, this)
  readonly #owner: ClientChannelsOwner
  readonly #open = new Map<number, ClientChannel>()
  /** Channels whose client left and may return, with the time it left. */
  readonly #unreadSince = new Map<ClientChannel, number>()
  readonly #slow = new Set<ClientChannel>()
  #lastNumber = STANDALONE_CHANNEL

  constructor(owner: ClientChannelsOwner, histories: ByteBudget) {
    this.#owner = owner
    this.history = new EventHistory(histories)
    this.standalone.whenSlow = 'cut'
  }

  get supportsPriming(): boolean {
    return this.#owner.supportsPriming
  }

  get counts(): Readonly<Record<'channels' | 'unread' | 'slow', number>> {
    return { channels: this.#open.size, unread: this.#unreadSince.size, slow: this.#slow.size }
  }

  /** Opens a channel for a POST; the response head waits at most `headDelay` for the first message. */
  open(attempt: Attempt, headDelay: number): ClientChannel {
    const channel = new ClientChannel(++this.#lastNumber, this)
    this.#open.set(channel.number, channel)
    channel.awaitFirstMessage(attempt, headDelay)
    return channel
  }

  find(number: number): ClientChannel | undefined {
    return number === STANDALONE_CHANNEL ? this.standalone : this.#open.get(number)
  }

  readerReturned(channel: ClientChannel): void {
    this.#unreadSince.delete(channel)
  }

  /** Sends the last message of a channel and closes it. */
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
    // The client cannot resume: it has no event id to send, or no session.
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
