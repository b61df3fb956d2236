// Requests the gateway makes for itself, through the same pools as those it relays.

import { GatewayError } from '../../core/errors.ts'
import { BytesBody, EMPTY_BODY } from '../../core/replies.ts'
import type { Attempt, Body, CancellableCall, Reply } from '../../core/types.ts'
import { RequestHead } from '../../core/head.ts'
import { HttpCall } from './backend-call.ts'
import type { HttpCallInput } from './backend-call.ts'
import type { Origin } from './pools.ts'
import type { ConnectionPool } from './pool.ts'

export interface InternalRequest {
  /** As `createRequestHead` makes it; Host and Content-Length are added here. */
  readonly head: RequestHead
  readonly body: Buffer | null
  /** Milliseconds to the answer's head, or 0. */
  readonly deadline: number
  /** `once`: what may have been done must not be done again, even on a connection that looks stale. */
  readonly sending: 'once' | 'again'
}

/** Who asks: hears one of the two, once, never before `ask` has returned and never after `cancel`. */
export interface ResponseReceiver {
  answered(reply: Reply): void
  failed(error: GatewayError): void
}

/** Names in lower case; whoever calls vouches that all of it is legal on the wire. */
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
  question: InternalRequest,
  asker: ResponseReceiver,
): CancellableCall {
  return new InternalRequestAttempt(pool, question, asker)
}

/** There is no client to tell of interim answers. */
const NO_CLIENT: HttpCallInput['client'] = { sendInterim() {} }

class InternalRequestAttempt implements Attempt, CancellableCall {
  readonly body: Body
  readonly #receiver: ResponseReceiver
  readonly #call: HttpCall
  #state: 'open' | 'over' = 'open'

  constructor(
    pool: ConnectionPool,
    { head, body, deadline, sending }: InternalRequest,
    asker: ResponseReceiver,
  ) {
    this.#receiver = asker
    this.body = body === null ? EMPTY_BODY : new BytesBody(body)
    if (body !== null) head.set('content-length', String(body.length))
    head.authority = hostHeaderOf(pool.origin)
    this.#call = new HttpCall({ request: head, client: NO_CLIENT, sending }, this, head.authority)
    if (deadline > 0) this.#call.setDeadline(deadline)
    try {
      pool.submit(this.#call)
    } catch (error) {
      // Such as TLS settings that only a connection tries out.
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
    // A pool that is full says so at once.
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

/** What Host says: with the port, unless everybody knows it. */
function hostHeaderOf({ connect, label, tls }: Origin): string {
  // Behind a socket's path there is no host.
  if ('path' in connect) return 'localhost'
  const known = tls === null ? ':80' : ':443'
  return label.endsWith(known) ? label.slice(0, -known.length) : label
}
