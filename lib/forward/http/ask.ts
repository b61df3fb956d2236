// Requests the gateway makes for itself, through the same pools as those it relays.

import { GatewayError } from '../../base/errors.ts'
import { BytesBody, EMPTY_BODY } from '../../base/reply.ts'
import type { Attempt, Body, Call, Reply } from '../../base/types.ts'
import { RequestHead } from '../../base/wire/head.ts'
import { HttpCall } from './call.ts'
import type { Asking } from './call.ts'
import type { Origin } from './origin.ts'
import type { Pool } from './pool.ts'

export interface Question {
  /** As `requestHead` makes it; Host and Content-Length are added here. */
  readonly head: RequestHead
  readonly body: Buffer | null
  /** Milliseconds to the answer's head, or 0. */
  readonly deadline: number
  /** `once`: what may have been done must not be done again, even on a connection that looks stale. */
  readonly sending: 'once' | 'again'
}

/** Who asks: hears one of the two, once, never before `ask` has returned and never after `cancel`. */
export interface Asker {
  answered(reply: Reply): void
  failed(error: GatewayError): void
}

/** Names in lower case; whoever calls vouches that all of it is legal on the wire. */
export function requestHead(
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

export function ask(pool: Pool, question: Question, asker: Asker): Call {
  return new Asked(pool, question, asker)
}

/** There is no client to tell of interim answers. */
const NOBODY: Asking['client'] = { inform() {} }

class Asked implements Attempt, Call {
  readonly body: Body
  readonly #asker: Asker
  readonly #call: HttpCall
  #state: 'open' | 'over' = 'open'

  constructor(pool: Pool, { head, body, deadline, sending }: Question, asker: Asker) {
    this.#asker = asker
    this.body = body === null ? EMPTY_BODY : new BytesBody(body)
    if (body !== null) head.set('content-length', String(body.length))
    head.authority = authorityOf(pool.origin)
    this.#call = new HttpCall({ request: head, client: NOBODY, sending }, this, head.authority)
    if (deadline > 0) this.#call.limit(deadline)
    try {
      pool.take(this.#call)
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
    this.#asker.answered(reply)
  }

  fail(error: GatewayError): void {
    // A pool that is full says so at once.
    queueMicrotask(() => {
      if (this.#finish()) this.#asker.failed(error)
    })
  }

  #finish(): boolean {
    if (this.#state === 'over') return false
    this.#state = 'over'
    return true
  }
}

/** What Host says: with the port, unless everybody knows it. */
function authorityOf({ connect, label, tls }: Origin): string {
  // Behind a socket's path there is no host.
  if ('path' in connect) return 'localhost'
  const known = tls === null ? ':80' : ':443'
  return label.endsWith(known) ? label.slice(0, -known.length) : label
}
