// Certificates of a listener: which one a client gets by the name it asks for.

import { createSecureContext } from 'node:tls'
import type { SecureContext, TlsOptions } from 'node:tls'
import type { ListenerTls } from '../base/config/types.ts'
import type { WireLimits } from '../base/limits.ts'

export interface Certificate {
  /** Exact, `*.suffix`, or '' for any. */
  readonly hostname: string
  readonly tls: ListenerTls
}

export function tlsOptions(certificates: readonly Certificate[], limits: WireLimits): TlsOptions {
  const contexts = certificates.map(({ hostname, tls }) => ({ hostname, context: contextOf(tls) }))
  const first = certificates[0]!.tls
  return {
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: limits.handshakeTimeout,
    minVersion: first.minVersion,
    maxVersion: first.maxVersion,
    // Clients that name nobody get the first one.
    cert: first.cert,
    key: first.key.reveal(),
    SNICallback(name, done) {
      done(null, contextFor(contexts, name.toLowerCase()))
    },
  }
}

interface Named {
  readonly hostname: string
  readonly context: SecureContext
}

/** Exact before the longest wildcard before any; undefined leaves the default. */
function contextFor(contexts: readonly Named[], name: string): SecureContext | undefined {
  let best: Named | undefined
  for (const candidate of contexts) {
    const { hostname } = candidate
    if (hostname === name) return candidate.context
    const fits =
      hostname === '' || (hostname.startsWith('*.') && name.endsWith(hostname.substring(1)))
    if (fits && (best === undefined || hostname.length > best.hostname.length)) best = candidate
  }
  return best?.context
}

function contextOf(tls: ListenerTls): SecureContext {
  return createSecureContext({
    cert: tls.cert,
    key: tls.key.reveal(),
    minVersion: tls.minVersion,
    maxVersion: tls.maxVersion,
  })
}
