// One call of the rate limit service: a stream that is asked one thing and must answer in time.

import { constants } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2'
import { decodeAnswer } from './codec.ts'
import type { RateLimitAnswer } from './codec.ts'
import { framed, MessageIn } from './grpc-message.ts'
import { Malformed } from './protobuf.ts'

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

/** The protocol has eight digits for it. */
const MAX_TIMEOUT = 99_999_999

/** Of what a service says about itself, in the log. */
const MAX_MESSAGE = 200

/** Status codes of gRPC, by number. */
const STATUSES = (
  'ok cancelled unknown invalid-argument deadline-exceeded not-found already-exists permission-denied ' +
  'resource-exhausted failed-precondition aborted out-of-range unimplemented internal unavailable data-loss ' +
  'unauthenticated'
).split(' ')

/** Error codes of HTTP/2, by number (RFC 9113 7). */
const CODES = (
  'no-error protocol-error internal-error flow-control-error settings-timeout stream-closed frame-size-error ' +
  'refused-stream cancel compression-error connect-error enhance-your-calm inadequate-security http-1-1-required'
).split(' ')

/**
 * Why there is no answer. `bad`: it is an error, or no answer to this. `cut`: the stream broke. `refused`: nobody has
 * looked at it, so that it can be asked again. `unasked`: it could not even be sent.
 */
export interface Failure {
  readonly kind: 'bad' | 'cut' | 'refused' | 'timeout' | 'cancelled' | 'unasked'
  readonly reason: string
}

export type Asked = RateLimitAnswer | Failure

export function isFailure(asked: Asked): asked is Failure {
  return 'kind' in asked
}

export interface AskOwner {
  /** Once. */
  done(asked: Asked): void
  /** Its stream is gone; after `done`, or before. */
  closed(): void
}

/** `reset` tells the service that nobody waits; `forget` lets it answer nobody. */
export type Leave = 'reset' | 'forget'

export class Ask {
  readonly #owner: AskOwner
  readonly #stream: ClientHttp2Stream
  readonly #timer: NodeJS.Timeout
  readonly #message = new MessageIn()
  #state: 'asking' | 'over' = 'asking'
  #status: string | undefined
  #words = ''
  #error: NodeJS.ErrnoException | null = null

  constructor(
    owner: AskOwner,
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
    this.#stream.end(framed(bytes))
  }

  /** Nobody waits for it any more. */
  cancel(leave: Leave): void {
    if (leave === 'reset') return this.#give('cancelled', 'cancelled')
    this.#end({ kind: 'cancelled', reason: 'cancelled' })
  }

  /** Also of one that was forgotten, so that no stream stays. */
  #expire(): void {
    this.#give('timeout', 'no answer in time')
    this.#stream.close(constants.NGHTTP2_CANCEL)
  }

  #listen(): void {
    const stream = this.#stream
    stream.on('error', (error) => (this.#error = error))
    stream.on('response', (headers) => this.#head(headers))
    stream.on('data', (bytes: Buffer) => this.#read(bytes))
    stream.on('trailers', (trailers) => this.#tail(trailers))
    // Not at the end of the data: the trailers may come later than that.
    stream.on('close', () => this.#closed())
  }

  #head(headers: IncomingHttpHeaders): void {
    const status = Number(headers[':status'])
    const type = headers['content-type'] ?? ''
    // Without a message, what would stand in trailers is in the head.
    this.#tail(headers)
    if (status !== 200) this.#give('bad', `status ${status}`)
    else if (!/^application\/grpc(?:\+proto)?(?:;|$)/.test(type))
      this.#give('bad', 'an answer that is not gRPC')
  }

  #tail(headers: IncomingHttpHeaders): void {
    const status = headers['grpc-status']
    if (typeof status !== 'string') return
    this.#status = status
    this.#words = wordsOf(headers['grpc-message'])
  }

  #read(bytes: Buffer): void {
    if (this.#state === 'over') return
    try {
      this.#message.write(bytes)
    } catch (error) {
      this.#give('bad', reasonOf(error))
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
      return this.#give(isRefused ? 'refused' : 'cut', faultOf(this.#error, code))
    }
    if (this.#status !== '0') return this.#give('bad', statusWords(this.#status) + this.#words)
    this.#answer()
  }

  #answer(): void {
    if (this.#state === 'over') return
    let answer: RateLimitAnswer
    try {
      answer = decodeAnswer(this.#message.end())
    } catch (error) {
      return this.#give('bad', reasonOf(error))
    }
    if (answer.code === 'unknown') this.#give('bad', 'an answer without a code')
    else this.#end(answer)
  }

  #give(kind: Failure['kind'], reason: string): void {
    if (this.#state === 'over') return
    this.#stream.close(constants.NGHTTP2_CANCEL)
    this.#end({ kind, reason })
  }

  #end(asked: Asked): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#owner.done(asked)
  }
}

/** What broke the connection, if that is why; otherwise what the service said to the stream. */
function faultOf(error: NodeJS.ErrnoException | null, code: number): string {
  const cause = error?.cause instanceof Error ? (error.cause as NodeJS.ErrnoException) : error
  if (cause?.code !== undefined && !cause.code.startsWith('ERR_HTTP2_STREAM')) return cause.code
  return `stream closed: ${CODES[code] ?? code}`
}

function statusWords(status: string): string {
  return `gRPC status ${STATUSES[Number(status)] ?? 'out of range'}`
}

/** Percent-encoded by the protocol; whatever else stands there is cut, and quoted by the log. */
function wordsOf(message: string | string[] | undefined): string {
  if (typeof message !== 'string' || message === '') return ''
  try {
    return `: ${decodeURIComponent(message).slice(0, MAX_MESSAGE)}`
  } catch {
    return `: ${message.slice(0, MAX_MESSAGE)}`
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Malformed) return `malformed answer: ${error.message}`
  throw error
}
