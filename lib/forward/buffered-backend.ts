// The `buffer` policy: reads a request body completely before its backend is called, so that a slow upload does not occupy
// one of the backend's few threads.

import { bytesInFlight } from '../core/byte-budgets.ts'
import { GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import { BytesBody } from '../core/replies.ts'
import type { Attempt, Backend, Body, BodyForm, BodyFraming, Reply, Sink } from '../core/types.ts'
import { isGrpcType } from '../http/header-fields.ts'
import { WholeBodyReader } from '../http/read-whole-body.ts'
import { send100Continue } from './backend-attempt.ts'

export class BufferedBackend implements Backend {
  readonly endpoint: string
  readonly #backend: Backend
  readonly #maxBytes: number

  constructor(backend: Backend, maxBytes: number) {
    this.endpoint = backend.endpoint
    this.#backend = backend
    this.#maxBytes = maxBytes
  }

  call(exchange: Exchange, attempt: Attempt): void {
    const { request } = exchange
    const { body } = attempt
    // The messages of a gRPC stream may depend on its responses.
    if (body.framing === 'none' || isGrpcType(request.get('content-type')))
      return this.#backend.call(exchange, attempt)
    send100Continue(exchange)
    const maxBytes = this.#maxBytes
    const reader = new WholeBodyReader(
      body,
      { maxBytes, sharedBudget: null },
      {
        onBody: (bytes) => this.#forward(exchange, attempt, bytes),
        onTooLarge: (size) => attempt.fail(createTooLargeError(size, maxBytes)),
        onNoRoom: () => attempt.fail(createNoRoomError()),
      },
    )
    exchange.pendingCall = { cancel: () => reader.abandon() }
    reader.start()
  }

  #forward(exchange: Exchange, attempt: Attempt, bytes: Buffer): void {
    const { request } = exchange
    request.remove('transfer-encoding')
    request.set('content-length', String(bytes.length))
    const buffered = new BufferedAttempt(attempt, bytes)
    this.#backend.call(exchange, buffered)
    const { pendingCall } = exchange
    if (pendingCall === null || buffered.isOver) return
    exchange.pendingCall = {
      cancel: () => {
        buffered.release()
        pendingCall.cancel()
      },
    }
  }
}

/** An attempt with a body in memory, whose bytes are counted until they are written to the backend. */
class BufferedAttempt implements Attempt, Body {
  readonly framing: BodyFraming
  readonly length: number
  readonly #attempt: Attempt
  readonly #content: BytesBody
  #countedBytes: number
  #state: 'open' | 'over' = 'open'

  constructor(attempt: Attempt, bytes: Buffer) {
    this.#attempt = attempt
    this.#content = new BytesBody(bytes)
    this.framing = this.#content.framing
    this.length = bytes.length
    this.#countedBytes = bytes.length
    bytesInFlight.retained += bytes.length
  }

  get body(): Body {
    return this
  }

  get isOver(): boolean {
    return this.#state === 'over'
  }

  /** From here the bytes that the backend does not take are counted as unsent. */
  start(sink: Sink, form: BodyForm): void {
    this.release()
    this.#content.start(sink, form)
  }

  pause(): void {}
  resume(): void {}
  cancel(): void {
    this.release()
  }

  answer(reply: Reply): void {
    this.#end()
    this.#attempt.answer(reply)
  }

  fail(error: GatewayError): void {
    this.#end()
    this.#attempt.fail(error)
  }

  release(): void {
    bytesInFlight.retained -= this.#countedBytes
    this.#countedBytes = 0
  }

  #end(): void {
    this.#state = 'over'
    this.release()
  }
}

function createNoRoomError(): GatewayError {
  return new GatewayError('OVERLOADED', 'too many request bytes are being read: try again later')
}

function createTooLargeError(bytes: number, maxBytes: number): GatewayError {
  return new GatewayError(
    'BODY_TOO_LARGE',
    `request body too large: at least ${bytes} bytes, at most ${maxBytes} (buffer.request.maxBytes)`,
  )
}
