// The messages of the Envoy rate limit protocol, `envoy.service.ratelimit.v3`, by the numbers of their published fields.

import { MessageReader, MessageWriter } from './protobuf.ts'

/** As the protocol numbers them, from 1. */
const UNITS = ['second', 'minute', 'hour', 'day', 'month', 'year'] as const

export type Unit = (typeof UNITS)[number]

/** As the protocol numbers them, from 0. */
const CODES = ['unknown', 'ok', 'over'] as const

export type Code = (typeof CODES)[number]

export interface Entry {
  readonly key: string
  readonly value: string
}

export interface LimitOverride {
  readonly amount: number
  readonly unit: Unit
}

/** One counter, and how much is added to it. */
export interface Descriptor {
  readonly entries: readonly Entry[]
  /** Instead of the limit that the service has for it. */
  readonly limit: LimitOverride | null
  /** null leaves it to the service, which adds 1; by 0 it only looks. */
  readonly hits: number | null
}

export interface RateLimitRequest {
  readonly domain: string
  readonly descriptors: readonly Descriptor[]
}

/** Of one descriptor. Without a limit the service has no rule for it. */
export interface Status {
  readonly code: Code
  readonly limit: number | null
  readonly remaining: number
  /** Seconds until the window turns; null when it was not said. */
  readonly reset: number | null
}

/** Name and value as they were sent; the value's bytes as latin1, like all heads. */
export type Header = readonly [name: string, value: string]

export interface RateLimitAnswer {
  readonly code: Code
  /** In the order of the request's descriptors. */
  readonly statuses: readonly Status[]
  readonly responseHeaders: readonly Header[]
  readonly requestHeaders: readonly Header[]
  readonly body: Buffer
}

export function isUnit(text: string): text is Unit {
  return UNITS.some((unit) => unit === text)
}

export function encodeRequest({ domain, descriptors }: RateLimitRequest): Buffer {
  const message = new MessageWriter()
  message.text(1, domain)
  for (const descriptor of descriptors) message.bytes(2, encodeDescriptor(descriptor))
  return message.take()
}

function encodeDescriptor({ entries, limit, hits }: Descriptor): Buffer {
  const message = new MessageWriter()
  for (const { key, value } of entries) {
    const entry = new MessageWriter()
    entry.text(1, key)
    entry.text(2, value)
    message.bytes(1, entry.take())
  }
  if (limit !== null) {
    const override = new MessageWriter()
    override.number(1, limit.amount)
    override.number(2, UNITS.indexOf(limit.unit) + 1)
    message.bytes(2, override.take())
  }
  if (hits !== null) {
    // A wrapper, so that 0 is not the same as nothing.
    const wrapped = new MessageWriter()
    wrapped.number(1, hits)
    message.bytes(3, wrapped.take())
  }
  return message.take()
}

/** Throws `Malformed`. What is not used here is skipped: metadata, quotas, and what is yet to come. */
export function decodeAnswer(bytes: Buffer): RateLimitAnswer {
  const message = new MessageReader(bytes)
  let code: Code = 'unknown'
  let body = Buffer.alloc(0)
  const statuses: Status[] = []
  const responseHeaders: Header[] = []
  const requestHeaders: Header[] = []
  for (let field = message.next(); field !== 0; field = message.next())
    switch (field) {
      case 1:
        code = codeOf(message.uint32())
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

function decodeStatus(bytes: Buffer): Status {
  const message = new MessageReader(bytes)
  let code: Code = 'unknown'
  let limit: number | null = null
  let remaining = 0
  let reset: number | null = null
  for (let field = message.next(); field !== 0; field = message.next())
    switch (field) {
      case 1:
        code = codeOf(message.uint32())
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
  const message = new MessageReader(bytes)
  let limit = 0
  for (let field = message.next(); field !== 0; field = message.next())
    if (field === 1) limit = message.uint32()
  return limit
}

/** Of a `google.protobuf.Duration`; a started second is a second. */
function decodeSeconds(bytes: Buffer): number {
  const message = new MessageReader(bytes)
  let seconds = 0
  let nanos = 0
  for (let field = message.next(); field !== 0; field = message.next())
    if (field === 1) seconds = message.int64()
    else if (field === 2) nanos = message.int64()
  return Math.max(0, nanos > 0 ? seconds + 1 : seconds)
}

function decodeHeader(bytes: Buffer): Header {
  const message = new MessageReader(bytes)
  let name = ''
  let value = ''
  let raw = ''
  for (let field = message.next(); field !== 0; field = message.next())
    if (field === 1) name = message.text()
    else if (field === 2) value = message.bytes().toString('latin1')
    else if (field === 3) raw = message.bytes().toString('latin1')
  return [name, value === '' ? raw : value]
}

function codeOf(value: number): Code {
  return CODES[value] ?? 'unknown'
}
