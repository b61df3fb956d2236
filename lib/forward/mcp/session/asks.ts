// Requests of targets to the client (sampling, elicitation, roots, ping): each gets a number of the session's, so that
// ids of several targets never meet, and the client's answer finds its way back.

import { MAX_ASKS } from '../bounds.ts'
import type { Channel } from './channel.ts'
import type { Target } from './target.ts'

export interface Ask {
  readonly target: Target
  /** The id as the target wrote it. */
  readonly idText: string
  readonly channel: Channel
}

export class Asks {
  readonly #open = new Map<number, Ask>()
  #last = 0

  /** The number it goes to the client under, or null when too many wait. */
  add(ask: Ask): number | null {
    if (this.#open.size >= MAX_ASKS) return null
    this.#open.set(++this.#last, ask)
    return this.#last
  }

  /** When there is no room for another: the oldest one that came with a call which is over, for good. */
  stale(): Ask | undefined {
    if (this.#open.size < MAX_ASKS) return undefined
    for (const [number, ask] of this.#open)
      if (ask.channel.state === 'over') {
        this.#open.delete(number)
        return ask
      }
    return undefined
  }

  /** What an answer of the client's belongs to; it is not open any more. */
  take(idText: string): Ask | undefined {
    const number = Number(idText)
    const ask = this.#open.get(number)
    this.#open.delete(number)
    return ask
  }

  /** A target takes its request back. */
  takeBack(target: Target, idText: string): { number: number; channel: Channel } | undefined {
    for (const [number, ask] of this.#open)
      if (ask.target === target && ask.idText === idText) {
        this.#open.delete(number)
        return { number, channel: ask.channel }
      }
    return undefined
  }

  /** A target is gone: nobody waits for the answers to these. */
  drop(target: Target): { number: number; channel: Channel }[] {
    const dropped: { number: number; channel: Channel }[] = []
    for (const [number, ask] of this.#open)
      if (ask.target === target && this.#open.delete(number))
        dropped.push({ number, channel: ask.channel })
    return dropped
  }
}
