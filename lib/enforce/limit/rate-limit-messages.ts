// The messages of the Envoy rate limit protocol, `envoy.service.ratelimit.v3`, by the numbers of their published fields.

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
  /** Instead of the limit that the service has for it. */
  readonly limit: LimitOverride | null
  /** null leaves it to the service, which adds 1; by 0 it only looks. */
  readonly hits: number | null
}

export interface RateLimitRequest {
  readonly domain: string
  readonly descriptors: readonly RateLimitDescriptor[]
}

/** Of one descriptor. Without a limit the service has no rule for it. */
export interface DescriptorStatus {
  readonly code: RateLimitCode
  readonly limit: number | null
  readonly remaining: number
  /** Seconds until the window turns; null when it was not said. */
  readonly reset: number | null
}

/** Name and value as they were sent; the value's bytes as latin1, like all heads. */
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
    // A wrapper, so that 0 is not the same as nothing.
    const wrapped = new ProtobufWriter()
    wrapped.number(1, hits)
    message.bytes(3, wrapped.toBuffer())
  }
  return message.toBuffer()
}

/** Throws `MalformedMessage`. What is not used here is skipped: metadata, quotas, and what is yet to come. */
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
        // The message may be a view of a larger buffer; the answer outlives it.
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

/** Of a `google.protobuf.Duration`; a started second is a second. */
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

// The few parts of the protobuf wire format that rate limit messages need.

/** Bytes that are no protobuf message, or not one of the kind that was expected. */
export class MalformedMessage extends Error {
  override readonly name = 'Malformed'
}

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** Seven bits a byte: 64 bits need ten of them. */
const MAX_VARINT_BYTES = 10

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Fields for one message, in the order in which they are added. Values that proto3 takes for granted are left out. */
class ProtobufWriter {
  readonly #parts: Buffer[] = []

  text(field: number, value: string): void {
    if (value !== '') this.bytes(field, Buffer.from(value))
  }

  /** A whole number, at least 0 and exact. */
  number(field: number, value: number): void {
    if (value !== 0) this.#parts.push(encodeVarint(field * 8 + VARINT), encodeVarint(value))
  }

  /** Also when empty: an embedded message says something by being there. */
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
  let left = value
  // By division: shifts lose what is above 32 bits.
  for (; left >= 0x80; left = Math.floor(left / 0x80)) bytes.push((left % 0x80) + 0x80)
  return Buffer.from([...bytes, left])
}

/** Walks over the fields of one message. Whoever does not ask for a field's value skips it. */
class ProtobufReader {
  readonly #bytes: Buffer
  #at = 0
  #wire = VARINT
  #state: 'between' | 'value' = 'between'

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The number of the next field, or 0 at the end. */
  next(): number {
    if (this.#state === 'value') this.#skip()
    if (this.#at === this.#bytes.length) return 0
    const [low, high] = this.#varint()
    const field = low >>> 3
    if (field === 0 || high !== 0) throw new MalformedMessage('a field without a number')
    this.#wire = low & 7
    this.#state = 'value'
    return field
  }

  uint32(): number {
    this.#expect(VARINT)
    return this.#varint()[0] >>> 0
  }

  /** Signed; rounded where a double ends. */
  int64(): number {
    this.#expect(VARINT)
    const [low, high] = this.#varint()
    return (high | 0) * 2 ** 32 + (low >>> 0)
  }

  /** A view, not a copy. */
  bytes(): Buffer {
    this.#expect(BYTES)
    return this.#run(this.#length())
  }

  text(): string {
    const bytes = this.bytes()
    try {
      return UTF8.decode(bytes)
    } catch (cause) {
      throw new MalformedMessage('text that is not UTF-8', { cause })
    }
  }

  #expect(wire: number): void {
    if (this.#wire !== wire) throw new MalformedMessage('a field of another type')
    this.#state = 'between'
  }

  #skip(): void {
    this.#state = 'between'
    switch (this.#wire) {
      case VARINT:
        this.#varint()
        break
      case FIXED64:
        this.#run(8)
        break
      case BYTES:
        this.#run(this.#length())
        break
      case FIXED32:
        this.#run(4)
        break
      default:
        // Groups are not in proto3.
        throw new MalformedMessage('a field of an unknown type')
    }
  }

  #length(): number {
    const [low, high] = this.#varint()
    if (high !== 0) throw new MalformedMessage('a field beyond the end')
    return low >>> 0
  }

  #run(length: number): Buffer {
    const from = this.#at
    if (length > this.#bytes.length - from) throw new MalformedMessage('a field beyond the end')
    this.#at = from + length
    return this.#bytes.subarray(from, this.#at)
  }

  /** Low and high 32 bits. */
  #varint(): [low: number, high: number] {
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
