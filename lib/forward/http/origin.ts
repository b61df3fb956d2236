// A place that answers HTTP: where it is, how it is reached, and what its connections have in common.

import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import type { NetConnectOpts } from 'node:net'
import type { BackendTlsConfig, Endpoint } from '../../base/config/types.ts'

export interface Origin {
  /** Tells one pool from another: the same address with other TLS settings is another origin. */
  readonly key: string
  /** As the log tells it. */
  readonly label: string
  readonly connect: NetConnectOpts
  /** The name to send as Host; '' for addresses and sockets, which keep the client's. */
  readonly name: string
  readonly tls: BackendTlsConfig | null
}

export function originOf(endpoint: Endpoint, tls: BackendTlsConfig | null): Origin {
  const secured = tls === null ? '' : ` ${digestOf(tls)}`
  if (endpoint.kind === 'unix')
    return {
      key: `unix:${endpoint.path}${secured}`,
      label: `unix:${endpoint.path}`,
      connect: { path: endpoint.path },
      name: '',
      tls,
    }
  const { host, port } = endpoint
  const family = isIP(host)
  const label = family === 6 ? `[${host}]:${port}` : `${host}:${port}`
  return {
    key: label + secured,
    label,
    connect: { host, port },
    name: family === 0 ? host : '',
    tls,
  }
}

/** Tells TLS settings apart without holding the key that is among them. */
function digestOf(tls: BackendTlsConfig): string {
  const text = JSON.stringify({ ...tls, key: tls.key?.reveal() })
  return createHash('sha256').update(text).digest('base64')
}
