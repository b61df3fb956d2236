// Watches a compressed answer: copies of its bytes go through a decoder, and what comes out is watched. The decoder works
// beside the stream, so it is done a little later; one that falls behind or swells is given up.

import zlib from 'node:zlib'
import type { Transform } from 'node:stream'
import type { Outcome } from '../../../core/types.ts'
import { throwInMicrotask } from '../../../http/tapped-body.ts'
import type { ObservedUsage } from '../llm-call-types.ts'
import type { ResponseWatch } from './response-watch.ts'

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
type CompressedWatchState = 'open' | 'ending' | 'over'

export class CompressedWatch implements ResponseWatch {
  readonly #watch: ResponseWatch
  readonly #createDecoder: DecoderFactory
  readonly #deadlineMs: number
  #decoder: Transform | null = null
  #state: CompressedWatchState = 'open'
  #bytesIn = 0
  #bytesOut = 0
  #outcome: Outcome = 'complete'
  #callbacks: (() => void)[] = []
  #timer: NodeJS.Timeout | null = null

  constructor(watch: ResponseWatch, make: DecoderFactory, patience = DECODER_DEADLINE) {
    this.#watch = watch
    this.#createDecoder = make
    this.#deadlineMs = patience
  }

  get observed(): ObservedUsage {
    return this.#watch.observed
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
    this.#timer = setTimeout(() => this.#giveUp(), this.#deadlineMs)
    this.#decoder.end()
  }

  whenDone(callback: () => void): void {
    if (this.#state === 'over') callback()
    else this.#callbacks.push(callback)
  }

  #open(first: Buffer): Transform {
    const decoder = this.#createDecoder(first)
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
      throwInMicrotask(error)
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

// Decoders for what an answer may be compressed with.

/** Made when the first bytes are there, for with `deflate` they decide. */
type DecoderFactory = (first: Buffer) => Transform

// What is cut short is decoded as far as it goes, and everything that has come is handed on at once.
const DEFLATE = {
  flush: zlib.constants.Z_SYNC_FLUSH,
  finishFlush: zlib.constants.Z_SYNC_FLUSH,
}
const BROTLI = {
  flush: zlib.constants.BROTLI_OPERATION_FLUSH,
  finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
}

/** Low bits of a zlib header's first byte. Servers that leave the header out are as old as the coding. */
const ZLIB_METHOD = 8
const METHOD_BITS = 0x0f

// Node has it since 22.15; the types are of 20.
const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform }

const DECODERS: Readonly<Record<string, DecoderFactory>> = {
  gzip: () => zlib.createGunzip(DEFLATE),
  'x-gzip': () => zlib.createGunzip(DEFLATE),
  deflate: (first) =>
    (first[0]! & METHOD_BITS) === ZLIB_METHOD
      ? zlib.createInflate(DEFLATE)
      : zlib.createInflateRaw(DEFLATE),
  br: () => zlib.createBrotliDecompress(BROTLI),
  ...(createZstdDecompress === undefined ? {} : { zstd: () => createZstdDecompress() }),
}

/** null for a coding that is not known here. */
export function decoderFor(coding: string): DecoderFactory | null {
  return Object.hasOwn(DECODERS, coding) ? DECODERS[coding]! : null
}
