// Opens a connection to a backend for one call: with TLS, or without it for HTTP/2. With TLS, ALPN decides between HTTP/1 and HTTP/2.

import { connect, isIP } from 'node:net'
import type { NetConnectOpts, Socket } from 'node:net'
import { connect as connectTls, createSecureContext } from 'node:tls'
import type { ConnectionOptions, SecureContext } from 'node:tls'
import type { BackendTlsConfig } from '../../config/config-types.ts'
import { TCP_OPTIONS } from '../../core/bounds.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { CallHolder, FaultCause, HttpCall } from './backend-call.ts'
import { createBackendFault, CONNECT_TIMED_OUT, describeFaultCause } from './backend-call.ts'
import type { Origin } from './pools.ts'

export interface BackendDialOptions {
  readonly origin: Origin
  /** null without TLS. */
  readonly context: SecureContext | null
  readonly call: HttpCall
  readonly alpn: readonly string[]
  readonly timeout: number
  opened(socket: Socket): void
  /** The connection was not made; `reason` is null when the call was aborted. The call gets its own error. */
  failed(reason: string | null): void
}

export class BackendDial implements CallHolder {
  readonly #options: BackendDialOptions
  readonly #socket: Socket
  readonly #timer: NodeJS.Timeout
  #state: 'dialling' | 'over' = 'dialling'

  constructor(options: BackendDialOptions) {
    this.#options = options
    options.call.setHolder(this)
    const { origin, context } = options
    const socket =
      context === null
        ? connect({ ...origin.connect, ...TCP_OPTIONS } as NetConnectOpts)
        : connectTls(tlsConnectionOptionsOf(options, context))
    this.#socket = socket
    socket.setNoDelay(true)
    const failed = (error: Error): void => this.#fail('BACKEND_CONNECT', error)
    const closed = (): void => this.#fail('BACKEND_CONNECT', null)
    socket.on('error', failed).on('close', closed)
    this.#timer = setTimeout(() => {
      this.#fail('CONNECT_TIMEOUT', CONNECT_TIMED_OUT)
      socket.destroy()
    }, options.timeout)
    socket.once(context === null ? 'connect' : 'secureConnect', () => {
      clearTimeout(this.#timer)
      socket.off('error', failed).off('close', closed)
      this.#state = 'over'
      options.opened(socket)
    })
  }

  abort(): void {
    this.#stop(null)
    this.#socket.destroy()
  }

  #fail(code: ErrorCode, cause: FaultCause): void {
    if (this.#stop(describeFaultCause(cause)))
      this.#options.call.failed(createBackendFault(code, cause))
  }

  #stop(reason: string | null): boolean {
    if (this.#state === 'over') return false
    this.#state = 'over'
    clearTimeout(this.#timer)
    this.#options.failed(reason)
    return true
  }
}

function tlsConnectionOptionsOf(
  { origin, alpn }: BackendDialOptions,
  context: SecureContext,
): ConnectionOptions {
  const tls: BackendTlsConfig = origin.tls!
  const name = tls.hostname ?? origin.name
  return {
    ...origin.connect,
    secureContext: context,
    ALPNProtocols: [...alpn],
    rejectUnauthorized: !tls.insecure,
    // RFC 6066: an IP address is not allowed as a server name.
    ...(name !== '' && isIP(name) === 0 && { servername: name }),
  }
}

/** Parses certificates and keys once; all connections of an origin share the result. */
export function createBackendTlsContext(tls: BackendTlsConfig): SecureContext {
  return createSecureContext({
    ...(tls.root !== null && { ca: tls.root }),
    ...(tls.cert !== null && { cert: tls.cert }),
    ...(tls.key !== null && { key: tls.key.reveal() }),
  })
}
