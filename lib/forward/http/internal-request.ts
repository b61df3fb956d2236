// Requests that the gateway makes itself, through the same pools as the requests that it forwards.

import { GatewayError } from '../../core/errors.ts'
import { BytesBody, EMPTY_BODY } from '../../core/replies.ts'
import type { Attempt, Body, CancellableCall, Reply } from '../../core/types.ts'
import { RequestHead } from '../../core/head.ts'
import { HttpCall } from './backend-call.ts'
import type { HttpCallInput } from './backend-call.ts'
import type { Origin } from './pools.ts'
import type { ConnectionPool } from './pool.ts'

export interface InternalRequest {
  /** A head from `createRequestHead`; Host and Content-Length are added when it is sent. */
  readonly head: RequestHead
  readonly body: Buffer | null
  /** Milliseconds to the response head; 0 for no bound. */
  readonly deadline: number
}

/** Gets exactly one of the two calls, never before `sendInternalRequest` has returned and never after `cancel`. */
export interface ResponseReceiver {
  answered(reply: Reply): void
  failed(error: GatewayError): void
}

/** Names are in lower case. The caller ensures that names, values and target have only legal characters. */
export function createRequestHead(
  method: string,
  target: string,
  fields: Iterable<readonly [name: string, value: string]>,
): RequestHead {
  const head = new RequestHead('', [], 0)
  head.method = method
  head.target = target
  for (const [name, value] of fields) head.add(name, value)
  return head
}

export function sendInternalRequest(
  pool: ConnectionPool,
  request: InternalRequest,
  receiver: ResponseReceiver,
): CancellableCall {
  return new InternalRequestAttempt(pool, request, receiver)
}

/** Interim responses have no client to go to. */
const NO_CLIENT: HttpCallInput['client'] = { sendInterim() {} }

class InternalRequestAttempt implements Attempt, CancellableCall {
  readonly body: Body
  readonly #receiver: ResponseReceiver
  readonly #call: HttpCall
  #state: 'open' | 'over' = 'open'

  constructor(
    pool: ConnectionPool,
    { head, body, deadline }: InternalRequest,
    receiver: ResponseReceiver,
  ) {
    this.#receiver = receiver
    this.body = body === null ? EMPTY_BODY : new BytesBody(body)
    if (body !== null) head.set('content-length', String(body.length))
    const host = hostHeaderOf(pool.origin)
    this.#call = new HttpCall({ request: head, client: NO_CLIENT }, this, host)
    if (deadline > 0) this.#call.setDeadline(deadline)
    try {
      pool.submit(this.#call)
    } catch (error) {
      // For example invalid TLS settings, which only the first connection uses.
      this.#call.failed(new GatewayError('INTERNAL', 'internal error', { cause: error }))
    }
  }

  cancel(): void {
    this.#state = 'over'
    this.#call.cancel()
  }

  answer(reply: Reply): void {
    if (!this.#finish()) return reply.body.cancel()
    this.#receiver.answered(reply)
  }

  fail(error: GatewayError): void {
    // A full pool fails the call at once, before `sendInternalRequest` has returned.
    queueMicrotask(() => {
      if (this.#finish()) this.#receiver.failed(error)
    })
  }

  #finish(): boolean {
    if (this.#state === 'over') return false
    this.#state = 'over'
    return true
  }
}

/** The port is left out where it is the default of the scheme. */
function hostHeaderOf({ connect, label, tls }: Origin): string {
  // A Unix socket has no host.
  if ('path' in connect) return 'localhost'
  const defaultPort = tls === null ? ':80' : ':443'
  return label.endsWith(defaultPort) ? label.slice(0, -defaultPort.length) : label
}
