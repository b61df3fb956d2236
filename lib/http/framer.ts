// Finds the end of an HTTP/1 body in its bytes, and the content between the framing. It changes no bytes: a body that is
// forwarded unchanged only needs its end.

import { MAX_CHUNK_EXTRA_BYTES } from '../core/bounds.ts'
import { GatewayError } from '../core/errors.ts'
import { isForbiddenTrailer } from './header-fields.ts'

type FramingKind = 'none' | 'length' | 'chunked' | 'close'

type FramerState =
  | 'size'
  | 'extension'
  | 'extensionName'
  | 'extensionValue'
  | 'bare'
  | 'quoted'
  | 'escaped'
  | 'unquoted'
  | 'sizeEnd'
  | 'data'
  | 'dataCr'
  | 'dataLf'
  | 'line'
  | 'trailerName'
  | 'trailerValue'
  | 'trailerEnd'
  | 'lastLf'
  | 'over'

const CR = 13
const LF = 10
const QUOTE = 34
const COLON = 58
const SEMICOLON = 59
const EQUALS = 61
const BACKSLASH = 92
/** 2^48: far above any real chunk, and below where doubles lose precision. */
const MAX_CHUNK = 281_474_976_710_656

export class BodyFramer {
  /** Called for each run of content, if set. */
  onContent: ((bytes: Buffer, from: number, to: number) => void) | null = null
  readonly #refusesTrailer: (name: string) => boolean
  #kind: FramingKind = 'none'
  #state: FramerState = 'over'
  /** Bytes left of the length or of the chunk. */
  #left = 0
  /** Bytes of content that are still allowed. */
  #room = 0
  #most = 0
  /** Digits of the chunk size, or letters of the trailer name, so far. */
  #digits = 0
  #extra = 0
  #trailers: string[] | null = null
  #bytes!: Buffer
  #at = 0
  #to = 0

  /** `refusesTrailer` gets the name in lower case. */
  constructor(refusesTrailer: (name: string) => boolean = isForbiddenTrailer) {
    this.#refusesTrailer = refusesTrailer
  }

  /** `maxContent` bounds the sum of all chunks; the caller checks a length itself. */
  start(kind: FramingKind, length: number, maxContent = Number.MAX_SAFE_INTEGER): void {
    this.#room = maxContent
    this.#most = maxContent
    this.#kind = kind
    this.#left = kind === 'length' ? length : 0
    this.#digits = 0
    this.#extra = 0
    this.#trailers = null
    this.onContent = null
    const empty = kind === 'none' || (kind === 'length' && length === 0)
    this.#state = empty ? 'over' : kind === 'chunked' ? 'size' : 'data'
  }

  get isOver(): boolean {
    return this.#state === 'over'
  }

  /** True for a body that the end of its connection completes; any other is truncated by it. */
  get endsWithClose(): boolean {
    return this.#kind === 'close'
  }

  /** The raw trailer lines of a chunked body after its end; '' if there are none. */
  get trailerText(): string {
    return this.#trailers === null ? '' : this.#trailers.join('')
  }

  /** After a fault: the index of the invalid byte. All bytes before it were valid. */
  get faultAt(): number {
    return this.#at - 1
  }

  /** Consumes bytes and returns the index after those that belong to the body. Throws BAD_CHUNK. */
  consume(bytes: Buffer, from: number, to: number): number {
    if (this.#state === 'over') return from
    if (this.#kind === 'chunked') return this.#chunks(bytes, from, to)
    let end = to
    if (this.#kind === 'length') {
      if (to - from >= this.#left) {
        end = from + this.#left
        this.#state = 'over'
      }
      this.#left -= end - from
    }
    if (this.onContent !== null && end > from) this.onContent(bytes, from, end)
    return end
  }

  #chunks(bytes: Buffer, from: number, to: number): number {
    this.#bytes = bytes
    this.#at = from
    this.#to = to
    let state: FramerState = this.#state
    while (this.#at < to && state !== 'over') state = this[state]()
    this.#state = state
    return this.#at
  }

  private size(): 'size' | 'extension' | 'sizeEnd' {
    const byte = this.#bytes[this.#at++]!
    const digit = hexDigitOf(byte)
    if (digit >= 0) {
      this.#left = this.#left * 16 + digit
      this.#digits++
      if (this.#left > MAX_CHUNK || this.#digits > 16)
        throw buildBadChunkError('chunk size out of range')
      return 'size'
    }
    if (this.#digits === 0) throw buildBadChunkError('chunk without a size')
    if (byte === CR) return 'sizeEnd'
    if (byte === SEMICOLON) return 'extension'
    throw buildBadChunkError('malformed chunk size')
  }

  // Extensions are forwarded unread, so a backend must see the same end of line as this parser: the grammar is checked
  // exactly, without the white space that RFC 9112 calls bad.
  private extension(): 'extensionName' {
    if (!isTokenByte(this.#extensionByte()))
      throw buildBadChunkError('chunk extension without a name')
    return 'extensionName'
  }

  private extensionName(): 'extensionName' | 'extensionValue' | 'extension' | 'sizeEnd' {
    const byte = this.#extensionByte()
    if (isTokenByte(byte)) return 'extensionName'
    return byte === EQUALS ? 'extensionValue' : stateAfterExtension(byte)
  }

  private extensionValue(): 'bare' | 'quoted' {
    const byte = this.#extensionByte()
    if (byte === QUOTE) return 'quoted'
    if (!isTokenByte(byte)) throw buildBadChunkError('chunk extension without a value')
    return 'bare'
  }

  private bare(): 'bare' | 'extension' | 'sizeEnd' {
    const byte = this.#extensionByte()
    return isTokenByte(byte) ? 'bare' : stateAfterExtension(byte)
  }

  private quoted(): 'quoted' | 'escaped' | 'unquoted' {
    const byte = this.#extensionByte()
    if (byte === QUOTE) return 'unquoted'
    if (byte === BACKSLASH) return 'escaped'
    if (!isFieldByte(byte)) throw buildBadChunkError('control byte in a chunk extension')
    return 'quoted'
  }

  private escaped(): 'quoted' {
    if (!isFieldByte(this.#extensionByte()))
      throw buildBadChunkError('control byte in a chunk extension')
    return 'quoted'
  }

  private unquoted(): 'extension' | 'sizeEnd' {
    return stateAfterExtension(this.#extensionByte())
  }

  private sizeEnd(): 'data' | 'line' {
    if (this.#bytes[this.#at++] !== LF) throw buildBadChunkError('bare CR after a chunk size')
    this.#digits = 0
    this.#room -= this.#left
    if (this.#room < 0) throw buildBodyTooLargeError(this.#most)
    return this.#left === 0 ? 'line' : 'data'
  }

  private data(): 'data' | 'dataCr' {
    const from = this.#at
    const whole = this.#to - from >= this.#left
    this.#at = whole ? from + this.#left : this.#to
    this.#left -= this.#at - from
    if (this.onContent !== null) this.onContent(this.#bytes, from, this.#at)
    return whole ? 'dataCr' : 'data'
  }

  private dataCr(): 'dataLf' {
    if (this.#bytes[this.#at++] !== CR) throw buildBadChunkError('chunk longer than its size')
    return 'dataLf'
  }

  private dataLf(): 'size' {
    if (this.#bytes[this.#at++] !== LF) throw buildBadChunkError('bare CR after a chunk')
    return 'size'
  }

  /** At the start of a line after the last chunk: the empty line, or a trailer. */
  private line(): 'lastLf' | 'trailerName' {
    if (this.#bytes[this.#at] !== CR) return 'trailerName'
    this.#at++
    return 'lastLf'
  }

  private trailerName(): 'trailerName' | 'trailerValue' {
    const byte = this.#trailerByte()
    if (byte === COLON && this.#digits > 0) {
      const name = this.#trailers!.slice(-1 - this.#digits, -1).join('')
      if (this.#refusesTrailer(name.toLowerCase())) throw buildBadChunkError('forbidden trailer')
      return 'trailerValue'
    }
    if (!isTokenByte(byte)) throw buildBadChunkError('malformed trailer name')
    this.#digits++
    return 'trailerName'
  }

  private trailerValue(): 'trailerValue' | 'trailerEnd' {
    const byte = this.#trailerByte()
    if (byte === CR) return 'trailerEnd'
    if (!isFieldByte(byte)) throw buildBadChunkError('control byte in a trailer')
    return 'trailerValue'
  }

  private trailerEnd(): 'line' {
    if (this.#trailerByte() !== LF) throw buildBadChunkError('bare CR in a trailer')
    this.#digits = 0
    return 'line'
  }

  private lastLf(): 'over' {
    if (this.#bytes[this.#at++] !== LF) throw buildBadChunkError('bare CR after the trailers')
    return 'over'
  }

  protected over(): never {
    throw new Error('bytes after the end of the body')
  }

  #extensionByte(): number {
    const byte = this.#bytes[this.#at++]!
    this.#spend()
    return byte
  }

  #trailerByte(): number {
    const byte = this.#bytes[this.#at++]!
    this.#spend()
    ;(this.#trailers ??= []).push(String.fromCharCode(byte))
    return byte
  }

  #spend(): void {
    if (++this.#extra > MAX_CHUNK_EXTRA_BYTES)
      throw buildBadChunkError(`chunk extensions and trailers above ${MAX_CHUNK_EXTRA_BYTES} bytes`)
  }
}

function stateAfterExtension(byte: number): 'extension' | 'sizeEnd' {
  if (byte === CR) return 'sizeEnd'
  if (byte === SEMICOLON) return 'extension'
  throw buildBadChunkError('malformed chunk extension')
}

function buildBodyTooLargeError(most: number): GatewayError {
  return new GatewayError(
    'BODY_TOO_LARGE',
    `request body too large: chunks add up to more than ${most} bytes (frontendPolicies.http.maxBodyBytes)`,
    { limit: ['maxBodyBytes', most] },
  )
}

function buildBadChunkError(what: string): GatewayError {
  return new GatewayError('BAD_CHUNK', `invalid request: ${what}`)
}

function hexDigitOf(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const lower = byte | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

/** The bytes that RFC 9110 allows in a field value: visible bytes, space, tab and the upper half. */
function isFieldByte(byte: number): boolean {
  return (byte >= 32 && byte !== 127) || byte === 9
}

const TOKEN = new Uint8Array(256)
for (const c of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
  TOKEN[c.charCodeAt(0)] = 1

function isTokenByte(byte: number): boolean {
  return TOKEN[byte] === 1
}
