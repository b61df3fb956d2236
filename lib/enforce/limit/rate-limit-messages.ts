// Encodes and decodes the messages of the Envoy rate limit protocol, `envoy.service.ratelimit.v3`.

import { Buffer } from 'node:buffer'

/** As the protocol numbers them, from 1. */
const RATE_LIMIT_UNITS = ['second', 'minute', 'hour', 'day', 'month', 'year'] as const

export type RateLimitUnit = (typeof RATE_LIMIT_UNITS)[number]

/** As the protocol numbers them, from 0. */
const RATE_LIMIT_CODES = ['unknown', 'ok', 'over'] as const

export type RateLimitCode = (typeof RATE_LIMIT_CODES)[number]

export interface DescriptorEntry {
  readonly key: string
  readonly value: string
}

export interface LimitOverride {
  readonly amount: number
  readonly unit: RateLimitUnit
}

/** One counter, and how much is added to it. */
export interface RateLimitDescriptor {
  readonly entries: readonly DescriptorEntry[]
  /** Replaces the limit that the service has configured for this descriptor. */
  readonly limit: LimitOverride | null
  /** null: the service adds 1. 0: the service only checks. */
  readonly hits: number | null
}

export interface RateLimitRequest {
  readonly domain: string
  readonly descriptors: readonly RateLimitDescriptor[]
}

/** The status of one descriptor; `limit` is null when the service has no rule for it. */
export interface DescriptorStatus {
  readonly code: RateLimitCode
  readonly limit: number | null
  readonly remaining: number
  /** Seconds until the window ends; null when the service did not send it. */
  readonly reset: number | null
}

/** Name and value as the service sent them; the value is latin1, as in all heads. */
export type RateLimitHeader = readonly [name: string, value: string]

export interface RateLimitResponse {
  readonly code: RateLimitCode
  /** In the order of the request's descriptors. */
  readonly statuses: readonly DescriptorStatus[]
  readonly responseHeaders: readonly RateLimitHeader[]
  readonly requestHeaders: readonly RateLimitHeader[]
  readonly body: Buffer
}

export function isRateLimitUnit(text: string): text is RateLimitUnit {
  return RATE_LIMIT_UNITS.some((unit) => unit === text)
}

export function encodeRateLimitRequest({ domain, descriptors }: RateLimitRequest): Buffer {
  const message = new ProtobufWriter()
  message.text(1, domain)
  for (const descriptor of descriptors) message.bytes(2, encodeDescriptor(descriptor))
  return message.toBuffer()
}

function encodeDescriptor({ entries, limit, hits }: RateLimitDescriptor): Buffer {
  const message = new ProtobufWriter()
  for (const { key, value } of entries) {
    const entry = new ProtobufWriter()
    entry.text(1, key)
    entry.text(2, value)
    message.bytes(1, entry.toBuffer())
  }
  if (limit !== null) {
    const override = new ProtobufWriter()
    override.number(1, limit.amount)
    override.number(2, RATE_LIMIT_UNITS.indexOf(limit.unit) + 1)
    message.bytes(2, override.toBuffer())
  }
  if (hits !== null) {
    // A wrapper message, so that 0 differs from no value.
    const wrapped = new ProtobufWriter()
    wrapped.number(1, hits)
    message.bytes(3, wrapped.toBuffer())
  }
  return message.toBuffer()
}

/** Throws `MalformedMessage`. Skips unused fields: metadata, quotas, and fields of later versions. */
export function decodeRateLimitResponse(bytes: Buffer): RateLimitResponse {
  const message = new ProtobufReader(bytes)
  let code: RateLimitCode = 'unknown'
  let body = Buffer.alloc(0)
  const statuses: DescriptorStatus[] = []
  const responseHeaders: RateLimitHeader[] = []
  const requestHeaders: RateLimitHeader[] = []
  for (let field = message.next(); field !== 0; field = message.next())
    switch (field) {
      case 1:
        code = decodeRateLimitCode(message.uint32())
        break
      case 2:
        statuses.push(decodeStatus(message.bytes()))
        break
      case 3:
        responseHeaders.push(decodeHeader(message.bytes()))
        break
      case 4:
        requestHeaders.push(decodeHeader(message.bytes()))
        break
      case 5:
        // Copied: the message may be a view of a larger buffer, and the response outlives it.
        body = Buffer.from(message.bytes())
        break
    }
  return { code, statuses, responseHeaders, requestHeaders, body }
}

function decodeStatus(bytes: Buffer): DescriptorStatus {
  const message = new ProtobufReader(bytes)
  let code: RateLimitCode = 'unknown'
  let limit: number | null = null
  let remaining = 0
  let reset: number | null = null
  for (let field = message.next(); field !== 0; field = message.next())
    switch (field) {
      case 1:
        code = decodeRateLimitCode(message.uint32())
        break
      case 2:
        limit = decodeLimit(message.bytes())
        break
      case 3:
        remaining = message.uint32()
        break
      case 4:
        reset = decodeSeconds(message.bytes())
        break
    }
  return { code, limit, remaining, reset }
}

function decodeLimit(bytes: Buffer): number {
  const message = new ProtobufReader(bytes)
  let limit = 0
  for (let field = message.next(); field !== 0; field = message.next())
    if (field === 1) limit = message.uint32()
  return limit
}

/** Decodes a `google.protobuf.Duration`, rounded up to whole seconds. */
function decodeSeconds(bytes: Buffer): number {
  const message = new ProtobufReader(bytes)
  let seconds = 0
  let nanos = 0
  for (let field = message.next(); field !== 0; field = message.next())
    if (field === 1) seconds = message.int64()
    else if (field === 2) nanos = message.int64()
  return Math.max(0, nanos > 0 ? seconds + 1 : seconds)
}

function decodeHeader(bytes: Buffer): RateLimitHeader {
  const message = new ProtobufReader(bytes)
  let name = ''
  let value = ''
  let raw = ''
  for (let field = message.next(); field !== 0; field = message.next())
    if (field === 1) name = message.text()
    else if (field === 2) value = message.bytes().toString('latin1')
    else if (field === 3) raw = message.bytes().toString('latin1')
  return [name, value === '' ? raw : value]
}

function decodeRateLimitCode(value: number): RateLimitCode {
  return RATE_LIMIT_CODES[value] ?? 'unknown'
}

/** The bytes are not a protobuf message of the expected type. */
export class MalformedMessage extends Error {
  override readonly name = 'Malformed'
}

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** Each byte has seven bits, so 64 bits need ten bytes. */
const MAX_VARINT_BYTES = 10

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Writes the fields of one message in the order of the calls, and omits default values as proto3 does. */
class ProtobufWriter {
  readonly #parts: Buffer[] = []

  text(field: number, value: string): void {
    if (value !== '') this.bytes(field, Buffer.from(value))
  }

  /** `value` is a safe integer, at least 0. */
  number(field: number, value: number): void {
    if (value !== 0) this.#parts.push(encodeVarint(field * 8 + VARINT), encodeVarint(value))
  }

  /** Also writes empty bytes: the presence of an embedded message has a meaning. */
  bytes(field: number, value: Buffer): void {
    this.#parts.push(encodeVarint(field * 8 + BYTES), encodeVarint(value.length), value)
  }

  toBuffer(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

function encodeVarint(value: number): Buffer {
  if (value < 0x80) return Buffer.from([value])
  const bytes: number[] = []
  let rest = value
  // Division, because shifts are limited to 32 bits.
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80)
  return Buffer.from([...bytes, rest])
}

/** Iterates over the fields of one message; `next` skips a value that was not read. */
class ProtobufReader {
  readonly #bytes: Buffer
  #at = 0
  #wireType = VARINT
  #state: 'before field' | 'before value' = 'before field'

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Returns the number of the next field, or 0 at the end. */
  next(): number {
    if (this.#state === 'before value') this.#skip()
    if (this.#at === this.#bytes.length) return 0
    const [low, high] = this.#readVarint()
    const field = low >>> 3
    if (field === 0 || high !== 0) throw new MalformedMessage('a field without a number')
    this.#wireType = low & 7
    this.#state = 'before value'
    return field
  }

  uint32(): number {
    this.#expect(VARINT)
    return this.#readVarint()[0] >>> 0
  }

  /** Signed; loses precision above 2^53. */
  int64(): number {
    this.#expect(VARINT)
    const [low, high] = this.#readVarint()
    return (high | 0) * 2 ** 32 + (low >>> 0)
  }

  /** Returns a view, not a copy. */
  bytes(): Buffer {
    this.#expect(BYTES)
    return this.#readBytes(this.#readLength())
  }

  text(): string {
    const bytes = this.bytes()
    try {
      return UTF8.decode(bytes)
    } catch (cause) {
      throw new MalformedMessage('text that is not UTF-8', { cause })
    }
  }

  #expect(wireType: number): void {
    if (this.#wireType !== wireType) throw new MalformedMessage('a field of another type')
    this.#state = 'before field'
  }

  #skip(): void {
    this.#state = 'before field'
    switch (this.#wireType) {
      case VARINT:
        this.#readVarint()
        break
      case FIXED64:
        this.#readBytes(8)
        break
      case BYTES:
        this.#readBytes(this.#readLength())
        break
      case FIXED32:
        this.#readBytes(4)
        break
      default:
        // proto3 has no groups.
        throw new MalformedMessage('a field of an unknown type')
    }
  }

  #readLength(): number {
    const [low, high] = this.#readVarint()
    if (high !== 0) throw new MalformedMessage('a field beyond the end')
    return low >>> 0
  }

  #readBytes(length: number): Buffer {
    const from = this.#at
    if (length > this.#bytes.length - from) throw new MalformedMessage('a field beyond the end')
    this.#at = from + length
    return this.#bytes.subarray(from, this.#at)
  }

  /** Returns the low and the high 32 bits. */
  #readVarint(): [low: number, high: number] {
    let low = 0
    let high = 0
    for (let count = 0; count < MAX_VARINT_BYTES; count++) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) throw new MalformedMessage('a number beyond the end')
      const bits = byte & 0x7f
      const shift = count * 7
      if (shift < 32) low |= bits << shift
      if (shift > 24) high |= shift < 32 ? bits >>> (32 - shift) : bits << (shift - 32)
      if (byte < 0x80) return [low, high]
    }
    throw new MalformedMessage('a number of more than 64 bits')
  }
}
