// Connects to a backend by TLS for one call; what was negotiated decides how the call is carried.

import { isIP } from 'node:net'
import { connect, createSecureContext } from 'node:tls'
import type { ConnectionOptions, SecureContext, TLSSocket } from 'node:tls'
import type { BackendTlsConfig } from '../../config/config-types.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { CallHolder, FaultCause, HttpCall } from './backend-call.ts'
import { createBackendFault, CONNECT_TIMED_OUT, describeFaultCause } from './backend-call.ts'
import type { Origin } from './pools.ts'

export interface TlsDialOptions {
  readonly origin: Origin
  readonly context: SecureContext
  readonly call: HttpCall
  readonly alpn: readonly string[]
  readonly timeout: number
  secured(socket: TLSSocket): void
  /** Nothing came of it, for this reason if it was not given up; the call hears by itself. */
  failed(reason: string | null): void
}

export class TlsDial implements CallHolder {
  readonly #dial: TlsDialOptions
  readonly #socket: TLSSocket
  readonly #timer: NodeJS.Timeout
  #state: 'dialling' | 'over' = 'dialling'

  constructor(dial: TlsDialOptions) {
    const { call } = dial
    this.#dial = dial
    call.setHolder(this)
    const socket = connect(tlsConnectionOptionsOf(dial))
    this.#socket = socket
    socket.setNoDelay(true)
    const failed = (error: Error): void => this.#fail('BACKEND_CONNECT', error)
    const closed = (): void => this.#fail('BACKEND_CONNECT', null)
    socket.on('error', failed).on('close', closed)
    this.#timer = setTimeout(() => {
      this.#fail('CONNECT_TIMEOUT', CONNECT_TIMED_OUT)
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

  #fail(code: ErrorCode, what: FaultCause): void {
    if (this.#stop(describeFaultCause(what))) this.#dial.call.failed(createBackendFault(code, what))
  }

  #stop(reason: string | null): boolean {
    if (this.#state === 'over') return false
    this.#state = 'over'
    clearTimeout(this.#timer)
    this.#dial.failed(reason)
    return true
  }
}

function tlsConnectionOptionsOf(dial: TlsDialOptions): ConnectionOptions {
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
export function createBackendTlsContext(tls: BackendTlsConfig): SecureContext {
  return createSecureContext({
    ...(tls.root !== null && { ca: tls.root }),
    ...(tls.cert !== null && { cert: tls.cert }),
    ...(tls.key !== null && { key: tls.key.reveal() }),
  })
}
