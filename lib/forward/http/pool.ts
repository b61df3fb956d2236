// The connections to one origin: idle ones first, new ones within a bound, and a bounded queue behind it.
// A connection that does not come about fails the one call it was for and holds up nobody else.

import { GatewayError } from '../../base/errors.ts'
import type { BackendLimits } from '../../base/limits.ts'
import type { Sweeper, Swept } from '../../base/sweeper.ts'
import { Wire } from '../../base/wire/socket.ts'
import type { Carrier, HttpCall } from './call.ts'
import { Http1Backend } from './http1.ts'
import type { Home } from './http1.ts'
import type { Origin } from './origin.ts'

export class Pool implements Home, Carrier {
  readonly limits: BackendLimits
  readonly origin: Origin
  readonly #sweeper: Sweeper<Swept>
  /** The one used last is used next, so that the others can grow old and go. */
  readonly #idle: Http1Backend[] = []
  readonly #waiting: HttpCall[] = []
  #open = 0

  constructor(origin: Origin, limits: BackendLimits, sweeper: Sweeper<Swept>) {
    this.origin = origin
    this.limits = limits
    this.#sweeper = sweeper
  }

  /** Sends a call now or, with every connection busy, when one is free. */
  take(call: HttpCall): void {
    const connection = this.#idle.pop()
    if (connection !== undefined) return connection.send(call)
    if (this.#open < this.limits.poolMaxSize) return this.#dial().send(call)
    if (this.#waiting.length >= this.limits.poolMaxWaiting)
      return call.failed(
        new GatewayError('POOL_EXHAUSTED', 'upstream call failed: too many requests are waiting'),
      )
    call.carriedBy(this)
    this.#waiting.push(call)
  }

  /** A call that waits here was cancelled. */
  abort(call: HttpCall): void {
    const at = this.#waiting.indexOf(call)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  again(call: HttpCall, parts: readonly (string | Buffer)[]): void {
    // Not from the idle ones: what ended this connection may have ended them too.
    this.#dial().sendAgain(call, parts)
  }

  free(connection: Http1Backend): void {
    const call = this.#waiting.shift()
    if (call === undefined) this.#idle.push(connection)
    else connection.send(call)
  }

  gone(connection: Http1Backend): void {
    this.#open--
    this.#sweeper.delete(connection)
    const at = this.#idle.lastIndexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    const call = this.#waiting.shift()
    if (call !== undefined) this.take(call)
  }

  /** Ends the idle connections; those in use end with their calls. */
  close(): void {
    for (const connection of this.#idle.splice(0)) connection.abort()
  }

  #dial(): Http1Backend {
    const connection = new Http1Backend(this)
    this.#open++
    this.#sweeper.add(connection)
    return connection.attach(
      Wire.dial(this.origin.connect, connection, () => connection.connected()),
    )
  }
}
