// Copies of bodies for a trace, up to a bound, and the times at which their parts arrived.

import zlib from 'node:zlib'
import type { BodySnapshotEvent, BodyStage, ChunkArrival } from '../core/trace-events.ts'
import type { Outcome, Tap } from '../core/types.ts'
import { ByteBuffer } from '../text/byte-buffer.ts'
import type { KnownSecrets } from '../text/known-secrets.ts'
import { redactBodyMembers } from '../text/redaction.ts'

export class BodyCopy implements Tap {
  readonly #maxBytes: number
  readonly #done: (copy: BodyCopy) => void
  readonly #copy = new ByteBuffer()
  readonly #arrivals: ArrivalLog | null
  #state: 'open' | 'done' = 'open'
  #bytes = 0

  /** With `started`, the time at which the request was accepted, it also records when parts of the body arrived. */
  constructor(maxBytes: number, done: (copy: BodyCopy) => void, started: number | null = null) {
    this.#maxBytes = maxBytes
    this.#done = done
    this.#arrivals = started === null ? null : new ArrivalLog(started)
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#bytes += to - from
    this.#arrivals?.add(this.#bytes, performance.now())
    const remaining = this.#maxBytes - this.#copy.length
    if (remaining > 0) this.#copy.append(bytes, from, Math.min(to, from + remaining))
  }

  /** Also called when no more bytes can follow; only the first call counts. */
  end(_outcome: Outcome): void {
    if (this.#state === 'done') return
    this.#state = 'done'
    this.#done(this)
  }

  /** Takes the copied bytes; the copy is empty afterwards. */
  snapshot(stage: BodyStage, redaction?: BodyRedaction): BodySnapshot {
    const options = { redaction, arrivals: this.#arrivals }
    return new BodySnapshot(stage, this.#copy.take(), this.#bytes, options)
  }
}

/** What is not shown of a body. */
export interface BodyRedaction {
  /** config.trace.redactBodies. */
  readonly members: readonly string[]
  /** The secrets that the gateway added to the request. */
  readonly secrets: KnownSecrets
  /** The Content-Encoding of the body; empty for none. */
  readonly coding: string
}

interface BodySnapshotOptions {
  readonly redaction?: BodyRedaction | undefined
  readonly arrivals?: ArrivalLog | null
}

/** Encoded as base64 when the event is sent, not while the body is forwarded. */
export class BodySnapshot implements BodySnapshotEvent {
  readonly type = 'bodySnapshot' as const
  readonly stage: BodyStage
  /** The length of the whole body. */
  readonly bytes: number
  readonly truncated?: true
  readonly #copy: Buffer
  readonly #options: BodySnapshotOptions
  /** The copy without secrets. */
  #redacted: Buffer | null = null

  constructor(stage: BodyStage, copy: Buffer, bytes: number, options: BodySnapshotOptions = {}) {
    this.stage = stage
    this.bytes = bytes
    this.#copy = copy
    this.#options = options
    if (copy.length < bytes) this.truncated = true
  }

  /** Base64 of the exact bytes, except for what `BodyRedaction` names. */
  get body(): string {
    return this.#redact().toString('base64')
  }

  /** When its parts arrived, as positions in the redacted body. */
  get arrivals(): readonly ChunkArrival[] | undefined {
    const { arrivals } = this.#options
    return arrivals ? remapArrivals(this.#redact(), this.#copy, arrivals.list) : undefined
  }

  /** How many parts each arrival represents, if more than one. */
  get arrivalStep(): number | undefined {
    const step = this.#options.arrivals?.step ?? 1
    return step > 1 ? step : undefined
  }

  /** The approximate length of the encoded body. */
  get encodedLength(): number {
    return Math.ceil(this.#copy.length / 3) * 4
  }

  #redact(): Buffer {
    const { redaction } = this.#options
    const end = this.truncated === true ? 'truncated' : 'whole'
    return (this.#redacted ??=
      redaction === undefined ? this.#copy : redactBodyCopy(this.#copy, end, redaction))
  }
}

type BodyEnd = 'whole' | 'truncated'

function redactBodyCopy(copy: Buffer, end: BodyEnd, redaction: BodyRedaction): Buffer {
  const { members, secrets, coding } = redaction
  if (members.length === 0 && secrets.isEmpty) return copy
  const redact = (bytes: Buffer): Buffer => {
    const redacted = members.length === 0 ? bytes : redactBodyMembers(bytes, members)
    return secrets.redactBytes(redacted, end)
  }
  if (coding === '') return redact(copy)
  // A part of a compressed body cannot be replaced.
  const decoded = decodeBody(copy, coding)
  if (decoded === null) return Buffer.from(`<redacted: ${coding} was not decoded>`)
  const isShown = redact(copy) === copy && redact(decoded) === decoded
  return isShown ? copy : Buffer.from(`<redacted: a secret in ${coding}>`)
}

/** Bytes that a compressed body may have when it is decoded to be searched. */
const MAX_DECODED_BYTES = 33_554_432

const DEFLATE = { finishFlush: zlib.constants.Z_SYNC_FLUSH, maxOutputLength: MAX_DECODED_BYTES }
const BROTLI = {
  finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
  maxOutputLength: MAX_DECODED_BYTES,
}
// Node has zstd since 22.15; the type definitions are those of Node 20.
const { zstdDecompressSync } = zlib as {
  zstdDecompressSync?: (bytes: Buffer, options: object) => Buffer
}

const DECODE: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => zlib.gunzipSync(bytes, DEFLATE),
  'x-gzip': (bytes) => zlib.gunzipSync(bytes, DEFLATE),
  deflate: (bytes) => inflateEither(bytes),
  br: (bytes) => zlib.brotliDecompressSync(bytes, BROTLI),
  ...(zstdDecompressSync !== undefined && {
    zstd: (bytes: Buffer) => zstdDecompressSync(bytes, { maxOutputLength: MAX_DECODED_BYTES }),
  }),
}

/** Null if the coding is unknown, or the bytes are invalid or too long. */
function decodeBody(bytes: Buffer, coding: string): Buffer | null {
  try {
    return DECODE[coding]?.(bytes) ?? null
  } catch {
    return null
  }
}

/** Some servers send `deflate` without the zlib header. */
function inflateEither(bytes: Buffer): Buffer {
  try {
    return zlib.inflateSync(bytes, DEFLATE)
  } catch {
    return zlib.inflateRawSync(bytes, DEFLATE)
  }
}

/** Beyond this, every second arrival is kept, then every fourth, and so on; the last one always. */
export const MAX_ARRIVALS = 1_000

const LF = 10

/** The arrival times of a body: a list that gets coarser, not longer. */
export class ArrivalLog {
  readonly #started: number
  #list: ChunkArrival[] = []
  #step = 1
  /** How many parts the last arrival represents. */
  #partsInLast = 0

  /** `started` is on the clock of `performance.now()`. */
  constructor(started: number) {
    this.#started = started
  }

  /** How many parts one arrival represents. */
  get step(): number {
    return this.#step
  }

  get list(): readonly ChunkArrival[] {
    return this.#list
  }

  add(bytes: number, now: number): void {
    const arrival: ChunkArrival = [bytes, Math.max(0, Math.round((now - this.#started) * 1000))]
    if (this.#partsInLast > 0 && this.#partsInLast < this.#step) {
      this.#list[this.#list.length - 1] = arrival
      this.#partsInLast++
      return
    }
    if (this.#list.length === MAX_ARRIVALS) this.#thin()
    this.#list.push(arrival)
    this.#partsInLast = 1
  }

  #thin(): void {
    this.#list = this.#list.filter((_arrival, at) => at % 2 === 1)
    this.#step *= 2
  }
}

/** Maps arrivals to the redacted body, line by line, since redaction changes lengths; [] if the lines differ. */
export function remapArrivals(
  redacted: Buffer,
  original: Buffer,
  list: readonly ChunkArrival[],
): ChunkArrival[] {
  if (redacted === original) return [...list]
  const mapped: ChunkArrival[] = []
  let [from, redactedFrom] = [0, 0]
  let at = 0
  while (from < original.length && redactedFrom < redacted.length) {
    const [to, redactedTo] = [findLineEnd(original, from), findLineEnd(redacted, redactedFrom)]
    for (; at < list.length && list[at]![0] <= to; at++) {
      const [bytes, time] = list[at]!
      const position =
        bytes === to ? redactedTo : Math.min(redactedFrom + bytes - from, redactedTo - 1)
      mapped.push([position, time])
    }
    from = to
    redactedFrom = redactedTo
  }
  if (from < original.length || redactedFrom < redacted.length) return []
  // Bytes that were not copied follow.
  for (const [bytes, time] of list.slice(at))
    mapped.push([bytes - original.length + redacted.length, time])
  return mapped
}

/** The index after the line that starts at `from`. */
function findLineEnd(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(LF, from)
  return at < 0 ? bytes.length : at + 1
}
