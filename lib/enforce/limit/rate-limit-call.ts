// One gRPC call of a rate limit service: an HTTP/2 stream with one request and one response, bounded in time.

import { constants } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2'
import { decodeRateLimitResponse, MalformedMessage } from './rate-limit-messages.ts'
import type { RateLimitResponse } from './rate-limit-messages.ts'

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

/** The `grpc-timeout` header has at most eight digits. */
const MAX_TIMEOUT = 99_999_999

/** Maximum characters of a gRPC status message in the log. */
const MAX_STATUS_MESSAGE = 200

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
 * Why there is no usable response. `invalid`: an error response or a malformed one. `broken`: the stream was reset.
 * `refused`: the service did not process the request, so a retry is safe. `unsent`: the request could not be sent.
 */
export interface RateLimitFailure {
  readonly kind: 'invalid' | 'broken' | 'refused' | 'timeout' | 'cancelled' | 'unsent'
  readonly reason: string
}

export type RateLimitResult = RateLimitResponse | RateLimitFailure

export function isRateLimitFailure(result: RateLimitResult): result is RateLimitFailure {
  return 'kind' in result
}

export interface RateLimitCallOwner {
  /** Called once. */
  done(result: RateLimitResult): void
  /** The stream is closed; called before or after `done`. */
  closed(): void
}

/** `reset` resets the stream; `forget` leaves it open and ignores the response. */
export type RateLimitCancelMode = 'reset' | 'forget'

export class RateLimitCall {
  readonly #owner: RateLimitCallOwner
  readonly #stream: ClientHttp2Stream
  readonly #timer: NodeJS.Timeout
  readonly #message = new GrpcMessageReader()
  #state: 'open' | 'done' = 'open'
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

  /** The caller no longer waits for the result. */
  cancel(mode: RateLimitCancelMode): void {
    if (mode === 'reset') return this.#fail('cancelled', 'cancelled')
    this.#end({ kind: 'cancelled', reason: 'cancelled' })
  }

  /** Also closes the stream of a forgotten call, so that no stream stays open. */
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
    // Not on the end of the data: the trailers may arrive later.
    stream.on('close', () => this.#onClose())
  }

  #readHead(headers: IncomingHttpHeaders): void {
    const status = Number(headers[':status'])
    const type = headers['content-type'] ?? ''
    // A response without a message has the trailers in its head.
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
    if (this.#state === 'done') return
    try {
      this.#message.write(bytes)
    } catch (error) {
      this.#fail('invalid', describeErrorReason(error))
    }
  }

  #onClose(): void {
    clearTimeout(this.#timer)
    this.#finish()
    this.#owner.closed()
  }

  #finish(): void {
    if (this.#status === undefined) {
      const code = this.#stream.rstCode ?? 0
      const isRefused = code === constants.NGHTTP2_REFUSED_STREAM
      return this.#fail(isRefused ? 'refused' : 'broken', describeStreamError(this.#error, code))
    }
    if (this.#status !== '0')
      return this.#fail('invalid', describeGrpcStatus(this.#status) + this.#statusMessage)
    if (this.#state === 'done') return
    let response: RateLimitResponse
    try {
      response = decodeRateLimitResponse(this.#message.end())
    } catch (error) {
      return this.#fail('invalid', describeErrorReason(error))
    }
    if (response.code === 'unknown') this.#fail('invalid', 'the response has no code')
    else this.#end(response)
  }

  #fail(kind: RateLimitFailure['kind'], reason: string): void {
    if (this.#state === 'done') return
    this.#stream.close(constants.NGHTTP2_CANCEL)
    this.#end({ kind, reason })
  }

  #end(result: RateLimitResult): void {
    if (this.#state === 'done') return
    this.#state = 'done'
    this.#owner.done(result)
  }
}

/** Names the connection error if there is one, otherwise the HTTP/2 error code of the stream. */
function describeStreamError(error: NodeJS.ErrnoException | null, code: number): string {
  const cause = error?.cause instanceof Error ? (error.cause as NodeJS.ErrnoException) : error
  if (cause?.code !== undefined && !cause.code.startsWith('ERR_HTTP2_STREAM')) return cause.code
  return `stream closed: ${HTTP2_ERROR_NAMES[code] ?? code}`
}

function describeGrpcStatus(status: string): string {
  return `gRPC status ${GRPC_STATUSES[Number(status)] ?? 'out of range'}`
}

/** The protocol percent-encodes the message. Other text is used as is, shortened; the log quotes it. */
function decodeGrpcMessageText(message: string | string[] | undefined): string {
  if (typeof message !== 'string' || message === '') return ''
  try {
    return `: ${decodeURIComponent(message).slice(0, MAX_STATUS_MESSAGE)}`
  } catch {
    return `: ${message.slice(0, MAX_STATUS_MESSAGE)}`
  }
}

function describeErrorReason(error: unknown): string {
  if (error instanceof MalformedMessage) return `malformed response: ${error.message}`
  throw error
}

/** A gRPC message has a prefix: one byte for compression and four for the length. */
const PREFIX_BYTES = 5

/** More than a response with a whole page as its body needs. */
export const MAX_GRPC_RESPONSE_BYTES = 262_144

export function frameGrpcMessage(message: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
  bytes[0] = 0
  bytes.writeUInt32BE(message.length, 1)
  message.copy(bytes, PREFIX_BYTES)
  return bytes
}

/** Reads the single message of a response from chunks of any size. */
export class GrpcMessageReader {
  readonly #prefix = Buffer.alloc(PREFIX_BYTES)
  #message: Buffer | null = null
  #state: 'prefix' | 'message' | 'complete' = 'prefix'
  /** Bytes received of the prefix or the message. */
  #received = 0

  /** Copies the bytes. Throws `MalformedMessage`. */
  write(bytes: Buffer): void {
    let from = 0
    while (from < bytes.length) from = this.#take(bytes, from)
  }

  /** Returns the complete message. Throws `MalformedMessage`. */
  end(): Buffer {
    if (this.#state !== 'complete') throw new MalformedMessage('no complete message')
    return this.#message!
  }

  #take(bytes: Buffer, from: number): number {
    if (this.#state === 'complete') throw new MalformedMessage('more than one message')
    const target = this.#message ?? this.#prefix
    const copied = bytes.copy(target, this.#received, from)
    this.#received += copied
    if (this.#received === target.length) this.#onFilled()
    return from + copied
  }

  #onFilled(): void {
    if (this.#state === 'message') {
      this.#state = 'complete'
      return
    }
    // The request offered no compression, so the algorithm would be unknown.
    if (this.#prefix[0] !== 0) throw new MalformedMessage('a compressed message')
    const length = this.#prefix.readUInt32BE(1)
    if (length > MAX_GRPC_RESPONSE_BYTES) throw new MalformedMessage('the message is too long')
    this.#message = Buffer.allocUnsafe(length)
    this.#received = 0
    this.#state = length === 0 ? 'complete' : 'message'
  }
}
