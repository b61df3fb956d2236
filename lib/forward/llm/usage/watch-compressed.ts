// Watches a compressed response: a copy of its bytes is decompressed in parallel with the stream, and another watch reads the
// result a little later. Decoding stops if it is too slow or its output grows too large.

import zlib from 'node:zlib'
import type { Transform } from 'node:stream'
import type { ResponseHead } from '../../../core/head.ts'
import type { Outcome } from '../../../core/types.ts'
import { throwInMicrotask } from '../../../http/tapped-body.ts'
import type { ObservedUsage } from '../llm-call-types.ts'
import type { ResponseWatch } from './response-watch.ts'

/** Bytes that wait for the decoder. */
export const MAX_UNDECODED_BYTES = 1_048_576

/** The total output of the decoder. */
export const MAX_DECODED_BYTES = 67_108_864

/** Output bytes for each input byte, which text never reaches; checked only above a harmless output size. */
const MAX_EXPANSION = 256
export const FREE_EXPANSION_BYTES = 1_048_576

/** How long the end of a response waits for the decoder, in ms. */
const DECODER_DEADLINE = 2_000

/** `ending`: the decoder has all input. */
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

  constructor(watch: ResponseWatch, createDecoder: DecoderFactory, deadlineMs = DECODER_DEADLINE) {
    this.#watch = watch
    this.#createDecoder = createDecoder
    this.#deadlineMs = deadlineMs
  }

  get observed(): ObservedUsage {
    return this.#watch.observed
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    if (this.#state !== 'open' || from === to) return
    const copy = Buffer.from(bytes.subarray(from, to))
    this.#bytesIn += copy.length
    this.#decoder ??= this.#startDecoder(copy)
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

  #startDecoder(first: Buffer): Transform {
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

  /** What was read so far counts, but as a truncated response. */
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

/** Gets the first bytes, which decide the variant of `deflate`. */
export type DecoderFactory = (first: Buffer) => Transform

// A truncated response is decoded as far as possible, and all decoded bytes are emitted at once.
const DEFLATE = {
  flush: zlib.constants.Z_SYNC_FLUSH,
  finishFlush: zlib.constants.Z_SYNC_FLUSH,
}
const BROTLI = {
  flush: zlib.constants.BROTLI_OPERATION_FLUSH,
  finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
}

/** The low bits of the first byte of a zlib header. Some servers send `deflate` without this header. */
const ZLIB_METHOD = 8
const METHOD_BITS = 0x0f

// Node has zstd since 22.15; the type definitions are those of Node 20.
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

/** null for an unknown coding. */
export function decoderFor(coding: string): DecoderFactory | null {
  return Object.hasOwn(DECODERS, coding) ? DECODERS[coding]! : null
}

/** An `accept-encoding` with nothing but codings that can be decoded. */
const DECODABLE = new RegExp(
  `^(?:\\s*(?:identity|${Object.keys(DECODERS).join('|')})\\s*(?:;[^,]*)?(?:,|$))*$`,
  'i',
)

/** Removes the codings from an `accept-encoding` that could not be counted; '' if none is left. */
export function keepDecodableCodings(accepted: string): string {
  if (DECODABLE.test(accepted)) return accepted
  const parts = accepted.split(',').map((part) => part.trim())
  return parts.filter((part) => part !== '' && DECODABLE.test(part)).join(', ')
}

/** The coding of a response; `several` for nested codings, which have no decoder. */
export function contentCodingOf(head: ResponseHead): string {
  const fields = head.getAll('content-encoding')
  if (fields.length === 0) return 'identity'
  const parts = fields.join(',').toLowerCase().split(',')
  const codings = parts.map((part) => part.trim()).filter((part) => part !== '')
  return codings.length > 1 ? 'several' : (codings[0] ?? 'identity')
}
