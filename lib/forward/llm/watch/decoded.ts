// Watches a compressed answer: copies of its bytes go through a decoder, and what comes out is watched. The decoder works
// beside the stream, so it is done a little later; one that falls behind or swells is given up.

import type { Transform } from 'node:stream'
import { tellFault } from '../../../base/tell-fault.ts'
import type { Outcome } from '../../../base/types.ts'
import type { Seen } from '../types.ts'
import type { MakeDecoder } from './decoder.ts'
import type { Watch } from './watch.ts'

/** Bytes that wait for the decoder. */
export const MAX_UNDECODED_BYTES = 1_048_576

/** What comes out of it, all together. */
export const MAX_DECODED_BYTES = 67_108_864

/** How many bytes may come of one; words never reach that. Asked only above a size that harms nobody. */
const MAX_EXPANSION = 256
export const FREE_EXPANSION_BYTES = 1_048_576

/** How long the end of an answer waits for what the decoder still has to say, in ms. */
const DECODER_DEADLINE = 2_000

/** `ending`: all has been given to the decoder. */
type State = 'open' | 'ending' | 'over'

export class DecodedWatch implements Watch {
  readonly #watch: Watch
  readonly #make: MakeDecoder
  readonly #patience: number
  #decoder: Transform | null = null
  #state: State = 'open'
  #bytesIn = 0
  #bytesOut = 0
  #outcome: Outcome = 'complete'
  #callbacks: (() => void)[] = []
  #timer: NodeJS.Timeout | null = null

  constructor(watch: Watch, make: MakeDecoder, patience = DECODER_DEADLINE) {
    this.#watch = watch
    this.#make = make
    this.#patience = patience
  }

  get seen(): Seen {
    return this.#watch.seen
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    if (this.#state !== 'open' || from === to) return
    const copy = Buffer.from(bytes.subarray(from, to))
    this.#bytesIn += copy.length
    this.#decoder ??= this.#open(copy)
    this.#decoder.write(copy)
    if (this.#decoder.writableLength > MAX_UNDECODED_BYTES) this.#giveUp()
  }

  end(outcome: Outcome): void {
    if (this.#state !== 'open') return
    this.#outcome = outcome
    if (this.#decoder === null) return this.#finish(outcome)
    this.#state = 'ending'
    this.#timer = setTimeout(() => this.#giveUp(), this.#patience)
    this.#decoder.end()
  }

  whenDone(callback: () => void): void {
    if (this.#state === 'over') callback()
    else this.#callbacks.push(callback)
  }

  #open(first: Buffer): Transform {
    const decoder = this.#make(first)
    decoder.on('data', (decoded: Buffer) => this.#decoded(decoded))
    decoder.on('end', () => this.#finish(this.#outcome))
    decoder.on('error', () => this.#giveUp())
    return decoder
  }

  #decoded(bytes: Buffer): void {
    if (this.#state === 'over') return
    this.#bytesOut += bytes.length
    const isBomb =
      this.#bytesOut > FREE_EXPANSION_BYTES && this.#bytesOut > this.#bytesIn * MAX_EXPANSION
    if (isBomb || this.#bytesOut > MAX_DECODED_BYTES) return this.#giveUp()
    try {
      this.#watch.chunk(bytes, 0, bytes.length)
    } catch (error) {
      this.#giveUp()
      tellFault(error)
    }
  }

  /** What was read until now counts, but not as an answer that was seen to its end. */
  #giveUp(): void {
    this.#finish('backend_reset')
  }

  #finish(outcome: Outcome): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#decoder?.destroy()
    this.#watch.end(outcome)
    for (const callback of this.#callbacks.splice(0)) callback()
  }
}
