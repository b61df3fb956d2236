// One call of the rate limit service: a stream that is asked one thing and must answer in time.

import { constants } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2'
import { decodeRateLimitResponse, MalformedMessage } from './rate-limit-messages.ts'
import type { RateLimitResponse } from './rate-limit-messages.ts'

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

/** The protocol has eight digits for it. */
const MAX_TIMEOUT = 99_999_999

/** Of what a service says about itself, in the log. */
const MAX_MESSAGE = 200

/** Status codes of gRPC, by number. */
const GRPC_STATUSES = (
  'ok cancelled unknown invalid-argument deadline-exceeded not-found already-exists permission-denied ' +
  'resource-exhausted failed-precondition aborted out-of-range unimplemented internal unavailable data-loss ' +
  'unauthenticated'
).split(' ')

/** Error codes of HTTP/2, by number (RFC 9113 7). */
const HTTP2_ERROR_NAMES = (
  'no-error protocol-error internal-error flow-control-error settings-timeout stream-closed frame-size-error ' +
  'refused-stream cancel compression-error connect-error enhance-your-calm inadequate-security http-1-1-required'
).split(' ')

/**
 * Why there is no answer. `bad`: it is an error, or no answer to this. `cut`: the stream broke. `refused`: nobody has
 * looked at it, so that it can be asked again. `unasked`: it could not even be sent.
 */
export interface RateLimitFailure {
  readonly kind: 'invalid' | 'broken' | 'refused' | 'timeout' | 'cancelled' | 'unsent'
  readonly reason: string
}

export type RateLimitResult = RateLimitResponse | RateLimitFailure

export function isRateLimitFailure(asked: RateLimitResult): asked is RateLimitFailure {
  return 'kind' in asked
}

export interface RateLimitCallOwner {
  /** Once. */
  done(asked: RateLimitResult): void
  /** Its stream is gone; after `done`, or before. */
  closed(): void
}

/** `reset` tells the service that nobody waits; `forget` lets it answer nobody. */
export type RateLimitCancelMode = 'reset' | 'forget'

export class RateLimitCall {
  readonly #owner: RateLimitCallOwner
  readonly #stream: ClientHttp2Stream
  readonly #timer: NodeJS.Timeout
  readonly #message = new GrpcMessageReader()
  #state: 'asking' | 'over' = 'asking'
  #status: string | undefined
  #statusMessage = ''
  #error: NodeJS.ErrnoException | null = null

  constructor(
    owner: RateLimitCallOwner,
    session: ClientHttp2Session,
    authority: string,
    { bytes, ms }: { bytes: Buffer; ms: number },
  ) {
    this.#owner = owner
    this.#stream = session.request({
      ':method': 'POST',
      ':scheme': 'http',
      ':authority': authority,
      ':path': PATH,
      'content-type': 'application/grpc',
      te: 'trailers',
      'grpc-timeout': `${Math.min(ms, MAX_TIMEOUT)}m`,
    })
    this.#timer = setTimeout(() => this.#expire(), ms)
    this.#listen()
    this.#stream.end(frameGrpcMessage(bytes))
  }

  /** Nobody waits for it any more. */
  cancel(leave: RateLimitCancelMode): void {
    if (leave === 'reset') return this.#fail('cancelled', 'cancelled')
    this.#end({ kind: 'cancelled', reason: 'cancelled' })
  }

  /** Also of one that was forgotten, so that no stream stays. */
  #expire(): void {
    this.#fail('timeout', 'no response in time')
    this.#stream.close(constants.NGHTTP2_CANCEL)
  }

  #listen(): void {
    const stream = this.#stream
    stream.on('error', (error) => (this.#error = error))
    stream.on('response', (headers) => this.#readHead(headers))
    stream.on('data', (bytes: Buffer) => this.#read(bytes))
    stream.on('trailers', (trailers) => this.#readTrailers(trailers))
    // Not at the end of the data: the trailers may come later than that.
    stream.on('close', () => this.#closed())
  }

  #readHead(headers: IncomingHttpHeaders): void {
    const status = Number(headers[':status'])
    const type = headers['content-type'] ?? ''
    // Without a message, what would stand in trailers is in the head.
    this.#readTrailers(headers)
    if (status !== 200) this.#fail('invalid', `status ${status}`)
    else if (!/^application\/grpc(?:\+proto)?(?:;|$)/.test(type))
      this.#fail('invalid', 'the response is not gRPC')
  }

  #readTrailers(headers: IncomingHttpHeaders): void {
    const status = headers['grpc-status']
    if (typeof status !== 'string') return
    this.#status = status
    this.#statusMessage = decodeGrpcMessageText(headers['grpc-message'])
  }

  #read(bytes: Buffer): void {
    if (this.#state === 'over') return
    try {
      this.#message.write(bytes)
    } catch (error) {
      this.#fail('invalid', describeErrorReason(error))
    }
  }

  #closed(): void {
    clearTimeout(this.#timer)
    this.#conclude()
    this.#owner.closed()
  }

  #conclude(): void {
    if (this.#status === undefined) {
      const code = this.#stream.rstCode ?? 0
      const isRefused = code === constants.NGHTTP2_REFUSED_STREAM
      return this.#fail(isRefused ? 'refused' : 'broken', describeStreamError(this.#error, code))
    }
    if (this.#status !== '0')
      return this.#fail('invalid', describeGrpcStatus(this.#status) + this.#statusMessage)
    this.#answer()
  }

  #answer(): void {
    if (this.#state === 'over') return
    let answer: RateLimitResponse
    try {
      answer = decodeRateLimitResponse(this.#message.end())
    } catch (error) {
      return this.#fail('invalid', describeErrorReason(error))
    }
    if (answer.code === 'unknown') this.#fail('invalid', 'the response has no code')
    else this.#end(answer)
  }

  #fail(kind: RateLimitFailure['kind'], reason: string): void {
    if (this.#state === 'over') return
    this.#stream.close(constants.NGHTTP2_CANCEL)
    this.#end({ kind, reason })
  }

  #end(asked: RateLimitResult): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#owner.done(asked)
  }
}

/** What broke the connection, if that is why; otherwise what the service said to the stream. */
function describeStreamError(error: NodeJS.ErrnoException | null, code: number): string {
  const cause = error?.cause instanceof Error ? (error.cause as NodeJS.ErrnoException) : error
  if (cause?.code !== undefined && !cause.code.startsWith('ERR_HTTP2_STREAM')) return cause.code
  return `stream closed: ${HTTP2_ERROR_NAMES[code] ?? code}`
}

function describeGrpcStatus(status: string): string {
  return `gRPC status ${GRPC_STATUSES[Number(status)] ?? 'out of range'}`
}

/** Percent-encoded by the protocol; whatever else stands there is cut, and quoted by the log. */
function decodeGrpcMessageText(message: string | string[] | undefined): string {
  if (typeof message !== 'string' || message === '') return ''
  try {
    return `: ${decodeURIComponent(message).slice(0, MAX_MESSAGE)}`
  } catch {
    return `: ${message.slice(0, MAX_MESSAGE)}`
  }
}

function describeErrorReason(error: unknown): string {
  if (error instanceof MalformedMessage) return `malformed response: ${error.message}`
  throw error
}

// How gRPC lays messages on a stream: one byte that says whether it is compressed, four for its length, the message.

const PREFIX_BYTES = 5

/** More than an answer with a page for a body needs. */
export const MAX_GRPC_RESPONSE_BYTES = 262_144

export function frameGrpcMessage(message: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
  bytes[0] = 0
  bytes.writeUInt32BE(message.length, 1)
  message.copy(bytes, PREFIX_BYTES)
  return bytes
}

/** Reads the one message of an answer, wherever its bytes are cut. */
export class GrpcMessageReader {
  readonly #prefix = Buffer.alloc(PREFIX_BYTES)
  #message: Buffer | null = null
  #state: 'prefix' | 'message' | 'over' = 'prefix'
  /** Bytes of the prefix or of the message that are there. */
  #have = 0

  /** The bytes are copied. Throws `MalformedMessage`. */
  write(bytes: Buffer): void {
    let from = 0
    while (from < bytes.length) from = this.#take(bytes, from)
  }

  /** The whole message. Throws `MalformedMessage`. */
  end(): Buffer {
    if (this.#state !== 'over') throw new MalformedMessage('no complete message')
    return this.#message!
  }

  #take(bytes: Buffer, from: number): number {
    if (this.#state === 'over') throw new MalformedMessage('more than one message')
    const target = this.#message ?? this.#prefix
    const taken = bytes.copy(target, this.#have, from)
    this.#have += taken
    if (this.#have === target.length) this.#filled()
    return from + taken
  }

  #filled(): void {
    if (this.#state === 'message') {
      this.#state = 'over'
      return
    }
    // It was not offered, so there is no telling what it would be compressed with.
    if (this.#prefix[0] !== 0) throw new MalformedMessage('a compressed message')
    const length = this.#prefix.readUInt32BE(1)
    if (length > MAX_GRPC_RESPONSE_BYTES) throw new MalformedMessage('the message is too long')
    this.#message = Buffer.allocUnsafe(length)
    this.#have = 0
    this.#state = length === 0 ? 'over' : 'message'
  }
}
