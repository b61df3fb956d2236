// A response body that is decompressed before it is forwarded, for a provider that compresses although it was not asked to: only
// then the usage chunk can be found and removed.

import type { Transform } from 'node:stream'
import type { HeaderFields, ResponseHead } from '../../../core/head.ts'
import type { Body, BodyForm, Outcome, Sink } from '../../../core/types.ts'
import { contentCodingOf, decoderFor } from './watch-compressed.ts'
import type { DecoderFactory } from './watch-compressed.ts'

/** Returns the decoded body and removes the coding from the head; a body in an unknown coding is returned as it is. */
export function decodeContent(head: ResponseHead, body: Body): Body {
  const coding = contentCodingOf(head)
  const createDecoder = coding === 'identity' ? null : decoderFor(coding)
  if (createDecoder === null) return body
  head.remove('content-encoding')
  return new DecodedBody(body, createDecoder)
}

/** `ending`: the decoder has all input. */
type DecodedBodyState = 'open' | 'ending' | 'over'

class DecodedBody implements Body, Sink {
  readonly framing = 'open'
  readonly length = -1
  readonly #source: Body
  readonly #createDecoder: DecoderFactory
  #decoder: Transform | null = null
  #state: DecodedBodyState = 'open'
  #sink!: Sink
  /** How the source ended. */
  #outcome: Outcome = 'complete'
  #trailers: HeaderFields | null = null

  constructor(source: Body, createDecoder: DecoderFactory) {
    this.#source = source
    this.#createDecoder = createDecoder
  }

  start(sink: Sink, _form: BodyForm): void {
    this.#sink = sink
    this.#source.start(this, 'content')
  }

  pause(): void {
    this.#decoder?.pause()
  }

  resume(): void {
    this.#decoder?.resume()
  }

  cancel(): void {
    const isSourceOpen = this.#state === 'open'
    this.#close()
    if (isSourceOpen) this.#source.cancel()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state !== 'open' || from === to) return true
    // The decoder reads later, when the shared buffer has other bytes.
    const copy = Buffer.from(bytes.subarray(from, to))
    this.#decoder ??= this.#startDecoder(copy)
    return this.#decoder.write(copy)
  }

  end(trailers: HeaderFields | null): void {
    this.#trailers = trailers
    this.#endInput('complete')
  }

  /** What was decoded until then is forwarded first. */
  cut(outcome: Outcome): void {
    this.#endInput(outcome)
  }

  #endInput(outcome: Outcome): void {
    if (this.#state !== 'open') return
    this.#state = 'ending'
    this.#outcome = outcome
    if (this.#decoder === null) this.#finish()
    else this.#decoder.end()
  }

  #startDecoder(first: Buffer): Transform {
    const decoder = this.#createDecoder(first)
    decoder.on('data', (decoded: Buffer) => {
      if (this.#state === 'over') return
      if (!this.#sink.write(decoded, 0, decoded.length)) decoder.pause()
    })
    decoder.on('drain', () => {
      if (this.#state === 'open') this.#source.resume()
    })
    decoder.on('end', () => this.#finish())
    decoder.on('error', () => this.#fail())
    return decoder
  }

  #finish(): void {
    if (this.#state === 'over') return
    this.#close()
    if (this.#outcome === 'complete') this.#sink.end(this.#trailers)
    else this.#sink.cut(this.#outcome)
  }

  /** The bytes are not in the coding that the head names. */
  #fail(): void {
    if (this.#state === 'over') return
    this.cancel()
    this.#sink.cut('backend_reset')
  }

  #close(): void {
    this.#state = 'over'
    this.#decoder?.destroy()
  }
}
