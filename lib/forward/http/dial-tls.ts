// Connects to a backend by TLS for one call; what was negotiated decides how the call is carried.

import { isIP } from 'node:net'
import { connect, createSecureContext } from 'node:tls'
import type { ConnectionOptions, SecureContext, TLSSocket } from 'node:tls'
import type { BackendTlsConfig } from '../../base/config/types.ts'
import type { ErrorCode } from '../../base/errors.ts'
import type { Carrier, HttpCall } from './call.ts'
import { backendFault, LATE, reasonOf } from './fault.ts'
import type { What } from './fault.ts'
import type { Origin } from './origin.ts'

export interface Dial {
  readonly origin: Origin
  readonly context: SecureContext
  readonly call: HttpCall
  readonly alpn: readonly string[]
  readonly timeout: number
  secured(socket: TLSSocket): void
  /** Nothing came of it, for this reason if it was not given up; the call hears by itself. */
  failed(reason: string | null): void
}

export class TlsDial implements Carrier {
  readonly #dial: Dial
  readonly #socket: TLSSocket
  readonly #timer: NodeJS.Timeout
  #state: 'dialling' | 'over' = 'dialling'

  constructor(dial: Dial) {
    const { call } = dial
    this.#dial = dial
    call.carriedBy(this)
    const socket = connect(optionsOf(dial))
    this.#socket = socket
    socket.setNoDelay(true)
    const failed = (error: Error): void => this.#fail('BACKEND_CONNECT', error)
    const closed = (): void => this.#fail('BACKEND_CONNECT', null)
    socket.on('error', failed).on('close', closed)
    this.#timer = setTimeout(() => {
      this.#fail('CONNECT_TIMEOUT', LATE)
      socket.destroy()
    }, dial.timeout)
    socket.once('secureConnect', () => {
      clearTimeout(this.#timer)
      socket.off('error', failed).off('close', closed)
      this.#state = 'over'
      dial.secured(socket)
    })
  }

  abort(): void {
    this.#stop(null)
    this.#socket.destroy()
  }

  #fail(code: ErrorCode, what: What): void {
    if (this.#stop(reasonOf(what))) this.#dial.call.failed(backendFault(code, what))
  }

  #stop(reason: string | null): boolean {
    if (this.#state === 'over') return false
    this.#state = 'over'
    clearTimeout(this.#timer)
    this.#dial.failed(reason)
    return true
  }
}

function optionsOf(dial: Dial): ConnectionOptions {
  const { origin, alpn, context } = dial
  const tls: BackendTlsConfig = origin.tls!
  const name = tls.hostname ?? origin.name
  return {
    ...origin.connect,
    secureContext: context,
    ALPNProtocols: [...alpn],
    rejectUnauthorized: !tls.insecure,
    // An address is no server name (RFC 6066).
    ...(name !== '' && isIP(name) === 0 && { servername: name }),
  }
}

/** Certificates and keys read once: an origin's connections share them. */
export function contextOf(tls: BackendTlsConfig): SecureContext {
  return createSecureContext({
    ...(tls.root !== null && { ca: tls.root }),
    ...(tls.cert !== null && { cert: tls.cert }),
    ...(tls.key !== null && { key: tls.key.reveal() }),
  })
}
