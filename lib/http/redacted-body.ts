// Hides the credentials that the gateway added to a request in the error response of a backend that repeats them. A
// compressed body is read to its end first, within a bound; if it contains no credential, its bytes stay unchanged.

import zlib from 'node:zlib'
import type { HeaderFields } from '../core/head.ts'
import { BytesBody } from '../core/replies.ts'
import type { Body, BodyForm, BodyFraming, Outcome, Reply, Sink } from '../core/types.ts'
import { ByteBuffer } from '../text/byte-buffer.ts'
import { encodeSecret } from '../text/known-secrets.ts'
import type { Secret } from '../text/secret.ts'
import { WholeBodyReader } from './read-whole-body.ts'

/** Bytes of a compressed error body, before and after it is decompressed. */
export const MAX_COMPRESSED_ERROR_BYTES = 1_048_576

const WITHHELD = Buffer.from(
  'the gateway withholds this error body: it cannot be searched for credentials\n',
)
const ASTERISK = 42

/** The texts that must not appear. */
class HiddenTexts {
  readonly #texts: readonly Buffer[]

  constructor(secrets: readonly Secret[]) {
    this.#texts = secrets
      .flatMap((secret) => encodeSecret(secret.reveal()))
      .map((form) => Buffer.from(form, 'latin1'))
  }

  /** Overwrites the texts that begin before `to`, so that the length stays the same; returns whether there are any. */
  hide(bytes: Buffer, to = bytes.length): boolean {
    const found = this.#texts.flatMap((text) => {
      const ranges: [number, number][] = []
      for (let at = bytes.indexOf(text); at >= 0 && at < to; at = bytes.indexOf(text, at + 1))
        ranges.push([at, at + text.length])
      return ranges
    })
    // Only after the search, since one text may be a part of another.
    for (const [from, end] of found) bytes.fill(ASTERISK, from, end)
    return found.length > 0
  }

  /** The offset from which the bytes may be the beginning of one of the texts. */
  findBeginning(bytes: Buffer): number {
    const starts = this.#texts.map((text) => {
      for (let at = Math.max(0, bytes.length - text.length + 1); at < bytes.length; at++)
        if (bytes.compare(text, 0, bytes.length - at, at) === 0) return at
      return bytes.length
    })
    return Math.min(bytes.length, ...starts)
  }
}

/** Returns the response without these secrets in its headers and its body. */
export function redactReply(reply: Reply, secrets: readonly Secret[]): Reply {
  const { head, body, tunnel } = reply
  const hidden = new HiddenTexts(secrets)
  redactFields(head, hidden)
  if (body.framing === 'none' || tunnel !== null) return reply
  const codings = listCodings(head)
  if (codings.length === 0) {
    if (body.framing !== 'length') head.remove('transfer-encoding')
    return { head, body: new RedactedBody(body, hidden), tunnel }
  }
  head.remove('content-length')
  head.remove('transfer-encoding')
  const codec = codings.length === 1 ? CODECS.get(codings[0]!) : undefined
  if (codec !== undefined)
    return { head, body: new RedactedCompressedBody(body, hidden, codec), tunnel }
  body.cancel()
  head.remove('content-encoding')
  head.set('content-type', 'text/plain')
  head.set('content-length', String(WITHHELD.length))
  return { head, body: new BytesBody(WITHHELD), tunnel }
}

/** The codings of a body in their order; the field may be repeated. */
function listCodings(head: HeaderFields): string[] {
  const names = head.getAll('content-encoding').join(',').toLowerCase().split(',')
  return names.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity')
}

function redactFields(head: HeaderFields, hidden: HiddenTexts): void {
  const names = new Set([...head.entries()].map(([name]) => name))
  for (const name of names) {
    const values = head.getAll(name).map((value) => Buffer.from(value, 'latin1'))
    const isChanged = values.map((value) => hidden.hide(value)).includes(true)
    if (!isChanged) continue
    head.remove(name)
    for (const value of values) head.add(name, value.toString('latin1'))
  }
}

/** Hides the texts in a stream; bytes that may be the beginning of a text wait for the next ones. */
class RedactedBody implements Body, Sink {
  readonly framing: BodyFraming
  readonly length: number
  readonly #source: Body
  readonly #hidden: HiddenTexts
  readonly #held = new ByteBuffer()
  #sink!: Sink

  constructor(source: Body, hidden: HiddenTexts) {
    this.framing = source.framing === 'chunked' ? 'open' : source.framing
    this.length = source.length
    this.#source = source
    this.#hidden = hidden
  }

  start(sink: Sink, _form: BodyForm): void {
    this.#sink = sink
    this.#source.start(this, 'content')
  }

  pause(): void {
    this.#source.pause()
  }

  resume(): void {
    this.#source.resume()
  }

  cancel(): void {
    this.#held.take()
    this.#source.cancel()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    this.#held.append(bytes, from, to)
    const known = this.#held.take()
    const end = this.#hidden.findBeginning(known)
    this.#hidden.hide(known, end)
    this.#held.append(known, end, known.length)
    return end === 0 || this.#sink.write(known, 0, end)
  }

  end(trailers: HeaderFields | null): void {
    this.#flush()
    if (trailers !== null) redactFields(trailers, this.#hidden)
    this.#sink.end(trailers)
  }

  cut(outcome: Outcome): void {
    this.#flush()
    this.#sink.cut(outcome)
  }

  #flush(): void {
    const rest = this.#held.take()
    this.#hidden.hide(rest)
    if (rest.length > 0) this.#sink.write(rest, 0, rest.length)
  }
}

interface Codec {
  decompress(bytes: Buffer, options: { readonly maxOutputLength: number }): Buffer
  compress(bytes: Buffer): Buffer
}

const GZIP: Codec = { decompress: zlib.gunzipSync, compress: zlib.gzipSync }
const CODECS: ReadonlyMap<string, Codec> = new Map([
  ['gzip', GZIP],
  ['x-gzip', GZIP],
  ['deflate', { decompress: zlib.inflateSync, compress: zlib.deflateSync }],
  ['br', { decompress: zlib.brotliDecompressSync, compress: zlib.brotliCompressSync }],
])

/** Reads a compressed body, hides the texts in it and compresses it again. */
class RedactedCompressedBody implements Body, Sink {
  readonly framing = 'open'
  readonly length = -1
  readonly #source: Body
  readonly #hidden: HiddenTexts
  readonly #codec: Codec
  readonly #reader: WholeBodyReader
  #sink!: Sink

  constructor(source: Body, hidden: HiddenTexts, codec: Codec) {
    this.#source = source
    this.#hidden = hidden
    this.#codec = codec
    const withhold = (): void => {
      this.#source.cancel()
      this.#send(this.#codec.compress(WITHHELD))
    }
    const bounds = { maxBytes: MAX_COMPRESSED_ERROR_BYTES, sharedBudget: null }
    this.#reader = new WholeBodyReader(source, bounds, {
      onBody: (bytes) => this.#send(this.#redact(bytes)),
      onTooLarge: withhold,
      onNoRoom: withhold,
    })
  }

  start(sink: Sink, _form: BodyForm): void {
    this.#sink = sink
    this.#source.start(this, 'content')
  }

  pause(): void {}

  resume(): void {}

  cancel(): void {
    this.#reader.abandon()
    this.#source.cancel()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    return this.#reader.write(bytes, from, to)
  }

  end(trailers: HeaderFields | null): void {
    this.#reader.end(trailers)
  }

  cut(outcome: Outcome): void {
    this.#reader.abandon()
    this.#sink.cut(outcome)
  }

  #redact(bytes: Buffer): Buffer {
    try {
      const options = { maxOutputLength: MAX_COMPRESSED_ERROR_BYTES }
      const content = this.#codec.decompress(bytes, options)
      return this.#hidden.hide(content) ? this.#codec.compress(content) : bytes
    } catch {
      // It is invalid, or larger than the bound.
      return this.#codec.compress(WITHHELD)
    }
  }

  #send(bytes: Buffer): void {
    if (bytes.length > 0) this.#sink.write(bytes, 0, bytes.length)
    this.#sink.end(null)
  }
}
