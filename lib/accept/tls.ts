// Certificates of a listener: which one a client gets by the name it asks for.

import { createSecureContext } from 'node:tls'
import type { SecureContext, SecureContextOptions } from 'node:tls'
import type { ListenerTls } from '../base/config/types.ts'

export interface Certificate {
  /** Exact, `*.suffix`, or '' for any. */
  readonly hostname: string
  readonly tls: ListenerTls
}

/** The certificates in force; a reload replaces them while the port stays open. */
export class Certificates {
  readonly #first: ListenerTls
  readonly #contexts: readonly Named[]

  constructor(certificates: readonly Certificate[]) {
    this.#first = certificates[0]!.tls
    this.#contexts = certificates.map(({ hostname, tls }) => ({
      hostname,
      context: contextOf(tls),
    }))
  }

  /** For clients that name nobody: the first one. */
  get fallback(): SecureContextOptions {
    return contextOptions(this.#first)
  }

  /** Undefined leaves the fallback. */
  contextFor(name: string): SecureContext | undefined {
    return contextFor(this.#contexts, name.toLowerCase())
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
  return createSecureContext(contextOptions(tls))
}

function contextOptions(tls: ListenerTls): SecureContextOptions {
  return {
    cert: tls.cert,
    key: tls.key.reveal(),
    minVersion: tls.minVersion,
    maxVersion: tls.maxVersion,
  }
}
